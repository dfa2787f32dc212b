#include "subworkflows/intelligence_engine/explanation.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

namespace impresario::subworkflows::intelligence_engine {

using domain::MicroUsd;

namespace {

/// From here a factor is worth naming as a cause.
constexpr double kMuch = 1.5;

template <class Value>
std::optional<double> median_of(const std::vector<const Execution*>& executions, Value value) {
    std::vector<double> values;
    for (const auto* execution : executions)
        if (const auto found = value(*execution)) values.push_back(*found);
    if (values.empty()) return std::nullopt;
    return median(std::move(values));
}

double factor(std::optional<double> observed, std::optional<double> usual) {
    if (!observed || !usual || *observed <= 0 || *usual <= 0) return 1;
    return *observed / *usual;
}

std::string percent(double share) { return number(share * 100, 1) + " %"; }

std::string amount(Kind kind, double value) {
    if (kind == Kind::duration) return domain::human(domain::Duration{std::llround(value * 1000)});
    return dollars(MicroUsd{std::llround(value)});
}

std::string executions_text(std::int64_t count) {
    return std::to_string(count) + (count == 1 ? " execution" : " executions");
}

std::string times(double ratio) {
    return ratio >= 1 ? number(ratio, 1) + " times as much" : number(ratio * 100, 0) + " % of it";
}

std::string why_dearer(const Evidence& evidence) {
    if (evidence.items >= kMuch && evidence.cost_per_item < kMuch)
        return "more work in each, for they processed " + number(evidence.items, 1) + " times as many items";
    if (evidence.more_retries >= 0.5) return "work that was paid for more than once, for they were retried";
    if (evidence.duration >= kMuch)
        return "longer work for the same request (a longer prompt, more calls or more turns), for they also ran " +
               number(evidence.duration, 1) + " times as long";
    if (evidence.cost_per_item >= kMuch)
        return "a dearer model or a changed price, for neither items nor duration grew with the cost";
    return "a dearer model, a longer prompt or a changed price";
}

std::string why_slower(const Evidence& evidence) {
    if (evidence.items >= kMuch)
        return "more work in each, for they processed " + number(evidence.items, 1) + " times as many items";
    if (evidence.cost >= kMuch)
        return "more work for the same request, for they also cost " + number(evidence.cost, 1) + " times as much";
    if (evidence.more_retries >= 0.5) return "trouble on the way, for they were retried";
    return "a provider that answers slowly, for items and cost did not grow with the duration";
}

std::string why_failed(const Evidence& evidence) {
    const std::string word = evidence.reason.empty() ? "" : " (mostly " + evidence.reason + ")";
    if (evidence.reason == "timeout" || evidence.reason == "lost")
        return "a service or provider that no longer answers in time" + word;
    if (evidence.dead > 0.5) return "a service or provider that is out of order, for all attempts were used up" + word;
    return "requests that the service now refuses (a changed input or contract, or an expired key)" + word;
}

}

std::string number(double value, int places) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", places, value);
    std::string made = text;
    if (places > 0) {
        made.erase(made.find_last_not_of('0') + 1);
        if (made.back() == '.') made.pop_back();
    }
    return made;
}

std::string dollars(MicroUsd amount) {
    std::string text = domain::decimal(amount);
    for (int i = 0; i < 4 && text.back() == '0'; ++i) text.pop_back();
    return text + " USD";
}

std::string minute_text(domain::TimePoint at) {
    const std::string text = domain::rfc3339(at);
    return text.substr(0, 10) + " " + text.substr(11, 5) + " UTC";
}

Evidence evidence_of(const std::vector<const Execution*>& behind, const Parts& parts, const TypeBaseline& baseline) {
    Evidence evidence;
    const auto of = [&](Metric metric) {
        const auto& usual = baseline.of(metric);
        return factor(median_of(behind, [&](const Execution& each) { return value_of(each, metric); }),
                      usual ? std::optional(usual->usual()) : std::nullopt);
    };
    evidence.cost = of(Metric::cost);
    evidence.duration = of(Metric::duration);
    evidence.cost_per_item = of(Metric::cost_per_item);
    const auto items = [](const Execution& each) {
        return each.completed() && each.items ? std::optional(static_cast<double>(*each.items)) : std::nullopt;
    };
    evidence.items = factor(median_of(behind, items), median_of(parts.baseline, items));

    std::int64_t retried = 0;
    std::int64_t failed = 0;
    std::int64_t dead = 0;
    std::map<std::string, int> reasons;
    for (const auto* execution : behind) {
        retried += execution->retry_count > 0 ? 1 : 0;
        if (!execution->failed()) continue;
        ++failed;
        dead += execution->status == domain::Status::dead ? 1 : 0;
        if (!execution->reason.empty()) ++reasons[execution->reason];
    }
    if (!behind.empty())
        evidence.more_retries =
            static_cast<double>(retried) / static_cast<double>(behind.size()) - baseline.retries.rate();
    if (failed > 0) evidence.dead = static_cast<double>(dead) / static_cast<double>(failed);
    int most = 0;
    for (const auto& [reason, count] : reasons)
        if (count > most) {
            most = count;
            evidence.reason = reason;
        }
    for (const auto* part : {&parts.baseline, &parts.window})
        for (const auto* execution : *part)
            if (!domain::terminal(execution->status) && !execution->started_at) ++evidence.waiting;
    return evidence;
}

