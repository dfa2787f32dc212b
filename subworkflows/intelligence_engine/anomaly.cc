#include "subworkflows/intelligence_engine/anomaly.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "subworkflows/intelligence_engine/explanation.h"

namespace impresario::subworkflows::intelligence_engine {

using domain::TimePoint;

std::string_view name(Kind kind) {
    switch (kind) {
        case Kind::cost_per_execution:
            return "cost_per_execution";
        case Kind::duration:
            return "duration";
        case Kind::cost_per_item:
            return "cost_per_item";
        case Kind::failure_rate:
            return "failure_rate";
        case Kind::retries:
            return "retries";
        case Kind::silence:
            return "silence";
    }
    return "";
}

std::string_view name(Change change) {
    switch (change) {
        case Change::outliers:
            return "outliers";
        case Change::level:
            return "level";
        case Change::rate:
            return "rate";
        case Change::absence:
            return "absence";
    }
    return "";
}

std::string_view name(Severity severity) {
    switch (severity) {
        case Severity::low:
            return "low";
        case Severity::medium:
            return "medium";
        case Severity::high:
            return "high";
        case Severity::critical:
            return "critical";
    }
    return "";
}

namespace {

/// A new level is looked for in at least so many executions.
constexpr std::size_t kShortestLevel = 8;
/// Medians nearer than this factor (log 1.25) are no new level, however sure the difference is.
constexpr double kSmallestLevel = 0.22314;
/// Fewer hits than this are no rate.
constexpr std::int64_t kFewestHits = 3;
/// A rate nearer than this to the usual one is none to speak of.
constexpr double kSmallestRise = 0.05;
/// A type that ran less often than this never ran regularly.
constexpr std::size_t kFewestRuns = 5;
constexpr double kLongerPause = 1.5;

Severity severity_of_factor(double residual) {
    const double factor = std::exp(std::fabs(residual));
    if (residual < 0) return factor >= 4 ? Severity::medium : Severity::low;
    return factor >= 10  ? Severity::critical
           : factor >= 4 ? Severity::high
           : factor >= 2 ? Severity::medium
                         : Severity::low;
}

Severity severity_of_rise(double rise, Kind kind) {
    const Severity plain = rise >= 0.5    ? Severity::critical
                           : rise >= 0.25 ? Severity::high
                           : rise >= 0.1  ? Severity::medium
                                          : Severity::low;
    if (kind != Kind::retries || plain == Severity::low) return plain;
    return static_cast<Severity>(static_cast<int>(plain) - 1);
}

Severity severity_of_absence(double expected) {
    return expected >= 100  ? Severity::critical
           : expected >= 20 ? Severity::high
           : expected >= 5  ? Severity::medium
                            : Severity::low;
}

Kind kind_of(Metric metric) {
    return metric == Metric::cost       ? Kind::cost_per_execution
           : metric == Metric::duration ? Kind::duration
                                        : Kind::cost_per_item;
}

/// One execution's value of one metric, in the order of time.
struct Reading {
    const Execution* execution;
    double value;
    /// log(1 + value) less the centre of its time of day.
    double residual;
    double score = 0;
};

/// Where everything changed, as an index into the readings.
struct Level {
    std::size_t from = 0;
    /// Median residual of what follows.
    double shift = 0;
    double score = 0;
    double threshold = 0;
};

class Detector {
  public:
    Detector(const TypeHistory& history, const Parts& parts, const Windows& windows, const TypeBaseline& baseline,
             double sensitivity)
        : history_(history), parts_(parts), windows_(windows), baseline_(baseline), sensitivity_(sensitivity) {}

    Findings findings() {
        for (const auto metric : {Metric::cost, Metric::duration, Metric::cost_per_item}) look_at_metric(metric);
        fold_cost_per_item();
        look_at_rate(Kind::failure_rate, baseline_.failures);
        look_at_rate(Kind::retries, baseline_.retries);
        look_for_silence();
        std::stable_sort(found_.begin(), found_.end(),
                         [](const Found& a, const Found& b) { return a.anomaly.severity > b.anomaly.severity; });
        for (auto& each : found_) {
            const Evidence evidence = evidence_of(each.behind, parts_, baseline_);
            each.anomaly.explanation = likeliest(each.anomaly, evidence);
            each.anomaly.sentence =
                sentence(history_.workflow_type, each.anomaly,
                         each.anomaly.kind == Kind::retries ? baseline_.retries : baseline_.failures,
                         windows_.window.to, longest_pause_);
            findings_.anomalies.push_back(std::move(each.anomaly));
        }
        return std::move(findings_);
    }

