#include "platform/clock.h"

#include <algorithm>

namespace impresario::platform {

using domain::Duration;
using domain::TimePoint;

namespace {
Duration since_steady_epoch(SteadyPoint at) { return std::chrono::duration_cast<Duration>(at.time_since_epoch()); }
TimePoint machine_time() { return std::chrono::floor<Duration>(std::chrono::system_clock::now()); }
}

TimePoint DatabaseClock::now() {
    const auto steady_now = steady();
    std::lock_guard lock(mutex_);
    const TimePoint at = learnt_ ? TimePoint{since_steady_epoch(steady_now) + offset_} : machine_time();
    last_ = std::max(last_, at);
    return last_;
}

void DatabaseClock::learn(TimePoint reading, SteadyPoint asked, SteadyPoint answered) {
    const auto error = std::chrono::duration_cast<Duration>(answered - asked);
    std::lock_guard lock(mutex_);
    // The tightest reading of the last seconds is kept; an old one gives way, because clocks drift.
    if (learnt_ && error > error_ && answered - learnt_at_ < std::chrono::seconds{5}) return;
    offset_ = reading.time_since_epoch() - since_steady_epoch(answered) + error / 2;
    error_ = error;
    learnt_at_ = answered;
    learnt_ = true;
}

TimePoint SystemClock::now() { return machine_time(); }

}
