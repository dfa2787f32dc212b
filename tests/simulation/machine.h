#pragma once
// The machine that a simulation runs on: its clocks, its waiting and its randomness are values.
//
// machine.cc defines steady_clock::now, system_clock::now, epoll_wait, timerfd_create and RAND_bytes for this program.
// While a Machine is switched on they answer from it, so that everything above them, Asio's timers included, lives in
// its time and draws from its seed. Otherwise they do what they always do.

#include <cstdint>

#include "domain/time.h"
#include "simulation/chance.h"

namespace impresario::simulation {

class Machine {
  public:
    explicit Machine(std::uint64_t seed) : chance_(seed) { current_ = this; }
    ~Machine() { current_ = nullptr; }
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    domain::TimePoint now() const { return now_; }
    /// What would have been waited for is over.
    void advance(domain::Duration by) { now_ += by; }
    /// No wait goes beyond it.
    void limit(domain::TimePoint next) { limit_ = next; }
    /// Called by the wait that reached the limit.
    void (*at_limit)(void*) = nullptr;
    void* at_limit_context = nullptr;

    void wait(domain::Duration longest);
    Chance& chance() { return chance_; }

    static Machine* current() { return current_; }

  private:
    Chance chance_;
    domain::TimePoint now_{std::chrono::sys_days{std::chrono::year{2026} / 11 / 27}};
    domain::TimePoint limit_ = domain::kNever;
    static Machine* current_;
};

}
