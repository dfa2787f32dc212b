#include "platform/own_process.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "platform/memory.h"

namespace impresario::platform {

namespace {
/// The system's start, in seconds since 1970: what a process's start is counted from.
double booted() {
    std::ifstream stat("/proc/stat");
    for (std::string word; stat >> word;)
        if (double at = 0; word == "btime" && stat >> at) return at;
    return 0;
}

/// In ticks after the system's start: field 22 of a line whose second field may hold anything in parentheses.
double started_after_boot() {
    std::ifstream file("/proc/self/stat");
    std::string line;
    std::getline(file, line);
    std::istringstream fields(line.substr(std::min(line.size(), line.rfind(')') + 1)));
    std::string field;
    for (int i = 3; i <= 22; ++i) fields >> field;
    return field.empty() ? 0 : std::stod(field) / static_cast<double>(sysconf(_SC_CLK_TCK));
}
}

OwnProcess own_process() {
    static const double started = booted() + started_after_boot();
    OwnProcess own;
    own.started = started;
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    for (const auto& part : {used.ru_utime, used.ru_stime})
        own.cpu_seconds += static_cast<double>(part.tv_sec) + static_cast<double>(part.tv_usec) / 1e6;
    own.resident_bytes = resident_bytes();
    std::error_code error;
    for (std::filesystem::directory_iterator at("/proc/self/fd", error), end; !error && at != end; at.increment(error))
        ++own.open_files;
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    own.most_files = limit.rlim_cur;
    return own;
}

std::int64_t uptime_seconds(domain::TimePoint now) {
    return now.time_since_epoch() / std::chrono::seconds{1} - static_cast<std::int64_t>(own_process().started);
}

}
