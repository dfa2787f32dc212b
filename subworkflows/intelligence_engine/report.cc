#include "subworkflows/intelligence_engine/report.h"

#include <algorithm>

#include "subworkflows/intelligence_engine/explanation.h"

namespace impresario::subworkflows::intelligence_engine {

using domain::MicroUsd;
using domain::TimePoint;

namespace {

constexpr std::uint64_t kSeed = 20'260'101;

TypeReport judge(const TypeHistory& history, const Request& request, const Windows& windows) {
    const Parts parts = divide(history, windows);
    TypeReport report{.workflow_type = history.workflow_type, .baseline = baseline_of(parts.baseline)};
    report.baseline_span = {std::max(windows.baseline.from, std::min(history.since, windows.baseline.to)),
                            windows.baseline.to};
    report.baseline_executions = static_cast<std::int64_t>(parts.baseline.size());
    report.executions = static_cast<std::int64_t>(parts.window.size());
    std::vector<double> durations;
    for (const auto* execution : parts.window) {
        report.completed += execution->completed() ? 1 : 0;
        report.failed += execution->status == domain::Status::failed ? 1 : 0;
        report.dead += execution->status == domain::Status::dead ? 1 : 0;
        if (execution->cost) report.cost = add(report.cost, *execution->cost);
        if (const auto duration = value_of(*execution, Metric::duration)) durations.push_back(*duration);
    }
    if (const auto settled = report.completed + report.failed + report.dead; settled > 0)
        report.failure_rate = static_cast<double>(report.failed + report.dead) / static_cast<double>(settled);
    if (!durations.empty()) {
        std::sort(durations.begin(), durations.end());
        report.median_duration_ms = quantile(durations, 0.5);
        report.p95_duration_ms = nearest_rank(durations, 0.95);
    }
    Findings findings = find_anomalies(history, parts, windows, report.baseline, request.sensitivity);
    report.anomalies = std::move(findings.anomalies);
    report.notes = std::move(findings.notes);
    if (history.cut)
        report.notes.push_back("its history is complete only since " + minute_text(history.since) +
                               ", for it is longer than one reading may be");
    return report;
}

void forecast_day(Report& report, const Request& request, TimePoint now, const std::vector<TypeHistory>& histories) {
    std::vector<Spend> spends;
    // Before the first execution of all there was nothing to learn from.
    TimePoint since = needed_from(request, now);
    TimePoint earliest = now;
    for (const auto& history : histories) {
        if (!history.failure.empty()) continue;
        report.forecast_types.push_back(history.workflow_type);
        if (history.cut) since = std::max(since, history.since);
        for (const auto& execution : history.executions) {
            if (execution.at() >= now) continue;
            earliest = std::min(earliest, execution.at());
            if (execution.cost) spends.push_back({execution.at(), *execution.cost});
        }
    }
    platform::SeededDice dice(kSeed);
    report.forecast = forecast(spends, std::max(since, earliest), now, request.daily_budget, dice);
}

std::string plural(std::int64_t count, const std::string& one, const std::string& many) {
    return std::to_string(count) + " " + (count == 1 ? one : many);
}

void summarise(Report& report, const Request& request) {
    std::vector<const Anomaly*> anomalies;
    std::int64_t executions = 0;
    std::int64_t read = 0;
    std::string unjudged;
    MicroUsd cost;
    for (const auto& type : report.types) {
        if (!type.failure.empty()) continue;
        ++read;
        executions += type.executions;
        cost = add(cost, type.cost);
        if (!type.baseline.failures.enough()) unjudged += (unjudged.empty() ? "" : ", ") + type.workflow_type;
        for (const auto& anomaly : type.anomalies) anomalies.push_back(&anomaly);
    }
    std::stable_sort(anomalies.begin(), anomalies.end(),
                     [](const Anomaly* a, const Anomaly* b) { return a->severity > b->severity; });
    auto& lines = report.summary;
    lines.push_back(
        plural(executions, "execution", "executions") + " of " + plural(read, "workflow type", "workflow types") +
        " in the last " + plural(request.hours, "hour", "hours") + " cost " + dollars(cost) + "; " +
        (anomalies.empty() ? "nothing that could be judged is out of the ordinary."
                           : plural(static_cast<std::int64_t>(anomalies.size()), "anomaly", "anomalies") + " found."));
    for (const auto* anomaly : anomalies) lines.push_back(anomaly->sentence);
    if (!unjudged.empty())
        lines.push_back("Too little history to judge by: " + unjudged + " (fewer than " +
                        std::to_string(kEnoughValues) + " outcomes in the baseline).");
    const Forecast& day = report.forecast;
    std::string text = "Today (UTC) " + dollars(day.spent) + " is spent";
    if (day.day)
        text += ", and " + dollars(day.day->expected) + " is expected by midnight (80 %: " + dollars(day.day->low) +
                " to " + dollars(day.day->high) + ", from " +
                plural(static_cast<std::int64_t>(day.days), "earlier day", "earlier days") + ")";
    text += day.note.empty() ? "." : "; " + day.note + ".";
    lines.push_back(std::move(text));
    if (request.daily_budget && day.chance_over_budget) {
        std::string budget = "The budget of " + dollars(*request.daily_budget);
        if (day.spent > *request.daily_budget) {
            budget += " was exceeded at " + minute_text(*day.over_budget_at) + ".";
        } else {
            budget += " is exceeded with a chance of " + number(*day.chance_over_budget * 100, 1) + " %";
            budget +=
                day.over_budget_at ? ", on the expected course at " + minute_text(*day.over_budget_at) + "." : ".";
        }
        lines.push_back(std::move(budget));
    }
    for (const auto& type : report.types)
        if (!type.failure.empty()) lines.push_back(type.workflow_type + " could not be read: " + type.failure + ".");
}

}

TimePoint needed_from(const Request& request, TimePoint now) {
    return std::min(windows_at(now, request.hours, request.baseline_hours).baseline.from, midnight(now));
}

std::vector<TypeHistory> given_history(const Request& request, TimePoint now,
                                       const std::function<bool(const std::string&)>& wants) {
    const auto& given = *request.inline_history;
    TimePoint earliest = now;
    for (const auto& history : given)
        for (const auto& execution : history.executions) earliest = std::min(earliest, execution.created_at);
    std::vector<TypeHistory> chosen;
    const auto choose = [&](const std::string& type) {
        if (!wants(type)) return;
        const auto found = std::find_if(given.begin(), given.end(),
                                        [&](const TypeHistory& each) { return each.workflow_type == type; });
        chosen.push_back(found == given.end() ? TypeHistory{.workflow_type = type} : *found);
        chosen.back().since = earliest;
    };
    if (request.workflow_types.empty()) {
        for (const auto& history : given) choose(history.workflow_type);
    } else {
        for (const auto& type : request.workflow_types) choose(type);
    }
    return chosen;
}

Report analyse(const Request& request, TimePoint now, const std::vector<TypeHistory>& histories) {
    Report report;
    report.windows = windows_at(now, request.hours, request.baseline_hours);
    for (const auto& history : histories) {
        if (history.failure.empty()) {
            report.types.push_back(judge(history, request, report.windows));
        } else {
            report.types.push_back(
                {.workflow_type = history.workflow_type, .baseline = baseline_of({}), .failure = history.failure});
        }
    }
    forecast_day(report, request, now, histories);
    summarise(report, request);
    return report;
}

}
