#include "alerts/baseline.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace impresario::alerts {

using std::chrono::floor;
using std::chrono::hours;

namespace {

/// What makes the median absolute deviation of a normal distribution its standard deviation.
constexpr double kNormal = 1.4826;

/// Not empty.
double median(std::vector<double>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return std::midpoint(*std::max_element(values.begin(), middle), *middle);
}

}

int hour_of_week(domain::TimePoint at) {
    // 1970-01-01 was a Thursday.
    const auto since_monday = floor<hours>(at).time_since_epoch().count() + 3 * 24;
    return static_cast<int>((since_monday % 168 + 168) % 168);
}

std::optional<Baseline> baseline_of(std::vector<double> values, const BaselineSettings& settings) {
    std::erase_if(values, [](double value) { return !std::isfinite(value); });
    if (values.empty() || values.size() < settings.least_samples) return std::nullopt;
    Baseline baseline;
    baseline.samples = values.size();
    baseline.median = median(values);
    for (double& value : values) value = std::fabs(value - baseline.median);
    const double least =
        std::max({settings.least_spread, settings.least_relative_spread * std::fabs(baseline.median), 1e-9});
    baseline.spread = std::max(kNormal * median(values), least);
    return baseline;
}

std::optional<Baseline> usual_at(domain::TimePoint at, const std::vector<Sample>& history,
                                 const BaselineSettings& settings) {
    std::vector<double> same_hour;
    std::vector<double> any_day;
    for (const auto& sample : history) {
        if (floor<hours>(sample.at) >= floor<hours>(at)) continue;
        if (hour_of_week(sample.at) == hour_of_week(at)) same_hour.push_back(sample.value);
        if (hour_of_week(sample.at) % 24 == hour_of_week(at) % 24) any_day.push_back(sample.value);
    }
    if (auto baseline = baseline_of(std::move(same_hour), settings)) return baseline;
    return baseline_of(std::move(any_day), settings);
}

double deviations(const Baseline& baseline, double value) {
    return std::fabs(value - baseline.median) / baseline.spread;
}

}