  private:
    struct Found {
        Anomaly anomaly;
        std::vector<const Execution*> behind;
    };

    /// What is to be said of several kinds is said once.
    void note(std::string_view what, const std::string& text) {
        for (auto& known : findings_.notes)
            if (known.ends_with(": " + text)) {
                known = known.substr(0, known.size() - text.size() - 2) + ", " + std::string(what) + ": " + text;
                return;
            }
        findings_.notes.push_back(std::string(what) + ": " + text);
    }

    void look_at_metric(Metric metric) {
        const auto& built = baseline_.of(metric);
        std::vector<Reading> readings;
        for (const auto* execution : parts_.window)
            if (const auto value = value_of(*execution, metric)) readings.push_back({execution, *value, 0});
        if (readings.empty()) return;
        if (!built) {
            note(name(kind_of(metric)), built.error().what);
            return;
        }
        const MetricBaseline& usual = *built;
        if (const auto text = usual.note(); !text.empty()) note(name(kind_of(metric)), text);
        for (auto& reading : readings) reading.residual = usual.residual(reading.value, reading.execution->at());

        const auto level = find_level(readings, usual);
        if (level) {
            std::vector<Reading> behind(readings.begin() + static_cast<std::ptrdiff_t>(level->from), readings.end());
            Anomaly anomaly;
            anomaly.kind = kind_of(metric);
            anomaly.change = Change::level;
            anomaly.up = level->shift > 0;
            anomaly.severity = severity_of_factor(level->shift);
            anomaly.since = behind.front().execution->at();
            anomaly.score = level->score;
            anomaly.threshold = level->threshold;
            anomaly.looked_at = static_cast<std::int64_t>(readings.size());
            add(std::move(anomaly), std::move(behind), usual);
        }
        for (std::size_t i = 0; i < readings.size(); ++i) {
            const double on_top = level && i >= level->from ? level->shift : 0;
            readings[i].score = usual.score(readings[i].residual - on_top, readings[i].execution->at());
        }
        const double threshold = outlier_threshold(sensitivity_, readings.size(), usual.values());
        for (const bool up : {true, false}) {
            std::vector<Reading> behind;
            for (const auto& reading : readings)
                if (up ? reading.score >= threshold : reading.score <= -threshold) behind.push_back(reading);
            if (behind.empty()) continue;
            Anomaly anomaly;
            anomaly.kind = kind_of(metric);
            anomaly.change = Change::outliers;
            anomaly.up = up;
            std::vector<double> residuals;
            for (const auto& reading : behind) {
                residuals.push_back(reading.residual);
                anomaly.score = std::max(anomaly.score, std::fabs(reading.score));
            }
            anomaly.severity = severity_of_factor(median(std::move(residuals)));
            anomaly.since = behind.front().execution->at();
            anomaly.threshold = threshold;
            anomaly.looked_at = static_cast<std::int64_t>(readings.size());
            add(std::move(anomaly), std::move(behind), usual);
        }
    }

    /// Fills what follows from the readings behind it.
    void add(Anomaly anomaly, std::vector<Reading> behind, const MetricBaseline& usual) {
        std::vector<double> observed;
        std::vector<double> centres;
        Found found;
        for (const auto& reading : behind) {
            observed.push_back(reading.value);
            centres.push_back(usual.usual_at(reading.execution->at()));
            found.behind.push_back(reading.execution);
        }
        anomaly.observed = median(std::move(observed));
        anomaly.usual = median(std::move(centres));
        if (anomaly.usual > 0) anomaly.ratio = anomaly.observed / anomaly.usual;
        anomaly.affected = static_cast<std::int64_t>(behind.size());
        const double sign = anomaly.up ? 1 : -1;
        std::stable_sort(behind.begin(), behind.end(),
                         [sign](const Reading& a, const Reading& b) { return sign * a.residual > sign * b.residual; });
        for (std::size_t i = 0; i < std::min(kNamedExecutions, behind.size()); ++i)
            anomaly.executions.push_back(behind[i].execution->id);
        found.anomaly = std::move(anomaly);
        found_.push_back(std::move(found));
    }

