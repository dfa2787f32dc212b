#include "resource_manager/breaker.h"

#include <algorithm>

namespace impresario::resource_manager {

using domain::BreakerState;
using domain::Duration;
using domain::TimePoint;

namespace {
constexpr Duration kTogether = std::chrono::milliseconds{100};
}

void Breaker::note(TimePoint now, bool failure) {
    if (!results_.empty()) now = std::max(now, results_.back().at);
    if (results_.empty() || now - results_.back().at >= kTogether) results_.push_back({now, 0, 0});
    auto& latest = results_.back();
    ++latest.all;
    ++all_;
    if (failure) {
        ++latest.failures;
        ++failures_;
    }
    while (now - results_.front().at >= settings_.window) {
        failures_ -= results_.front().failures;
        all_ -= results_.front().all;
        results_.pop_front();
    }
}

void Breaker::open(TimePoint now, std::string detail) {
    const bool again =
        record_.state == BreakerState::half_open || (record_.since && now - *record_.since < settings_.window);
    if (!again) record_.openings = 0;
    const int doublings = std::min(record_.openings, 20);
    ++record_.openings;
    record_.state = BreakerState::open;
    record_.since = now;
    record_.until = now + std::min(settings_.opening * (std::int64_t{1} << doublings), settings_.longest);
    record_.detail = std::move(detail);
    record_.by.clear();
    results_.clear();
    failures_ = all_ = 0;
}

bool Breaker::passed(TimePoint now) {
    if (record_.state != BreakerState::open || domain::stops(record_, now)) return false;
    record_.state = BreakerState::half_open;
    record_.since = record_.until;
    record_.until.reset();
    return true;
}

bool Breaker::succeeded(TimePoint began, TimePoint now) {
    const bool changed = passed(now);
    if (record_.state == BreakerState::open || !counts(began)) return changed;
    if (record_.state == BreakerState::closed) {
        note(now, false);
        return false;
    }
    record_.state = BreakerState::closed;
    record_.since = now;
    record_.detail = "one execution tried it and was taken";
    record_.by.clear();
    return true;
}

bool Breaker::failed(TimePoint began, TimePoint now, const std::string& what) {
    const bool changed = passed(now);
    if (record_.state == BreakerState::open || !counts(began)) return changed;
    if (record_.state == BreakerState::half_open) {
        open(now, "the one execution that tried it failed too (" + what + ")");
        return true;
    }
    note(now, true);
    if (all_ < settings_.least_results ||
        100 * std::int64_t{failures_} < std::int64_t{settings_.failure_percent} * all_)
        return false;
    const auto window = std::chrono::duration_cast<std::chrono::seconds>(settings_.window).count();
    open(now, std::to_string(failures_) + " of " + std::to_string(all_) + " answers in the last " +
                  std::to_string(window) + " s were failures, the last: " + what);
    return true;
}

}
