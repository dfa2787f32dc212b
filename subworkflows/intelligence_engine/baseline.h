#pragma once
// What is usual for a workflow type: robust centres and spreads, rates with their uncertainty, and when it runs.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "domain/result.h"
#include "subworkflows/intelligence_engine/history.h"
#include "subworkflows/intelligence_engine/statistics.h"

namespace impresario::subworkflows::intelligence_engine {

/// Fewer values than this say too little about what is usual.
inline constexpr std::size_t kEnoughValues = 20;
/// An hour of the day with at least so many values has a median of its own.
inline constexpr std::size_t kEnoughInHour = 20;

/// What is usual of one metric.
///
/// Costs and durations vary by factors, not by amounts, so everything is measured on y = log(1 + value) with values in
/// micro-dollars or milliseconds; one unit is far below anything of interest. The centre is the median, of the hour of
/// the day (UTC) where that hour has enough values and of all hours otherwise. The spread comes from the residuals of
/// all hours that have a median of their own, and for the others from those of all values about the one median; for
/// each side it is the largest of: MAD / 0.6745; the 97.5 % quantile / 1.96, which equals the former for normal data
/// and exceeds it where long tails or two kinds of work are usual; and log 1.05, because a metric that never varies is
/// not abnormal for varying by less than a fifth.
class MetricBaseline {
  public:
    /// The error says how many values there are where there are too few.
    static domain::Result<MetricBaseline, domain::Fault> build(Metric metric,
                                                               const std::vector<const Execution*>& executions);

    Metric metric() const { return metric_; }
    std::size_t values() const { return residuals_.size(); }
    /// Median, and the central 95 % of all values, in the metric's unit.
    double usual() const { return usual_; }
    Interval central() const { return central_; }
    /// Hours of the day with a median of their own, 0 to 24.
    int own_hours() const;
    /// What it is compared with where that is not the same hour of the day, and why; empty otherwise.
    std::string note() const;

    /// The centre for that time of day, in the metric's unit.
    double usual_at(domain::TimePoint at) const;
    /// log(1 + value) less the centre.
    double residual(double value, domain::TimePoint at) const;
    /// A residual in units of the usual spread to its side: the modified z-score 0.6745 (y − median) / MAD of Iglewicz
    /// & Hoaglin, widened by √(1 + π/2n) for a median that comes from n values itself.
    double score(double residual, domain::TimePoint at) const;
    /// The baseline's own residuals, ascending.
    const std::vector<double>& residuals() const { return residuals_; }
    /// The spread of all of them to one side, in logarithms.
    double spread(bool up) const { return whole_.to(up); }

  private:
    struct Hour {
        std::size_t count = 0;
        double centre = 0;
        bool own = false;
    };
    struct Spread {
        double up = 0;
        double down = 0;
        double to(bool upwards) const { return upwards ? up : down; }
    };
    static Spread spread_of(const std::vector<double>& sorted);
    Metric metric_ = Metric::cost;
    double usual_ = 0;
    Interval central_;
    std::array<Hour, 24> hours_{};
    std::vector<double> residuals_;
    Spread whole_;
    /// About the hours' own medians, and about the one of all hours.
    Spread hourly_;
    Spread overall_;
};

/// How often something happens to executions.
struct RateBaseline {
    std::int64_t hits = 0;
    std::int64_t tries = 0;

    bool enough() const { return tries >= static_cast<std::int64_t>(kEnoughValues); }
    double rate() const { return tries > 0 ? static_cast<double>(hits) / static_cast<double>(tries) : 0; }
    /// 95 %, by Wilson.
    Interval interval() const { return wilson(hits, tries, 1.959964); }
};

/// Failures (failed, dead) among what settled.
RateBaseline failures_of(const std::vector<const Execution*>& executions);
/// Executions that needed a retry among those that completed: what failed in the end is told by the failure rate.
RateBaseline retries_of(const std::vector<const Execution*>& executions);

/// When a type runs: for each hour of the day, apart for workdays and weekends, on how many of the days that the
/// baseline holds it ran at all, and how often. Batches count once for the former, so that they prove no more than one
/// run does.
class Activity {
  public:
    /// `ran` ascends and lies before `until`; the time before the first of them does not count.
    Activity(const std::vector<domain::TimePoint>& ran, domain::TimePoint until);

    /// The chance that it would not have run in any whole hour between the two times: Π (1 − active days / (days + 1)).
    /// Hours that the baseline never saw prove nothing and leave it as it is.
    double chance_of_silence(domain::TimePoint from, domain::TimePoint to) const;
    /// Runs to be expected in those hours.
    double expected(domain::TimePoint from, domain::TimePoint to) const;

  private:
    struct Slot {
        int hours = 0;
        int active = 0;
        int runs = 0;
    };
    const Slot& slot(domain::TimePoint at) const;
    std::array<std::array<Slot, 24>, 2> slots_{};
};

}
