#include "subworkflows/intelligence_engine/baseline.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace impresario::subworkflows::intelligence_engine {

using domain::TimePoint;
using std::chrono::ceil;
using std::chrono::floor;
using std::chrono::hours;

namespace {
constexpr double kSmallestSpread = 0.04879;  // log 1.05
}

domain::Result<MetricBaseline, domain::Fault> MetricBaseline::build(Metric metric,
                                                                    const std::vector<const Execution*>& executions) {
    struct Value {
        double y;
        int hour;
    };
    std::vector<Value> values;
    std::vector<double> plain;
    for (const auto* execution : executions)
        if (const auto value = value_of(*execution, metric)) {
            values.push_back({std::log1p(*value), hour_of_day(execution->at())});
            plain.push_back(*value);
        }
    if (values.size() < kEnoughValues)
        return domain::Fault{std::to_string(values.size()) + " values in the baseline, and at least " +
                             std::to_string(kEnoughValues) + " are needed"};

    MetricBaseline made;
    made.metric_ = metric;
    std::sort(plain.begin(), plain.end());
    made.usual_ = quantile(plain, 0.5);
    made.central_ = {quantile(plain, 0.025), quantile(plain, 0.975)};

    std::vector<double> all;
    std::array<std::vector<double>, 24> by_hour;
    for (const auto& value : values) {
        all.push_back(value.y);
        by_hour[static_cast<std::size_t>(value.hour)].push_back(value.y);
    }
    const double centre = median(all);
    for (std::size_t hour = 0; hour < 24; ++hour) {
        const bool own = by_hour[hour].size() >= kEnoughInHour;
        made.hours_[hour] = {own ? by_hour[hour].size() : values.size(), own ? median(by_hour[hour]) : centre, own};
    }
    std::vector<double> hourly;
    for (const auto& value : values) {
        const Hour& hour = made.hours_[static_cast<std::size_t>(value.hour)];
        made.residuals_.push_back(value.y - hour.centre);
        if (hour.own) hourly.push_back(value.y - hour.centre);
    }
    for (double& y : all) y -= centre;
    for (auto* residuals : {&made.residuals_, &hourly, &all}) std::sort(residuals->begin(), residuals->end());
    made.whole_ = spread_of(made.residuals_);
    made.hourly_ = spread_of(hourly);
    made.overall_ = spread_of(all);
    return made;
}

MetricBaseline::Spread MetricBaseline::spread_of(const std::vector<double>& sorted) {
    if (sorted.empty()) return {kSmallestSpread, kSmallestSpread};
    const double scale = std::max(robust_scale(sorted), kSmallestSpread);
    return {std::max(scale, quantile(sorted, 0.975) / 1.959964), std::max(scale, -quantile(sorted, 0.025) / 1.959964)};
}

int MetricBaseline::own_hours() const {
    return static_cast<int>(std::count_if(hours_.begin(), hours_.end(), [](const Hour& hour) { return hour.own; }));
}

std::string MetricBaseline::note() const {
    const int own = own_hours();
    const std::string few = "fewer than " + std::to_string(kEnoughInHour) + " values in the baseline";
    if (own == 24) return {};
    if (own == 0) return "compared with all hours of the day, for each single hour has " + few;
    return "compared hour by hour for " + std::to_string(own) +
           " hours of the day and with all hours for the others, which have " + few;
}

double MetricBaseline::usual_at(TimePoint at) const {
    return std::expm1(hours_[static_cast<std::size_t>(hour_of_day(at))].centre);
}

double MetricBaseline::residual(double value, TimePoint at) const {
    return std::log1p(value) - hours_[static_cast<std::size_t>(hour_of_day(at))].centre;
}

double MetricBaseline::score(double residual, TimePoint at) const {
    const Hour& hour = hours_[static_cast<std::size_t>(hour_of_day(at))];
    const double spread = (hour.own ? hourly_ : overall_).to(residual > 0);
    return residual / (spread * std::sqrt(1 + std::numbers::pi / 2 / static_cast<double>(hour.count)));
}

RateBaseline failures_of(const std::vector<const Execution*>& executions) {
    RateBaseline rate;
    for (const auto* execution : executions) {
        rate.hits += execution->failed() ? 1 : 0;
        rate.tries += execution->settled() ? 1 : 0;
    }
    return rate;
}

RateBaseline retries_of(const std::vector<const Execution*>& executions) {
    RateBaseline rate;
    for (const auto* execution : executions) {
        if (!execution->completed()) continue;
        rate.hits += execution->retry_count > 0 ? 1 : 0;
        ++rate.tries;
    }
    return rate;
}

Activity::Activity(const std::vector<TimePoint>& ran, TimePoint until) {
    if (ran.empty()) return;
    auto next = ran.begin();
    for (TimePoint hour = ceil<hours>(ran.front()); hour + hours{1} <= until; hour += hours{1}) {
        Slot& here = slots_[weekend(hour) ? 1 : 0][static_cast<std::size_t>(hour_of_day(hour))];
        while (next != ran.end() && *next < hour) ++next;
        const auto first = next;
        while (next != ran.end() && *next < hour + hours{1}) ++next;
        ++here.hours;
        here.active += next != first ? 1 : 0;
        here.runs += static_cast<int>(next - first);
    }
}

const Activity::Slot& Activity::slot(TimePoint at) const {
    return slots_[weekend(at) ? 1 : 0][static_cast<std::size_t>(hour_of_day(at))];
}

double Activity::chance_of_silence(TimePoint from, TimePoint to) const {
    double chance = 1;
    for (TimePoint hour = ceil<hours>(from); hour + hours{1} <= to; hour += hours{1}) {
        const Slot& usual = slot(hour);
        chance *= 1 - static_cast<double>(usual.active) / (usual.hours + 1);
    }
    return chance;
}

double Activity::expected(TimePoint from, TimePoint to) const {
    double runs = 0;
    for (TimePoint hour = ceil<hours>(from); hour + hours{1} <= to; hour += hours{1}) {
        const Slot& usual = slot(hour);
        if (usual.hours > 0) runs += static_cast<double>(usual.runs) / usual.hours;
    }
    return runs;
}

}
