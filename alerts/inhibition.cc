#include "alerts/inhibition.h"

#include <algorithm>

#include "alerts/matcher.h"
#include "domain/lane.h"

namespace impresario::alerts {

namespace {

std::string key(const Inhibition& inhibition, const Labels& labels) {
    Labels equal;
    for (const auto& name : inhibition.equal) equal[name] = value_of(labels, name);
    return text(equal);
}

/// Whose an alert is: "" of the hub, or of those who look after all.
std::string whose(const Labels& labels) {
    const auto organization = value_of(labels, "organization");
    return organization == domain::kDefaultOrganization ? "" : std::string(organization);
}

void check(const Matchers& matchers, const char* pointer, domain::DefinitionFaults& faults) {
    if (matchers.empty()) faults.push_back({pointer, "is missing: it would mean every alert"});
    if (matchers.size() > kMostMatchers) faults.push_back({pointer, "are too many"});
}

Matchers matchers(std::initializer_list<std::string_view> texts) {
    Matchers all;
    for (const auto text : texts) all.push_back(*parse_matcher(text));
    return all;
}

}

domain::DefinitionFaults faults_of(const Inhibition& inhibition) {
    domain::DefinitionFaults faults;
    check(inhibition.source, "/source", faults);
    check(inhibition.target, "/target", faults);
    if (inhibition.equal.size() > kMostLabels) faults.push_back({"/equal", "are too many"});
    for (const auto& name : inhibition.equal)
        if (!good_label_name(name)) faults.push_back({"/equal", "must hold names of labels"});
    return faults;
}

Inhibitor::Inhibitor(const std::vector<Inhibition>& inhibitions, const std::vector<Alert>& alerts,
                     domain::TimePoint now) {
    for (const auto& inhibition : inhibitions) {
        Sources sources{inhibition, {}, {}};
        for (const auto& alert : alerts) {
            if (!alert.firing(now) || !all_match(inhibition.source, alert.labels)) continue;
            const Place place{whose(alert.labels), key(inhibition, alert.labels)};
            sources.all.insert(place);
            if (!all_match(inhibition.target, alert.labels)) sources.one_sided.insert(place);
        }
        if (!sources.all.empty()) rules_.push_back(std::move(sources));
    }
}

bool Inhibitor::inhibits(const Labels& labels) const {
    return std::any_of(rules_.begin(), rules_.end(), [&](const Sources& sources) {
        if (!all_match(sources.rule.target, labels)) return false;
        const auto& others = all_match(sources.rule.source, labels) ? sources.one_sided : sources.all;
        const auto equal = key(sources.rule, labels);
        return others.contains({"", equal}) || others.contains({whose(labels), equal});
    });
}

std::vector<Inhibition> default_inhibitions() {
    return {
        {matchers({"alertname=orchestrator_down"}),
         matchers({"alertname=~queue_depth_high|pending_high|outbox_lag|execution_time_slow|anomaly"}),
         {}},
        {matchers({"alertname=cost_budget_exceeded"}),
         matchers({"alertname=budget_forecast"}),
         {"organization", "budget"}},
        {matchers({"alertname=error_rate_high"}),
         matchers({"alertname=~failure_rate_high|anomaly|dead_letters"}),
         {"organization", "workflow_type"}},
        {matchers({"alertname=queue_depth_high"}), matchers({"alertname=pending_high"}), {"organization"}},
    };
}

}