    std::optional<Level> find_level(const std::vector<Reading>& readings, const MetricBaseline& usual) const {
        if (readings.size() < kShortestLevel) return std::nullopt;
        std::vector<std::size_t> lengths;
        for (std::size_t length = kShortestLevel; length < readings.size(); length += (length + 1) / 2)
            lengths.push_back(length);
        lengths.push_back(readings.size());

        // Two-sided at the sensitivity's tail, shared among the lengths.
        const double threshold = normal_score(normal_tail(sensitivity_) / static_cast<double>(lengths.size()));
        std::optional<Level> best;
        std::vector<double> residuals;
        for (auto reading = readings.rbegin(); reading != readings.rend(); ++reading) {
            residuals.push_back(reading->residual);
            if (!std::binary_search(lengths.begin(), lengths.end(), residuals.size())) continue;
            const double score = rank_sum(residuals, usual.residuals());
            if (std::fabs(score) < threshold || (best && std::fabs(score) <= best->score)) continue;
            const double shift = median(residuals) - quantile(usual.residuals(), 0.5);
            if (std::fabs(shift) < std::max(kSmallestLevel, 0.5 * usual.spread(shift > 0))) continue;
            if ((shift > 0) != (score > 0)) continue;
            best = Level{readings.size() - residuals.size(), shift, std::fabs(score), threshold};
        }
        if (best) refine(*best, readings, usual);
        return best;
    }

    /// The lengths are coarse. It began where what follows departs most from the usual, each reading's weight limited
    /// so that a single outlier does not decide: the largest sum of clipped residuals less half of the new level.
    static void refine(Level& level, const std::vector<Reading>& readings, const MetricBaseline& usual) {
        const double sign = level.shift > 0 ? 1 : -1;
        const double spread = usual.spread(level.shift > 0);
        const double limit = std::max(2 * spread, std::fabs(level.shift));
        double sum = 0;
        double most = 0;
        std::size_t from = level.from;
        for (std::size_t i = readings.size(); i-- > 0;) {
            sum += std::clamp(sign * readings[i].residual, -limit, limit) - std::fabs(level.shift) / 2;
            if (sum > most && readings.size() - i >= kShortestLevel) {
                most = sum;
                from = i;
            }
        }
        level.from = from;
        std::vector<double> residuals;
        for (std::size_t i = from; i < readings.size(); ++i) residuals.push_back(readings[i].residual);
        level.shift = median(std::move(residuals)) - quantile(usual.residuals(), 0.5);
    }

    void look_at_rate(Kind kind, const RateBaseline& usual) {
        struct Trial {
            const Execution* execution;
            bool hit;
        };
        std::vector<Trial> trials;
        for (const auto* execution : parts_.window) {
            if (kind == Kind::failure_rate && execution->settled()) trials.push_back({execution, execution->failed()});
            if (kind == Kind::retries && execution->completed())
                trials.push_back({execution, execution->retry_count > 0});
        }
        if (trials.empty()) return;
        if (!usual.enough()) {
            note(name(kind), std::to_string(usual.tries) + " executions in the baseline, and at least " +
                                 std::to_string(kEnoughValues) + " are needed");
            return;
        }
        // Even if the usual rate were at the upper end of what the baseline allows.
        const double p = std::min(usual.interval().high, 0.999);
        const auto n = static_cast<double>(trials.size());

        // The stretch whose likelihood ratio against a rate half-way to 1 is largest (Kadane's maximum subarray).
        const double other = (1 + p) / 2;
        const double for_hit = std::log(other / p);
        const double for_miss = std::log((1 - other) / (1 - p));
        double sum = 0;
        double most = 0;
        std::size_t start = 0;
        std::size_t first = 0;
        std::size_t last = trials.size();
        for (std::size_t i = 0; i < trials.size(); ++i) {
            if (sum <= 0) {
                sum = 0;
                start = i;
            }
            sum += trials[i].hit ? for_hit : for_miss;
            if (sum > most) {
                most = sum;
                first = start;
                last = i + 1;
            }
        }
        const auto test = [&](std::size_t from, std::size_t to, double tests) -> std::optional<Found> {
            Found found;
            Anomaly& anomaly = found.anomaly;
            for (std::size_t i = from; i < to; ++i)
                if (trials[i].hit) found.behind.push_back(trials[i].execution);
            anomaly.affected = static_cast<std::int64_t>(found.behind.size());
            anomaly.looked_at = static_cast<std::int64_t>(to - from);
            anomaly.observed = static_cast<double>(anomaly.affected) / static_cast<double>(to - from);
            anomaly.usual = usual.rate();
            anomaly.score = normal_score(std::min(1.0, binomial_tail(anomaly.affected, anomaly.looked_at, p) * tests));
            anomaly.threshold = sensitivity_;
            if (anomaly.affected < kFewestHits || anomaly.observed - anomaly.usual < kSmallestRise) return std::nullopt;
            if (anomaly.score < anomaly.threshold) return std::nullopt;
            anomaly.kind = kind;
            anomaly.change = Change::rate;
            anomaly.severity = severity_of_rise(anomaly.observed - anomaly.usual, kind);
            anomaly.since = trials[from].execution->at();
            // Over again only where so many others in a row would be a surprise while it lasts.
            if (std::pow(1 - anomaly.observed, static_cast<double>(trials.size() - to)) < 0.05)
                anomaly.until = trials[to - 1].execution->at();
            if (anomaly.usual > 0) anomaly.ratio = anomaly.observed / anomaly.usual;
            // The latest are the ones whose logs are still at hand.
            for (auto each = found.behind.rbegin(); each != found.behind.rend(); ++each)
                if (anomaly.executions.size() < kNamedExecutions) anomaly.executions.push_back((*each)->id);
            return found;
        };
        // Two looks, so each has half of the tail.
        auto found = test(first, last, n * (n + 1) / 2 * 2);
        if (!found) found = test(0, trials.size(), 2);
        if (found) found_.push_back(*std::move(found));
    }

