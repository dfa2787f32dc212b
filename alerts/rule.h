#pragma once
// When somebody must be told, and what: a definition that people may change.

#include <optional>
#include <string>
#include <vector>

#include "alerts/alert.h"
#include "alerts/reading.h"
#include "alerts/severity.h"
#include "domain/definition_fault.h"
#include "domain/time.h"

namespace impresario::alerts {

enum class Comparison { above, at_least, below, at_most };

inline constexpr domain::NameTable<Comparison, 4> kComparisons{{{Comparison::above, "above"},
                                                                {Comparison::at_least, "at_least"},
                                                                {Comparison::below, "below"},
                                                                {Comparison::at_most, "at_most"}}};
constexpr std::string_view name(Comparison comparison) { return domain::name_in(kComparisons, comparison); }

inline constexpr std::size_t kMostCauses = 3;

struct Rule {
    /// Its alerts' alertname. As domain::good_definition_name wants it; unique.
    std::string name;
    /// One of reading_kinds().
    std::string reading;
    Comparison comparison = Comparison::at_least;
    /// In the reading's unit.
    double raise = 0;
    /// Hysteresis: what is raised is clear only when the value does not compare so with this one either. nullopt: with
    /// `raise`.
    std::optional<double> clear = std::nullopt;
    /// ("for") So long it must hold before it is raised; 0: at once. Up to 7 days, as `keep`.
    domain::Duration hold{0};
    /// So long it must be clear before it resolves, so that what flaps is told once.
    domain::Duration keep{0};
    Severity severity = Severity::warning;
    /// Added to those of the reading; where both have one, this counts. Not alertname and severity.
    Labels labels = {};

    // Templates (template.h) over rule_template_names().
    std::string summary;
    std::string description = {};
    std::vector<std::string> causes = {};
    /// What is put into it is quoted for a shell.
    std::string command = {};
    /// A path under the hub's address; what is put into it is percent-encoded.
    std::string link = {};
    /// Not a template: a page.
    std::string runbook = {};

    bool enabled = true;
};

/// What is wrong with it, member by member.
domain::DefinitionFaults faults_of(const Rule& rule);
/// Also names that are there twice; pointers begin with the index: "/3/raise".
domain::DefinitionFaults faults_of(const std::vector<Rule>& rules);

/// The names that its templates may use beside labels.<name>: rule, reading, value, threshold, severity, since, hold,
/// evidence.
std::span<const std::string_view> rule_template_names();

/// Of a reading with these labels.
Labels alert_labels(const Rule& rule, const Labels& reading);

bool holds(const Rule& rule, double value);
/// Whether what is raised is clear again.
bool cleared(const Rule& rule, double value);

/// What people read. `labels` are the alert's.
Alert alert_of(const Rule& rule, const Labels& labels, double value, const std::vector<std::string>& evidence,
               domain::TimePoint since);

}
