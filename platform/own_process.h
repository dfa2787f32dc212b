#pragma once
// What this process takes of the machine.

#include <cstddef>
#include <cstdint>

#include "domain/time.h"

namespace impresario::platform {

struct OwnProcess {
    /// User and system together.
    double cpu_seconds = 0;
    std::int64_t resident_bytes = 0;
    std::size_t open_files = 0;
    std::size_t most_files = 0;
    /// Seconds since 1970.
    double started = 0;
};

/// As /proc says now; what it does not say is 0.
OwnProcess own_process();
/// Whole seconds since this process began.
std::int64_t uptime_seconds(domain::TimePoint now);

}
