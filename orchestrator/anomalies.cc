#include "orchestrator/anomalies.h"

#include <algorithm>
#include <cmath>

namespace impresario::orchestrator {

using alerts::Sample;

namespace {

constexpr std::int64_t kLeastJudged = 20;
constexpr std::int64_t kLeastCompleted = 5;

/// Of these nothing is 0, and not unknown.
bool counts(Series series) { return series == Series::executions || series == Series::cost_usd; }

/// The history with the hours in which the lane had nothing.
std::vector<Sample> filled(const std::vector<Sample>& samples, const std::vector<domain::TimePoint>& hours) {
    auto all = samples;
    const auto first =
        std::min_element(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) { return a.at < b.at; });
    for (const auto& hour : hours) {
        if (first == samples.end() || hour < first->at) continue;
        const bool known =
            std::any_of(samples.begin(), samples.end(), [&](const Sample& each) { return each.at == hour; });
        if (!known) all.push_back({hour, 0});
    }
    return all;
}

/// What is no more than chance, or than anybody would look at.
double least_spread(Series series, const std::vector<Sample>& history) {
    switch (series) {
        case Series::executions: {
            std::vector<double> values;
            for (const auto& each : history) values.push_back(each.value);
            const auto baseline = alerts::baseline_of(std::move(values));
            return std::max(1.0, std::sqrt(baseline ? baseline->median : 0));
        }
        case Series::failed_percent:
            return 2;
        case Series::cost_usd:
            return 0.01;
        case Series::duration_seconds:
            return 0.1;
    }
    return 1;
}

}

std::map<LaneSeries, double> hour_of(const std::map<domain::Lane, reports::Ended>& ended) {
    std::map<LaneSeries, double> hour;
    for (const auto& [lane, sums] : ended) {
        hour[{lane, Series::executions}] = static_cast<double>(sums.all());
        hour[{lane, Series::cost_usd}] = static_cast<double>(sums.cost.value) / 1e6;
        if (sums.judged() >= kLeastJudged) hour[{lane, Series::failed_percent}] = 100 - *sums.success_percent();
        if (sums.durations.count() >= kLeastCompleted)
            hour[{lane, Series::duration_seconds}] = domain::in_seconds(*sums.durations.quantile(0.5));
    }
    return hour;
}

std::vector<Unusual> compare(domain::TimePoint at, const std::map<LaneSeries, double>& hour,
                             const HourHistory& history) {
    std::vector<Unusual> found;
    for (const auto& [of, samples] : history.samples) {
        const auto value = hour.find(of);
        if (value == hour.end() && !counts(of.series)) continue;
        const auto whole = counts(of.series) ? filled(samples, history.hours) : samples;
        alerts::BaselineSettings settings;
        settings.least_spread = least_spread(of.series, whole);
        const auto usual = alerts::usual_at(at, whole, settings);
        if (!usual) continue;
        Unusual each;
        each.of = of;
        each.value = value == hour.end() ? 0 : value->second;
        each.usual = *usual;
        each.deviations = alerts::deviations(*usual, each.value);
        found.push_back(each);
    }
    return found;
}

}