std::string likeliest(const Anomaly& anomaly, const Evidence& evidence) {
    switch (anomaly.kind) {
        case Kind::cost_per_execution:
            if (anomaly.up) return why_dearer(evidence);
            if (evidence.items <= 1 / kMuch) return "less work in each, for they processed fewer items";
            return "a cheaper model, work that was skipped, or costs that are no longer reported";
        case Kind::duration:
            if (anomaly.up) return why_slower(evidence);
            if (evidence.items <= 1 / kMuch) return "less work in each, for they processed fewer items";
            return "work that was skipped or answered from a cache; their results are worth a look";
        case Kind::cost_per_item:
            if (anomaly.up && evidence.items <= 1 / kMuch)
                return "a fixed cost that is spread over fewer items (" + number(evidence.items * 100, 0) +
                       " % of the usual number)";
            if (anomaly.up) return "a dearer model, a longer prompt or a changed price";
            return "a cheaper model, or items that were counted without being worked on";
        case Kind::failure_rate:
            return why_failed(evidence);
        case Kind::retries:
            return "a service or provider that answers unreliably or limits its rate, for they did complete in the end";
        case Kind::silence:
            if (evidence.waiting > 0)
                return "something that holds it back (a pause, a limit, a budget or an open breaker), for " +
                       executions_text(evidence.waiting) + " of it wait and never began";
            return "a schedule or a caller that stopped asking for it, for none is waiting";
    }
    return {};
}

std::string sentence(const std::string& workflow_type, const Anomaly& anomaly, const RateBaseline& rate,
                     domain::TimePoint now, domain::Duration longest_pause) {
    std::string text = workflow_type + ": ";
    const std::string strength =
        number(anomaly.score, 1) + " standard deviations, an alarm from " + number(anomaly.threshold, 1);
    switch (anomaly.change) {
        case Change::outliers:
        case Change::level: {
            const bool level = anomaly.change == Change::level;
            const std::string what = anomaly.kind == Kind::duration        ? "took"
                                     : anomaly.kind == Kind::cost_per_item ? "cost per item"
                                                                           : "cost";
            if (level) text += "since " + minute_text(anomaly.since) + " ";
            text += executions_text(anomaly.affected);
            if (!level) text += " of " + std::to_string(anomaly.looked_at);
            text += " " + what + (anomaly.affected == 1 ? " " : " a median of ") +
                    amount(anomaly.kind, anomaly.observed) + " where " + amount(anomaly.kind, anomaly.usual) +
                    " is usual (" + (anomaly.ratio ? times(*anomaly.ratio) + "; " : "") + (level ? "" : "up to ") +
                    strength + ")";
            if (!level) text += (anomaly.affected == 1 ? ", at " : ", the first at ") + minute_text(anomaly.since);
            break;
        }
        case Change::rate: {
            const Interval usual = rate.interval();
            text += std::to_string(anomaly.affected) + " of " + executions_text(anomaly.looked_at) +
                    (anomaly.kind == Kind::retries ? " completed only after retries " : " failed ") +
                    (anomaly.until ? "from " + minute_text(anomaly.since) + " to " + minute_text(*anomaly.until)
                                   : "since " + minute_text(anomaly.since)) +
                    ": " + percent(anomaly.observed) + " where " + percent(anomaly.usual) +
                    " is usual (95 %: " + percent(usual.low) + " to " + percent(usual.high) + "; " + strength + ")";
            break;
        }
        case Change::absence:
            text += "nothing has run since " + minute_text(anomaly.since) + ", for " +
                    domain::human(now - anomaly.since) + ", where about " +
                    number(anomaly.usual, anomaly.usual < 10 ? 1 : 0) +
                    " runs were to be expected and the longest pause had been " + domain::human(longest_pause) + " (" +
                    strength + ")";
            break;
    }
    return text + "; most likely " + anomaly.explanation + ".";
}

}
