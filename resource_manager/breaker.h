#pragma once
// When an endpoint that mostly fails is left alone: a pure value fed with how its requests ended.

#include <deque>
#include <string>

#include "domain/breaker.h"
#include "domain/time.h"

namespace impresario::resource_manager {

struct BreakerSettings {
    /// Fewer results than this within the window say nothing.
    int least_results = 10;
    /// This share of failures opens it.
    int failure_percent = 50;
    domain::Duration window = std::chrono::seconds{60};
    /// The first opening; each one after it in a row is twice as long, up to the longest.
    domain::Duration opening = std::chrono::seconds{30};
    domain::Duration longest = std::chrono::minutes{10};
};

/// closed → open → half open → closed, or open again. Only requests that began in the present state count: what was
/// under way before says nothing about how the endpoint does now. A success never opens it, however many failures came
/// before: that endpoint is on its way back. An opening within a window of the last closing is one in a row with it.
class Breaker {
  public:
    explicit Breaker(BreakerSettings settings = {}, domain::BreakerRecord record = {})
        : settings_(settings), record_(std::move(record)) {}

    const domain::BreakerRecord& record() const { return record_; }

    /// Each returns true when what must be remembered has changed. Time that goes back counts as standing still.
    bool succeeded(domain::TimePoint began, domain::TimePoint now);
    bool failed(domain::TimePoint began, domain::TimePoint now, const std::string& what);
    /// Half open once its time has come.
    bool passed(domain::TimePoint now);

  private:
    /// What ended within the same tenth of a second, counted together: memory is bounded at any rate.
    struct Results {
        domain::TimePoint at;
        int failures = 0;
        int all = 0;
    };

    bool counts(domain::TimePoint began) const { return !record_.since || began >= *record_.since; }
    void note(domain::TimePoint now, bool failure);
    void open(domain::TimePoint now, std::string detail);

    BreakerSettings settings_;
    domain::BreakerRecord record_;
    /// Oldest first.
    std::deque<Results> results_;
    int failures_ = 0;
    int all_ = 0;
};

}
