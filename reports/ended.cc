#include "reports/ended.h"

#include <algorithm>
#include <cmath>

namespace impresario::reports {

namespace {
constexpr double kWidth = 1.05;
}

void Durations::add(const Durations& others) {
    for (const auto& [range, count] : others.counts_) counts_[range] += count;
}

std::int64_t Durations::count() const {
    std::int64_t all = 0;
    for (const auto& [range, count] : counts_) all += count;
    return all;
}

std::optional<domain::Duration> Durations::quantile(double part) const {
    const auto all = count();
    if (all == 0) return std::nullopt;
    const auto wanted =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(part * static_cast<double>(all))));
    std::int64_t passed = 0;
    int range = 0;
    for (const auto& [each, count] : counts_) {
        range = each;
        passed += count;
        if (passed >= wanted) break;
    }
    // The middle of the range, as ranges grow.
    const double milliseconds = range <= 0 ? 0.5 : std::pow(kWidth, range - 0.5);
    return std::chrono::duration_cast<domain::Duration>(std::chrono::duration<double, std::milli>(milliseconds));
}

void Ended::add(const Ended& other) {
    completed += other.completed;
    failed += other.failed;
    dead += other.dead;
    cancelled += other.cancelled;
    attempts += other.attempts;
    retries += other.retries;
    items += other.items;
    cost = cost + other.cost;
    durations.add(other.durations);
    waits.add(other.waits);
}

std::optional<double> Ended::success_percent() const {
    if (judged() == 0) return std::nullopt;
    return 100.0 * static_cast<double>(completed) / static_cast<double>(judged());
}

std::optional<double> Ended::cost_per_item() const {
    if (items == 0) return std::nullopt;
    return static_cast<double>(cost.value) / 1e6 / static_cast<double>(items);
}

}
