#pragma once
// What is usual at this hour of the week, and how unusual a value is. Robust: a bad week does not move it.

#include <optional>
#include <vector>

#include "domain/time.h"

namespace impresario::alerts {

/// 0 to 167, UTC; 0 is Monday from midnight to one.
int hour_of_week(domain::TimePoint at);

/// One value of an hour that has ended.
struct Sample {
    domain::TimePoint at{};
    double value = 0;
};

struct BaselineSettings {
    /// Fewer values than this say nothing.
    std::size_t least_samples = 4;
    /// A spread below this share of the median, or below that value, is taken to be that: where all values are the same
    /// the smallest change would be infinitely unusual.
    double least_relative_spread = 0.05;
    double least_spread = 1.0;
};

struct Baseline {
    double median = 0;
    /// Robust standard deviation: 1.4826 × the median of the absolute deviations, and not below the least. Above 0.
    double spread = 1;
    std::size_t samples = 0;
};

/// nullopt: too few values. Values that are not finite are passed over.
std::optional<Baseline> baseline_of(std::vector<double> values, const BaselineSettings& settings = {});

/// Of the same hour of other weeks; where there are too few, of the same hour of all days; where there are too few,
/// nullopt. The hour of `at` itself is no history.
std::optional<Baseline> usual_at(domain::TimePoint at, const std::vector<Sample>& history,
                                 const BaselineSettings& settings = {});

/// How many spreads a value is away from the median, either way: the reading anomaly_deviations.
double deviations(const Baseline& baseline, double value);

}
