#include "alerts/evaluate.h"

#include <algorithm>
#include <cmath>

namespace impresario::alerts {

using domain::TimePoint;

namespace {

/// The worst reading for each alert that a rule may raise, by fingerprint.
struct Candidate {
    Labels labels;
    const Reading* reading = nullptr;
};

bool worse(const Rule& rule, double a, double b) {
    const bool upwards = rule.comparison == Comparison::above || rule.comparison == Comparison::at_least;
    // What is not known tells less than what is.
    if (std::isnan(a) || std::isnan(b)) return std::isnan(b) && !std::isnan(a);
    return upwards ? a > b : a < b;
}

std::map<std::string, Candidate> candidates(const Rule& rule, const std::vector<Reading>& readings) {
    std::map<std::string, Candidate> found;
    for (const auto& reading : readings) {
        auto labels = alert_labels(rule, reading.labels);
        auto& candidate = found[fingerprint(labels)];
        if (!candidate.reading || worse(rule, reading.value, candidate.reading->value))
            candidate = {std::move(labels), &reading};
    }
    return found;
}

void note(Condition& condition, const Reading& reading) {
    condition.value = reading.value;
    condition.evidence = reading.evidence;
    if (condition.evidence.size() > kMostEvidence) condition.evidence.resize(kMostEvidence);
}

Alert alert_of(const Rule& rule, const Condition& condition) {
    auto alert = alert_of(rule, condition.labels, condition.value, condition.evidence, condition.since);
    alert.acknowledged = condition.acknowledged;
    return alert;
}

bool fires(Phase phase) { return phase != Phase::pending; }

class Turn {
  public:
    Turn(const Conditions& before, TimePoint now) : before_(before), now_(now) {}

    void judge(const Rule& rule, const std::vector<Reading>& readings) {
        const auto found = candidates(rule, readings);
        for (const auto& [key, candidate] : found) judge(rule, key, candidate);
        for (const auto& [key, condition] : before_)
            if (condition.rule == rule.name && !found.contains(key)) clear(rule, key, condition, Ending::vanished);
    }

    void keep_all(const Rule& rule) {
        for (const auto& [key, condition] : before_)
            if (condition.rule == rule.name) keep(rule, key, condition);
    }

    void end_all_without(const std::vector<Rule>& rules) {
        for (const auto& [key, condition] : before_) {
            const auto& name = condition.rule;
            const bool there = std::any_of(rules.begin(), rules.end(),
                                           [&](const Rule& rule) { return rule.enabled && rule.name == name; });
            if (there || !fires(condition.phase)) continue;
            Rule gone;
            gone.name = condition.rule;
            gone.summary = "{{ rule }} is not watched any more";
            end(gone, condition, Ending::rule_gone);
        }
    }

    Evaluation take() && { return std::move(result_); }

  private:
    void judge(const Rule& rule, const std::string& key, const Candidate& candidate) {
        const auto known = before_.find(key);
        const double value = candidate.reading->value;
        if (std::isnan(value)) {
            if (known != before_.end()) keep(rule, key, known->second);
            return;
        }
        const bool was_firing = known != before_.end() && fires(known->second.phase);
        if (was_firing ? cleared(rule, value) : !holds(rule, value)) {
            if (was_firing) clear(rule, key, known->second, Ending::cleared);
            return;
        }
        Condition condition = known != before_.end() ? known->second : Condition{rule.name, candidate.labels};
        if (known == before_.end()) condition.since = now_;
        note(condition, *candidate.reading);
        if (was_firing || now_ - condition.since >= rule.hold) condition.phase = Phase::firing;
        if (!was_firing && condition.phase == Phase::firing) result_.raised.push_back(key);
        keep(rule, key, std::move(condition));
    }

    /// It does not hold any more, or is not there.
    void clear(const Rule& rule, const std::string& key, Condition condition, Ending why) {
        if (!fires(condition.phase)) return;
        if (condition.phase == Phase::firing) {
            condition.phase = Phase::clearing;
            condition.clear_since = now_;
        }
        if (now_ - condition.clear_since >= rule.keep) return end(rule, condition, why);
        keep(rule, key, std::move(condition));
    }

    void end(const Rule& rule, const Condition& condition, Ending why) {
        Resolved resolved{alert_of(rule, condition), why};
        resolved.alert.ends_at = std::max(now_, condition.since);
        result_.resolved.push_back(std::move(resolved));
    }

    void keep(const Rule& rule, const std::string& key, Condition condition) {
        if (fires(condition.phase)) result_.firing.push_back(alert_of(rule, condition));
        if (condition.phase == Phase::pending) wake(condition.since + rule.hold);
        if (condition.phase == Phase::clearing) wake(condition.clear_since + rule.keep);
        result_.conditions.emplace(key, std::move(condition));
    }

    /// What is over already waits for a reading, not for a time.
    void wake(TimePoint at) {
        if (at > now_) result_.wake = domain::earlier(result_.wake, at);
    }

    const Conditions& before_;
    TimePoint now_;
    Evaluation result_;
};

}

Evaluation evaluate(const std::vector<Rule>& rules, const Readings& readings, const Conditions& before, TimePoint now) {
    Turn turn(before, now);
    for (const auto& rule : rules) {
        if (!rule.enabled) continue;
        const auto read = readings.find(rule.reading);
        if (read == readings.end())
            turn.keep_all(rule);
        else
            turn.judge(rule, read->second);
    }
    turn.end_all_without(rules);
    return std::move(turn).take();
}

}
