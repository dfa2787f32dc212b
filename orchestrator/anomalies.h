#pragma once
// What an hour of each lane came to, and whether that is usual at this hour of the week. Pure.

#include <map>
#include <string_view>
#include <vector>

#include "alerts/baseline.h"
#include "domain/lane.h"
#include "domain/name_table.h"
#include "reports/ended.h"

namespace impresario::orchestrator {

/// In the label `series` of alerts; of orchestrator_metrics with "hour_" before it.
enum class Series {
    /// How many ended.
    executions,
    /// Of those that were to come to something; of 20 at least.
    failed_percent,
    cost_usd,
    /// The median of what completed; of 5 at least.
    duration_seconds,
};

inline constexpr domain::NameTable<Series, 4> kSeries{{{Series::executions, "executions"},
                                                       {Series::failed_percent, "failed_percent"},
                                                       {Series::cost_usd, "cost_usd"},
                                                       {Series::duration_seconds, "duration_seconds"}}};
constexpr std::string_view name(Series series) { return domain::name_in(kSeries, series); }

struct LaneSeries {
    domain::Lane lane;
    Series series = Series::executions;
    friend auto operator<=>(const LaneSeries&, const LaneSeries&) = default;
};

/// What is known of an hour of a lane.
std::map<LaneSeries, double> hour_of(const std::map<domain::Lane, reports::Ended>& ended);

/// Hours that were looked at, all of one hour of the day: those in which a lane had nothing are 0, from its first on.
struct HourHistory {
    std::vector<domain::TimePoint> hours;
    std::map<LaneSeries, std::vector<alerts::Sample>> samples;
};

struct Unusual {
    LaneSeries of;
    double value = 0;
    alerts::Baseline usual;
    /// Robust standard deviations.
    double deviations = 0;
};

/// Of each series that has a history, how the hour `at` compares, whether that is much or little. A lane that usually
/// has something and has nothing now is compared as well.
std::vector<Unusual> compare(domain::TimePoint at, const std::map<LaneSeries, double>& hour,
                             const HourHistory& history);

}
