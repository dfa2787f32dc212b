#pragma once
// What is out of the ordinary in a type's window, measured against its own baseline. Pure; any thread.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "subworkflows/intelligence_engine/baseline.h"
#include "subworkflows/intelligence_engine/history.h"

namespace impresario::subworkflows::intelligence_engine {

enum class Kind { cost_per_execution, duration, cost_per_item, failure_rate, retries, silence };
std::string_view name(Kind kind);

/// outliers: single executions; level: everything since a moment; rate: more often than usual; absence: nothing at all.
enum class Change { outliers, level, rate, absence };
std::string_view name(Change change);

/// By size, and only by size:
///   outliers, level   up: by the factor, critical from 10, high from 4, medium from 2; down: medium from 4, else low
///   failure_rate      by points of share above the usual one: critical from 50, high from 25, medium from 10
///   retries           the same, one step lower
///   silence           by the runs that were to be expected: critical from 100, high from 20, medium from 5
enum class Severity { low, medium, high, critical };
std::string_view name(Severity severity);

/// At most so many executions are named behind one anomaly.
inline constexpr std::size_t kNamedExecutions = 10;

struct Anomaly {
    Kind kind = Kind::duration;
    Change change = Change::outliers;
    bool up = true;
    Severity severity = Severity::low;
    domain::TimePoint since;
    /// The end of what is over again; nullopt while it lasts, and for outliers.
    std::optional<domain::TimePoint> until;
    /// Micro-dollars, milliseconds, a share from 0 to 1, or for silence runs: the median of the executions behind it
    /// and what is usual at their times of day; the rate and the usual one; 0 and the runs to be expected.
    double observed = 0;
    double usual = 0;
    /// observed / usual; nullopt where nothing is usual.
    std::optional<double> ratio;
    /// Standard deviations of a normal, and where they become an alarm, after sharing the tail among all that was
    /// looked at. outliers: the largest modified z-score; otherwise the score of the test's tail probability.
    double score = 0;
    double threshold = 0;
    /// Executions behind it, and those it was looked for in.
    std::int64_t affected = 0;
    std::int64_t looked_at = 0;
    /// The most telling of them, at most kNamedExecutions. Silence: the last one that ran.
    std::vector<domain::ExecutionId> executions;
    /// The likeliest cause, to follow "most likely".
    std::string explanation;
    /// All of it in one sentence for people.
    std::string sentence;
};

/// A type's baseline, whole.
struct TypeBaseline {
    /// By Metric.
    std::array<domain::Result<MetricBaseline, domain::Fault>, 3> metrics;
    RateBaseline failures;
    RateBaseline retries;
    const domain::Result<MetricBaseline, domain::Fault>& of(Metric metric) const {
        return metrics[static_cast<std::size_t>(metric)];
    }
};
TypeBaseline baseline_of(const std::vector<const Execution*>& executions);

struct Findings {
    /// The most severe first.
    std::vector<Anomaly> anomalies;
    /// What could not be judged, and why; what was compared with less than it should be.
    std::vector<std::string> notes;
};

/// Single executions: modified z-scores beyond outlier_threshold(). Levels: the rank-sum test of the window's last n
/// executions against the baseline for a growing n (Bonferroni over them), where the medians also differ by a quarter
/// and by half the usual spread; outliers are then looked for on top of the new level. Rates: a binomial tail against
/// the upper end of the baseline's Wilson interval, of the whole window and of the stretch that speaks loudest
/// (Bonferroni over all stretches), where the rate is also 5 points above the usual one. Silence: the chance of not
/// having run in all the whole hours since the last run, where that pause is also 1.5 times as long as any before.
/// `sensitivity` is the robust z of an alarm; tail probabilities are the normal's beyond it. A cost per item that only
/// repeats what the cost per execution says of the same executions is left to that one's explanation.
Findings find_anomalies(const TypeHistory& history, const Parts& parts, const Windows& windows,
                        const TypeBaseline& baseline, double sensitivity);

}
