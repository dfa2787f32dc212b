#pragma once
// Rules over readings: what is raised, what resolves. Pure.
//
// The door keeps the conditions between turns as rows (primary key: the fingerprint), and writes the new ones, the
// alerts that fire and those that have resolved in one transaction.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "alerts/rule.h"

namespace impresario::alerts {

enum class Phase {
    /// It holds, but not yet for long enough. Nobody is told.
    pending,
    firing,
    /// It fires still, and has been clear since a while.
    clearing,
};

inline constexpr domain::NameTable<Phase, 3> kPhases{
    {{Phase::pending, "pending"}, {Phase::firing, "firing"}, {Phase::clearing, "clearing"}}};
constexpr std::string_view name(Phase phase) { return domain::name_in(kPhases, phase); }

/// A rule that holds for some labels, as it is remembered.
struct Condition {
    std::string rule;
    /// The alert's.
    Labels labels;
    Phase phase = Phase::pending;
    /// When it began to hold.
    domain::TimePoint since{};
    /// While it is clearing: since when.
    domain::TimePoint clear_since{};
    /// As last read while it held.
    double value = 0;
    std::vector<std::string> evidence = {};
    /// Set by the door while it fires; ends with it.
    std::optional<Acknowledgement> acknowledged = std::nullopt;
    friend bool operator==(const Condition&, const Condition&) = default;
};

/// By the fingerprint of their labels. What does not hold has none.
using Conditions = std::map<std::string, Condition>;

enum class Ending {
    /// The value says so.
    cleared,
    /// What it was about is not there any more.
    vanished,
    /// The rule is not there any more, or is switched off.
    rule_gone,
};

inline constexpr domain::NameTable<Ending, 3> kEndings{
    {{Ending::cleared, "cleared"}, {Ending::vanished, "vanished"}, {Ending::rule_gone, "rule_gone"}}};
constexpr std::string_view name(Ending why) { return domain::name_in(kEndings, why); }

struct Resolved {
    /// With `ends_at`.
    Alert alert;
    Ending why = Ending::cleared;
};

struct Evaluation {
    Conditions conditions;
    /// All that fire, with the texts of now.
    std::vector<Alert> firing;
    /// Of those, the fingerprints of what did not fire before.
    std::vector<std::string> raised;
    std::vector<Resolved> resolved;
    /// When something may change although no value does: look again then. nullopt: nothing waits.
    std::optional<domain::TimePoint> wake;
};

/// `rules` must be without fault. What was not read stays as it was (see Readings): it neither is raised nor resolves,
/// however long it takes. Where several readings give the same labels the worst counts. Time that goes back counts as
/// standing still. A condition that was clear, or gone, for less than `keep` goes on as if it had held.
Evaluation evaluate(const std::vector<Rule>& rules, const Readings& readings, const Conditions& before,
                    domain::TimePoint now);

}
