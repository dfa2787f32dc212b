#pragma once
// Time as an interface. The only place where a clock is read.

#include <chrono>
#include <mutex>

#include "domain/time.h"

namespace impresario::platform {

using SteadyPoint = std::chrono::steady_clock::time_point;

/// Decisions use now(), the database's time, so that several nodes agree; waiting uses steady().
class Clock {
  public:
    virtual ~Clock() = default;
    /// Never goes back, within one process.
    virtual domain::TimePoint now() = 0;
    virtual SteadyPoint steady() const = 0;
};

/// The database's clock, read with every transaction and carried on between readings by the steady clock. Before the
/// first reading it is this machine's. Thread-safe.
class DatabaseClock final : public Clock {
  public:
    domain::TimePoint now() override;
    SteadyPoint steady() const override { return std::chrono::steady_clock::now(); }

    /// Takes a reading: the database said `reading` somewhere between the two steady moments.
    void learn(domain::TimePoint reading, SteadyPoint asked, SteadyPoint answered);

  private:
    std::mutex mutex_;
    bool learnt_ = false;
    /// database time − steady time
    domain::Duration offset_{0};
    SteadyPoint learnt_at_{};
    domain::Duration error_{0};
    domain::TimePoint last_{};
};

/// This machine's clock, for programs that have no database.
class SystemClock final : public Clock {
  public:
    domain::TimePoint now() override;
    SteadyPoint steady() const override { return std::chrono::steady_clock::now(); }
};

}
