#include "resource_manager/throttle.h"

#include <algorithm>

namespace impresario::resource_manager {

namespace {
std::int64_t ms(domain::Duration length) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(length).count();
}

void worse(Pressure& worst, const char* what, std::int64_t value, std::int64_t limit) {
    if (limit <= 0) return;
    const double load = static_cast<double>(value) / static_cast<double>(limit);
    if (load > worst.load) worst = {load, what, value, limit};
}
}

Pressure pressure(const DatabaseReading& reading, const PressureLimits& limits) {
    Pressure worst;
    worse(worst, "wait_ms", ms(reading.wait), ms(limits.wait));
    worse(worst, "write_ms", ms(reading.write), ms(limits.write));
    worse(worst, "lock_waits", reading.lock_waits, limits.lock_waits);
    worse(worst, "replication_lag_ms", ms(reading.replication_lag), ms(limits.replication_lag));
    return worst;
}

Pressure memory_pressure(std::int64_t resident_mb, const PressureLimits& limits) {
    Pressure worst;
    worse(worst, "hub_memory_mb", resident_mb, limits.memory_mb);
    return worst;
}

bool Throttle::read(const Pressure& reading) {
    const int before = batch_;
    if (reading.load >= 1) {
        calm_ = 0;
        pressed_ = reading;
        if (batch_ > 1) {
            batch_ /= 2;
        } else if (may_close_ && reading.load >= 2) {
            batch_ = 0;
        }
    } else if (reading.load < 0.5) {
        if (++calm_ > kCalm) batch_ = std::min(most_, std::max(1, batch_ * 2));
    } else {
        calm_ = 0;
    }
    return batch_ != before;
}

domain::Gate Throttle::gate() const {
    return {domain::GateKind::database,
            "database",
            "the database is under pressure (" + pressed_.what + " " + std::to_string(pressed_.value) + ", limit " +
                std::to_string(pressed_.limit) + "); it opens once that has been below half for a while",
            {{pressed_.what, std::to_string(pressed_.value)}, {"limit", std::to_string(pressed_.limit)}},
            std::nullopt};
}

}
