#pragma once
// How much is started at once while something that everything needs is short: the database, or the hub's own memory.
// Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "domain/gate.h"
#include "domain/time.h"

namespace impresario::resource_manager {

/// Each at its limit is pressure; zero: it is not looked at.
struct PressureLimits {
    /// How long a look at the database takes, its wait for a connection of the pool included.
    domain::Duration wait = std::chrono::milliseconds{500};
    /// How long the slowest grants of late took to be written.
    domain::Duration write = std::chrono::seconds{1};
    /// Sessions of the hub that have waited for a lock for more than a second.
    int lock_waits = 4;
    /// How far the slowest replica is behind.
    domain::Duration replication_lag = std::chrono::seconds{10};
    /// Of this process.
    std::int64_t memory_mb = 1024;
};

struct DatabaseReading {
    domain::Duration wait{};
    domain::Duration write{};
    int lock_waits = 0;
    domain::Duration replication_lag{};
};

/// What is worst, in parts of its limit: 1 at it.
struct Pressure {
    double load = 0;
    /// What it is, what it was and what it may be, for people.
    std::string what;
    std::int64_t value = 0;
    std::int64_t limit = 0;
};

Pressure pressure(const DatabaseReading& reading, const PressureLimits& limits);
Pressure memory_pressure(std::int64_t resident_mb, const PressureLimits& limits);

/// The batch is halved with every reading at the limit. It is one at least, unless it may close: then nothing starts
/// while a reading is at twice the limit. It doubles again with every reading after the third in a row below half the
/// limit, so that it does not swing.
class Throttle {
  public:
    Throttle(int most, bool may_close) : most_(most), batch_(most), may_close_(may_close) {}

    /// True when the batch has changed.
    bool read(const Pressure& reading);
    /// Most grants of one turn; 0: none.
    int batch() const { return batch_; }
    bool whole() const { return batch_ == most_; }
    bool closed() const { return batch_ == 0; }
    /// What it was that has pressed last.
    const Pressure& pressed() const { return pressed_; }
    domain::Gate gate() const;

  private:
    static constexpr int kCalm = 3;
    int most_;
    int batch_;
    bool may_close_;
    int calm_ = 0;
    Pressure pressed_;
};

}
