#include "alerts/rule.h"

#include <array>
#include <cmath>
#include <set>

#include "alerts/template.h"
#include "platform/url.h"

namespace impresario::alerts {

using domain::DefinitionFaults;
using domain::Duration;

namespace {

constexpr Duration kLongestDuration = std::chrono::hours{24 * 7};
constexpr std::size_t kLongestLine = 200;

constexpr std::array<std::string_view, 8> kNames{"rule",     "reading", "value", "threshold",
                                                 "severity", "since",   "hold",  "evidence"};

bool compares(Comparison comparison, double value, double with) {
    switch (comparison) {
        case Comparison::above:
            return value > with;
        case Comparison::at_least:
            return value >= with;
        case Comparison::below:
            return value < with;
        case Comparison::at_most:
            return value <= with;
    }
    return false;
}

bool upwards(Comparison comparison) { return comparison == Comparison::above || comparison == Comparison::at_least; }

std::string joined(const std::vector<std::string>& words) {
    std::string all;
    for (const auto& word : words) all += (all.empty() ? "" : ", ") + word;
    return all;
}

void check_texts(const Rule& rule, DefinitionFaults& faults) {
    const auto check = [&](const std::string& pointer, const std::string& text) {
        const auto parsed = Template::parse(text, kNames);
        if (!parsed) faults.push_back({pointer, parsed.error().what});
    };
    if (rule.summary.empty()) faults.push_back({"/summary", "is missing: what people read first"});
    check("/summary", rule.summary);
    check("/description", rule.description);
    if (rule.causes.size() > kMostCauses)
        faults.push_back({"/causes", "must be at most " + std::to_string(kMostCauses) + ", the likeliest first"});
    for (std::size_t i = 0; i < rule.causes.size() && i < kMostCauses; ++i)
        check("/causes/" + std::to_string(i), rule.causes[i]);
    check("/command", rule.command);
    check("/link", rule.link);
    if (!rule.link.empty() && rule.link.front() != '/')
        faults.push_back({"/link", "must be a path under the hub's address, as in /budgets"});
    if (rule.runbook.size() > kLongestLabelValue) faults.push_back({"/runbook", "is too long"});
}

}

std::span<const std::string_view> rule_template_names() { return kNames; }

DefinitionFaults faults_of(const Rule& rule) {
    DefinitionFaults faults = faults_of(rule.labels, "/labels");
    const auto wrong = [&](const char* pointer, std::string what) { faults.push_back({pointer, std::move(what)}); };
    const auto within = [&](const char* pointer, Duration value) {
        if (value < Duration{0} || value > kLongestDuration) wrong(pointer, "must be from 0 seconds to 7 days");
    };
    if (!domain::good_definition_name(rule.name)) wrong("/name", domain::kDefinitionNameRule);
    if (!find_reading(rule.reading)) {
        std::string known;
        for (const auto& kind : reading_kinds()) known += (known.empty() ? "" : ", ") + std::string(kind.name);
        wrong("/reading", "knows no '" + rule.reading.substr(0, 100) + "'; there are " + known);
    }
    if (!std::isfinite(rule.raise)) wrong("/raise", "must be a number");
    if (rule.clear && !std::isfinite(*rule.clear)) wrong("/clear", "must be a number");
    if (rule.clear && upwards(rule.comparison) && *rule.clear > rule.raise) wrong("/clear", "must not be above raise");
    if (rule.clear && !upwards(rule.comparison) && *rule.clear < rule.raise) wrong("/clear", "must not be below raise");
    within("/for", rule.hold);
    within("/keep", rule.keep);
    for (const auto name : {kAlertName, kSeverity})
        if (rule.labels.contains(std::string(name)))
            faults.push_back({"/labels/" + std::string(name), "is set by the rule itself"});
    if (rule.labels.contains("organization"))
        faults.push_back({"/labels/organization", "says whose it is, and comes with the reading"});
    check_texts(rule, faults);
    return faults;
}

DefinitionFaults faults_of(const std::vector<Rule>& rules) {
    DefinitionFaults all;
    std::set<std::string> names;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const auto at = "/" + std::to_string(i);
        for (auto& fault : faults_of(rules[i])) all.push_back({at + fault.pointer, std::move(fault.what)});
        if (!names.insert(rules[i].name).second) all.push_back({at + "/name", "is there twice: " + rules[i].name});
    }
    return all;
}

Labels alert_labels(const Rule& rule, const Labels& reading) {
    Labels labels = reading;
    for (const auto& [name, value] : rule.labels) labels[name] = value;
    labels[std::string(kAlertName)] = rule.name;
    labels[std::string(kSeverity)] = name(rule.severity);
    return labels;
}

bool holds(const Rule& rule, double value) { return compares(rule.comparison, value, rule.raise); }

bool cleared(const Rule& rule, double value) {
    return !compares(rule.comparison, value, rule.clear.value_or(rule.raise));
}

Alert alert_of(const Rule& rule, const Labels& labels, double value, const std::vector<std::string>& evidence,
               domain::TimePoint since) {
    const auto* kind = find_reading(rule.reading);
    const Unit unit = kind ? kind->unit : Unit::count;
    const auto word = [&](std::string_view name) -> std::string {
        if (const auto label = label_named(name); !label.empty()) return std::string(value_of(labels, label));
        if (name == "rule") return rule.name;
        if (name == "reading") return rule.reading;
        if (name == "value") return value_text(value, unit);
        if (name == "threshold") return value_text(rule.raise, unit);
        if (name == "severity") return std::string(alerts::name(rule.severity));
        if (name == "since") return domain::rfc3339(since).substr(0, 19) + "Z";
        if (name == "hold") return domain::human(rule.hold);
        if (name == "evidence") return joined(evidence);
        return {};
    };
    const auto rendered = [&](const std::string& text, const Template::Value& as, std::size_t most) {
        const auto parsed = Template::parse(text, kNames);
        return parsed ? parsed->render(as, most) : std::string();
    };
    Alert alert;
    alert.labels = labels;
    alert.summary = rendered(rule.summary, word, 2 * kLongestLine);
    alert.description = rendered(rule.description, word, kLongestTemplate);
    for (const auto& cause : rule.causes) alert.causes.push_back(rendered(cause, word, 2 * kLongestLine));
    alert.command = rendered(
        rule.command, [&](auto name) { return shell_word(word(name)); }, kLongestTemplate);
    alert.link = rendered(
        rule.link, [&](auto name) { return platform::percent_encode(word(name)); }, kLongestTemplate);
    alert.runbook = rule.runbook;
    alert.evidence = evidence;
    alert.since = since;
    return alert;
}

}
