#pragma once
// A budget: how much may be spent on what in which window, and what happens on the way there. Data, not an enum.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/definition_fault.h"
#include "domain/demand.h"
#include "domain/id.h"
#include "domain/money.h"
#include "domain/time.h"
#include "resource_manager/budget_window.h"

namespace impresario::resource_manager {

/// What a budget is for. Each member that is named narrows it.
struct BudgetScope {
    /// Empty: all organizations together.
    std::string organization_id;
    std::string provider;
    std::string workflow_type;
    std::optional<domain::BatchId> batch;

    /// What of a demand falls on it: all of its cost, or what it needs of the provider; nullopt: it is none of its.
    std::optional<domain::MicroUsd> share(const domain::Demand& demand) const;
    friend bool operator==(const BudgetScope&, const BudgetScope&) = default;
};

/// What is done when a budget nears its limit. Critical work goes on until the limit, but for `stop`.
enum class BudgetAction {
    /// Administrators are told and nothing else.
    alert,
    /// What is of less than a priority waits.
    defer_low_priority,
    /// Fewer items at once.
    smaller_batches,
    /// The cheaper variant that a type declares.
    cheaper_variant,
    /// Starts only between two hours of the day.
    off_peak_hours,
    pause_non_critical,
    /// Waits until somebody approves going on in this window.
    ask_human,
    stop,
};
std::string_view name(BudgetAction action);
std::optional<BudgetAction> parse_budget_action(std::string_view text);

struct BudgetStep {
    /// Begins when settled, reserved and unknown money reaches this part of the limit.
    int at_percent = 90;
    /// Ends when it falls below this part, or when the window turns: what hovers about a threshold does not flap.
    int undone_below_percent = 85;
    BudgetAction action = BudgetAction::pause_non_critical;
    /// Administrators are told when it begins.
    bool alert = true;
    /// Of defer_low_priority.
    int below_priority = 50;
    /// Of smaller_batches.
    int batch_percent = 50;
    /// Of off_peak_hours, by the clocks of the budget's zone.
    int from_hour = 22;
    int to_hour = 6;

    friend bool operator==(const BudgetStep&, const BudgetStep&) = default;
};

struct Budget {
    domain::BudgetId id;
    std::string name;
    BudgetScope scope;
    WindowRule window;
    domain::MicroUsd limit;
    /// Nothing is granted beyond the limit. A soft budget has only its steps.
    bool hard = true;
    /// In the order in which they begin. As it comes: at 90 % what is not critical pauses and administrators are told.
    std::vector<BudgetStep> steps{BudgetStep{}};
    /// Whether a step of it may let some of a lane wait and not the rest.
    bool defers() const;

    int version = 1;
    domain::TimePoint updated_at;
    std::string updated_by;
    std::string reason;
};

/// Everything that is wrong with it; empty when it is good.
domain::DefinitionFaults check(const Budget& budget);

}
