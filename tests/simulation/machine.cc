#include "simulation/machine.h"

#include <openssl/rand.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace impresario::simulation {

Machine* Machine::current_ = nullptr;

void Machine::wait(domain::Duration longest) {
    const bool reached = limit_ - now_ <= longest;
    now_ += std::max(std::min(longest, limit_ - now_), domain::Duration{0});
    if (reached && at_limit) at_limit(at_limit_context);
}

}

using impresario::simulation::Machine;

namespace {
std::chrono::nanoseconds real_time(clockid_t clock) {
    timespec at{};
    clock_gettime(clock, &at);
    return std::chrono::seconds{at.tv_sec} + std::chrono::nanoseconds{at.tv_nsec};
}
}

// These stand before those of the libraries, because the program that is run comes first.

std::chrono::steady_clock::time_point std::chrono::steady_clock::now() noexcept {
    if (const auto* machine = Machine::current()) return time_point{machine->now().time_since_epoch()};
    return time_point{real_time(CLOCK_MONOTONIC)};
}

std::chrono::system_clock::time_point std::chrono::system_clock::now() noexcept {
    if (const auto* machine = Machine::current()) return time_point{machine->now().time_since_epoch()};
    return time_point{real_time(CLOCK_REALTIME)};
}

extern "C" {

int epoll_wait(int descriptor, epoll_event* events, int most, int milliseconds) {
    if (auto* machine = Machine::current()) {
        if (milliseconds != 0) machine->wait(std::chrono::milliseconds{milliseconds});
        return 0;
    }
    return static_cast<int>(syscall(SYS_epoll_pwait, descriptor, events, most, milliseconds, nullptr, 0));
}

/// None: Asio then asks epoll_wait for its timers.
int timerfd_create(int clock, int flags) {
    if (Machine::current()) {
        errno = ENOSYS;
        return -1;
    }
    return static_cast<int>(syscall(SYS_timerfd_create, clock, flags));
}

int RAND_bytes(unsigned char* bytes, int count) {
    if (auto* machine = Machine::current()) {
        for (int at = 0; at < count; at += 8) {
            const auto drawn = machine->chance().next();
            std::memcpy(bytes + at, &drawn, static_cast<std::size_t>(std::min(8, count - at)));
        }
        return 1;
    }
    return getrandom(bytes, static_cast<std::size_t>(count), 0) == count ? 1 : 0;
}
}