    void look_for_silence() {
        std::vector<TimePoint> ran;
        const Execution* latest = nullptr;
        for (const auto* part : {&parts_.baseline, &parts_.window})
            for (const auto* execution : *part)
                if (const auto at = execution->ran_at()) {
                    ran.push_back(*at);
                    if (!latest || *at > *latest->ran_at()) latest = execution;
                }
        if (!latest) return;
        std::sort(ran.begin(), ran.end());
        const TimePoint now = windows_.window.to;
        const domain::Duration pause = now - ran.back();
        const auto in_baseline = std::lower_bound(ran.begin(), ran.end(), windows_.window.from) - ran.begin();
        if (static_cast<std::size_t>(in_baseline) < kFewestRuns) {
            if (ran.back() < windows_.window.from)
                note(name(Kind::silence), "not to be told from rest, for it ran " + std::to_string(in_baseline) +
                                              " times in the baseline, and at least " + std::to_string(kFewestRuns) +
                                              " are needed");
            return;
        }
        for (std::size_t i = 1; i < ran.size(); ++i) longest_pause_ = std::max(longest_pause_, ran[i] - ran[i - 1]);
        if (static_cast<double>(pause.count()) < kLongerPause * static_cast<double>(longest_pause_.count())) return;

        ran.resize(static_cast<std::size_t>(in_baseline));
        const Activity activity(ran, windows_.window.from);
        const TimePoint since = *latest->ran_at();
        const double score = normal_score(activity.chance_of_silence(since, now));
        if (score < sensitivity_) return;
        Found found;
        Anomaly& anomaly = found.anomaly;
        anomaly.kind = Kind::silence;
        anomaly.change = Change::absence;
        anomaly.up = false;
        anomaly.since = since;
        anomaly.usual = activity.expected(since, now);
        anomaly.severity = severity_of_absence(anomaly.usual);
        anomaly.ratio = 0.0;
        anomaly.score = score;
        anomaly.threshold = sensitivity_;
        anomaly.looked_at = static_cast<std::int64_t>(ran.size());
        anomaly.executions = {latest->id};
        found.behind = {latest};
        found_.push_back(std::move(found));
    }

    /// The same executions, dearer per item in the same direction: one finding, not two.
    void fold_cost_per_item() {
        std::set<std::pair<const Execution*, bool>> told;
        for (const auto& each : found_)
            if (each.anomaly.kind == Kind::cost_per_execution)
                for (const auto* execution : each.behind) told.emplace(execution, each.anomaly.up);
        std::erase_if(found_, [&](const Found& each) {
            if (each.anomaly.kind != Kind::cost_per_item) return false;
            const auto shared = std::count_if(each.behind.begin(), each.behind.end(), [&](const Execution* execution) {
                return told.contains({execution, each.anomaly.up});
            });
            return shared * 10 >= static_cast<std::ptrdiff_t>(each.behind.size()) * 9;
        });
    }

    const TypeHistory& history_;
    const Parts& parts_;
    const Windows& windows_;
    const TypeBaseline& baseline_;
    double sensitivity_;
    domain::Duration longest_pause_{0};
    std::vector<Found> found_;
    Findings findings_;
};

}

TypeBaseline baseline_of(const std::vector<const Execution*>& executions) {
    return {{MetricBaseline::build(Metric::cost, executions), MetricBaseline::build(Metric::duration, executions),
             MetricBaseline::build(Metric::cost_per_item, executions)},
            failures_of(executions),
            retries_of(executions)};
}

Findings find_anomalies(const TypeHistory& history, const Parts& parts, const Windows& windows,
                        const TypeBaseline& baseline, double sensitivity) {
    return Detector(history, parts, windows, baseline, sensitivity).findings();
}

}
