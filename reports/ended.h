#pragma once
// What ended, summed up so that sums of hours make a day and days a week. Pure.

#include <cstdint>
#include <map>
#include <optional>

#include "domain/money.h"
#include "domain/time.h"

namespace impresario::reports {

/// Times by ranges that are 5 % wide: what is said of them is within 2.5 %.
class Durations {
  public:
    /// Range n is (1.05^(n-1), 1.05^n] milliseconds; 0: at most one.
    void add(int range, std::int64_t count) { counts_[range] += count; }
    void add(const Durations& others);
    std::int64_t count() const;
    /// `part` in (0, 1]: 0.5 is the median. nullopt: there are none.
    std::optional<domain::Duration> quantile(double part) const;

  private:
    std::map<int, std::int64_t> counts_;
};

struct Ended {
    std::int64_t completed = 0;
    std::int64_t failed = 0;
    std::int64_t dead = 0;
    std::int64_t cancelled = 0;
    std::int64_t attempts = 0;
    std::int64_t retries = 0;
    std::int64_t items = 0;
    domain::MicroUsd cost{};
    /// From the start to the end, of what completed.
    Durations durations = {};
    /// From being due to the start, of all that started.
    Durations waits = {};

    void add(const Ended& other);
    /// Those that were to come to something: not the cancelled ones.
    std::int64_t judged() const { return completed + failed + dead; }
    std::int64_t all() const { return judged() + cancelled; }
    /// nullopt: nothing was judged.
    std::optional<double> success_percent() const;
    /// In dollars; nullopt: there was no item.
    std::optional<double> cost_per_item() const;
};

}
