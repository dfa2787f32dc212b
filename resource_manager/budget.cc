#include "resource_manager/budget.h"

#include <algorithm>
#include <functional>

#include "domain/name_table.h"
#include "platform/zone.h"

namespace impresario::resource_manager {

namespace {

constexpr domain::NameTable<BudgetAction, 8> kActions{{
    {BudgetAction::alert, "alert"},
    {BudgetAction::defer_low_priority, "defer_low_priority"},
    {BudgetAction::smaller_batches, "smaller_batches"},
    {BudgetAction::cheaper_variant, "cheaper_variant"},
    {BudgetAction::off_peak_hours, "off_peak_hours"},
    {BudgetAction::pause_non_critical, "pause_non_critical"},
    {BudgetAction::ask_human, "ask_human"},
    {BudgetAction::stop, "stop"},
}};

using Wrong = std::function<void(std::string, std::string)>;

void within(const Wrong& wrong, const std::string& pointer, int value, int least, int most) {
    if (value < least || value > most)
        wrong(pointer, "must be from " + std::to_string(least) + " to " + std::to_string(most));
}

void check_window(const Budget& budget, const Wrong& wrong) {
    const auto& window = budget.window;
    // Not all of what somebody sent is repeated to them.
    if (!platform::known_zone(window.zone))
        wrong("/window/time_zone", "'" + window.zone.substr(0, 64) + "' is no time zone; use a name as Europe/Berlin");
    within(wrong, "/window/reset_hour", window.reset_hour, 0, 23);
    within(wrong, "/window/first_weekday", window.first_weekday, 1, 7);
    within(wrong, "/window/hours", window.hours, 1, kMostRollingHours);
    if (window.unit == WindowUnit::batch && !budget.scope.batch)
        wrong("/window/unit", "batch needs a scope with a batch_id");
}

void check_steps(const Budget& budget, const Wrong& wrong) {
    if (budget.steps.size() > 20) wrong("/steps", "must be at most 20");
    const BudgetStep* before = nullptr;
    for (std::size_t i = 0; i < budget.steps.size(); ++i) {
        const auto& step = budget.steps[i];
        const std::string at = "/steps/" + std::to_string(i);
        within(wrong, at + "/at_percent", step.at_percent, 1, 1000);
        // What is measured by another that is wrong itself is not told twice.
        if (step.at_percent >= 1)
            within(wrong, at + "/undone_below_percent", step.undone_below_percent, 1, step.at_percent);
        within(wrong, at + "/below_priority", step.below_priority, 1, 100);
        within(wrong, at + "/batch_percent", step.batch_percent, 1, 99);
        within(wrong, at + "/from_hour", step.from_hour, 0, 23);
        within(wrong, at + "/to_hour", step.to_hour, 0, 23);
        if (step.from_hour == step.to_hour) wrong(at + "/to_hour", "must be another hour than from_hour");
        if (step.at_percent < 1) continue;
        if (before && step.at_percent < before->at_percent)
            wrong(at + "/at_percent", "must not be less than that of the step before");
        if (before && step.undone_below_percent < before->undone_below_percent)
            wrong(at + "/undone_below_percent", "must not be less than that of the step before");
        before = &step;
    }
}

}

std::string_view name(BudgetAction action) { return domain::name_in(kActions, action); }

std::optional<BudgetAction> parse_budget_action(std::string_view text) { return domain::value_in(kActions, text); }

std::optional<domain::MicroUsd> BudgetScope::share(const domain::Demand& demand) const {
    if (!organization_id.empty() && organization_id != demand.lane.organization_id) return std::nullopt;
    if (!workflow_type.empty() && workflow_type != demand.lane.workflow_type) return std::nullopt;
    if (batch && batch != demand.batch) return std::nullopt;
    if (provider.empty()) return demand.cost;
    for (const auto& need : demand.needs)
        if (need.provider == provider) return demand.guessed ? demand.cost : need.cost;
    return std::nullopt;
}

bool Budget::defers() const {
    return std::any_of(steps.begin(), steps.end(),
                       [](const BudgetStep& step) { return step.action == BudgetAction::defer_low_priority; });
}

domain::DefinitionFaults check(const Budget& budget) {
    domain::DefinitionFaults faults;
    const Wrong wrong = [&](std::string pointer, std::string what) {
        faults.push_back({std::move(pointer), std::move(what)});
    };
    if (!domain::good_definition_name(budget.name)) wrong("/name", domain::kDefinitionNameRule);
    if (budget.scope.organization_id.size() > 63) wrong("/scope/organization_id", "must be at most 63 bytes");
    if (budget.scope.provider.size() > 63) wrong("/scope/provider", "must be at most 63 bytes");
    if (budget.scope.workflow_type.size() > 200) wrong("/scope/workflow_type", "must be at most 200 bytes");
    if (budget.limit.value < 1) wrong("/limit_usd", "must be more than 0; to stop work, pause it");
    if (budget.limit > domain::kMostMoney) wrong("/limit_usd", std::string(explain(domain::MoneyError::too_large)));
    if (budget.reason.size() > 1000) wrong("/reason", "must be at most 1000 bytes");
    check_window(budget, wrong);
    check_steps(budget, wrong);
    return faults;
}

}
