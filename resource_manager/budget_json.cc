#include "resource_manager/budget_json.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "platform/definition_json.h"
#include "platform/json_text.h"

namespace impresario::resource_manager {

using domain::DefinitionFaults;
using nlohmann::json;
using platform::DefinitionReader;

namespace {

constexpr std::array<std::string_view, 7> kWeekdays{"monday", "tuesday",  "wednesday", "thursday",
                                                    "friday", "saturday", "sunday"};

/// From its digits. A limit is not rounded: finer than a micro-dollar is refused.
void read_limit(DefinitionReader& members, std::string_view body, Budget& budget) {
    // Until it is read it is no fault of its own that there is none.
    budget.limit = domain::MicroUsd{1};
    if (!members.has("limit_usd")) return members.wrong("limit_usd", "is missing");
    const auto raw = platform::json_at(body, "/limit_usd");
    const auto type = platform::json_type(*raw);
    if (type != platform::JsonType::number && type != platform::JsonType::string)
        return members.wrong("limit_usd", "must be a decimal number or a string of one");
    const auto parsed = domain::parse_money(platform::json_string(*raw));
    if (!parsed) return members.wrong("limit_usd", std::string(domain::explain(parsed.error())));
    if (parsed->rounded_up) return members.wrong("limit_usd", "must not be finer than 0.000001");
    budget.limit = parsed->amount;
}

void read_scope(const json& value, BudgetScope& scope, DefinitionFaults& faults) {
    if (!value.is_object()) {
        faults.push_back({"/scope", "must be an object"});
        return;
    }
    DefinitionReader members(value, "/scope", faults);
    members.text("organization_id", scope.organization_id);
    members.text("provider", scope.provider);
    members.text("workflow_type", scope.workflow_type);
    std::string batch;
    members.text("batch_id", batch);
    if (!batch.empty()) {
        scope.batch = domain::BatchId::parse(batch);
        if (!scope.batch) members.wrong("batch_id", "must be a UUID");
    }
    members.nothing_else();
}

void read_unit(DefinitionReader& members, const char* member, const std::string& text, WindowRule& rule) {
    if (const auto unit = parse_window_unit(text)) {
        rule.unit = *unit;
    } else {
        members.wrong(member, "must be day, week, month, rolling or batch");
    }
}

/// What says nothing about its unit is a fault, not passed over: somebody meant something by it.
void read_window(const json& value, WindowRule& rule, DefinitionFaults& faults) {
    DefinitionReader members(value, "/window", faults);
    std::string unit;
    members.text("unit", unit);
    read_unit(members, "unit", unit, rule);
    const bool calendar = rule.unit != WindowUnit::rolling && rule.unit != WindowUnit::batch;
    members.text("time_zone", rule.zone);
    members.whole("reset_hour", rule.reset_hour);
    if (!calendar && members.has("reset_hour")) members.wrong("reset_hour", "is for a day, week or month");
    if (const json* weekday = members.find("first_weekday")) {
        const auto* text = weekday->is_string() ? &weekday->get_ref<const std::string&>() : nullptr;
        const auto found = text ? std::find(kWeekdays.begin(), kWeekdays.end(), *text) : kWeekdays.end();
        if (found == kWeekdays.end()) members.wrong("first_weekday", "must be monday, tuesday … or sunday");
        if (found != kWeekdays.end()) rule.first_weekday = static_cast<int>(found - kWeekdays.begin()) + 1;
        if (rule.unit != WindowUnit::week) members.wrong("first_weekday", "is for a week");
    }
    members.whole("hours", rule.hours);
    if (rule.unit != WindowUnit::rolling && members.has("hours")) members.wrong("hours", "is for a rolling window");
    if (rule.unit == WindowUnit::rolling && !members.has("hours")) members.wrong("hours", "is missing");
    members.nothing_else();
}

void only_for(DefinitionReader& members, const char* member, const BudgetStep& step, BudgetAction action) {
    if (members.has(member) && step.action != action) members.wrong(member, "is for " + std::string(name(action)));
}

std::vector<BudgetStep> read_steps(const json& value, DefinitionFaults& faults) {
    std::vector<BudgetStep> steps;
    if (!value.is_array()) {
        faults.push_back({"/steps", "must be an array"});
        return steps;
    }
    for (std::size_t i = 0; i < value.size(); ++i) {
        const std::string at = "/steps/" + std::to_string(i);
        if (!value[i].is_object()) {
            faults.push_back({at, "must be an object"});
            continue;
        }
        DefinitionReader members(value[i], at, faults);
        BudgetStep step;
        if (!members.has("at_percent")) members.wrong("at_percent", "is missing");
        members.whole("at_percent", step.at_percent);
        step.undone_below_percent = std::max(1, step.at_percent - 5);
        members.whole("undone_below_percent", step.undone_below_percent);
        std::string action;
        members.text("action", action);
        if (const auto known = parse_budget_action(action)) {
            step.action = *known;
        } else {
            members.wrong("action",
                          "must be alert, defer_low_priority, smaller_batches, cheaper_variant, off_peak_hours, "
                          "pause_non_critical, ask_human or stop");
        }
        members.flag("alert", step.alert);
        members.whole("below_priority", step.below_priority);
        only_for(members, "below_priority", step, BudgetAction::defer_low_priority);
        members.whole("batch_percent", step.batch_percent);
        only_for(members, "batch_percent", step, BudgetAction::smaller_batches);
        members.whole("from_hour", step.from_hour);
        only_for(members, "from_hour", step, BudgetAction::off_peak_hours);
        members.whole("to_hour", step.to_hour);
        only_for(members, "to_hour", step, BudgetAction::off_peak_hours);
        members.nothing_else();
        steps.push_back(step);
    }
    return steps;
}

json step_tree(const BudgetStep& step) {
    json one{{"at_percent", step.at_percent},
             {"undone_below_percent", step.undone_below_percent},
             {"action", name(step.action)},
             {"alert", step.alert}};
    if (step.action == BudgetAction::defer_low_priority) one["below_priority"] = step.below_priority;
    if (step.action == BudgetAction::smaller_batches) one["batch_percent"] = step.batch_percent;
    if (step.action == BudgetAction::off_peak_hours) {
        one["from_hour"] = step.from_hour;
        one["to_hour"] = step.to_hour;
    }
    return one;
}

json steps_tree(const std::vector<BudgetStep>& steps) {
    json all = json::array();
    for (const auto& step : steps) all.push_back(step_tree(step));
    return all;
}

json text_or_null(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

json definition_tree(const Budget& budget) {
    json scope{{"organization_id", text_or_null(budget.scope.organization_id)},
               {"provider", text_or_null(budget.scope.provider)},
               {"workflow_type", text_or_null(budget.scope.workflow_type)},
               {"batch_id", nullptr}};
    if (budget.scope.batch) scope["batch_id"] = budget.scope.batch->text();
    const auto& rule = budget.window;
    json window{{"unit", name(rule.unit)}, {"time_zone", rule.zone}};
    if (rule.unit == WindowUnit::rolling) {
        window["hours"] = rule.hours;
    } else if (rule.unit != WindowUnit::batch) {
        window["reset_hour"] = rule.reset_hour;
    }
    if (rule.unit == WindowUnit::week)
        window["first_weekday"] = kWeekdays[static_cast<std::size_t>(rule.first_weekday - 1)];
    return {{"name", budget.name},         {"scope", std::move(scope)},
            {"window", std::move(window)}, {"limit_usd", domain::decimal(budget.limit)},
            {"hard", budget.hard},         {"steps", steps_tree(budget.steps)}};
}

}

domain::Result<Budget, DefinitionFaults> parse_budget(std::string_view text, const domain::BudgetId& id,
                                                      const std::string& organization, const std::string& name) {
    DefinitionFaults faults;
    const json body = platform::definition_tree(text, faults);
    if (!faults.empty()) return faults;
    DefinitionReader members(body, "", faults);
    Budget budget;
    budget.id = id;
    budget.scope.organization_id = organization;
    budget.name = name;
    members.text("name", budget.name);
    if (!name.empty() && budget.name != name) members.wrong("name", "must be the name in the address");
    members.text("reason", budget.reason);
    members.flag("hard", budget.hard);
    read_limit(members, text, budget);
    if (const json* scope = members.find("scope")) read_scope(*scope, budget.scope, faults);
    if (const json* window = members.find("window")) {
        if (window->is_string()) {
            read_unit(members, "window", window->get<std::string>(), budget.window);
            if (budget.window.unit == WindowUnit::rolling)
                members.wrong("window", "rolling needs an object with unit and hours");
        } else if (window->is_object()) {
            read_window(*window, budget.window, faults);
        } else {
            members.wrong("window", "must be day, week, month, batch, or an object with unit");
        }
    } else {
        members.wrong("window", "is missing: day, week, month, batch, or an object with unit");
    }
    if (const json* steps = members.find("steps")) budget.steps = read_steps(*steps, faults);
    // What the hub shows may be sent back and is passed over.
    for (const char* shown : {"budget_id", "version", "updated_at", "updated_by", "state", "warnings"})
        members.find(shown);
    members.nothing_else();
    for (auto& fault : check(budget)) faults.push_back(std::move(fault));
    if (!faults.empty()) return faults;
    return budget;
}

std::string definition_json(const Budget& budget) { return definition_tree(budget).dump(); }

std::string budget_json(const Budget& budget) {
    json all = definition_tree(budget);
    all["budget_id"] = budget.id.text();
    all["version"] = budget.version;
    all["updated_at"] = domain::rfc3339(budget.updated_at);
    all["updated_by"] = budget.updated_by;
    all["reason"] = budget.reason;
    return all.dump();
}

std::string steps_json(const std::vector<BudgetStep>& steps) { return steps_tree(steps).dump(); }

std::vector<BudgetStep> stored_steps(std::string_view text) {
    // The same few are read at each start and end.
    constexpr std::size_t kMostKnown = 1000;
    thread_local std::map<std::string, std::vector<BudgetStep>, std::less<>> known;
    if (const auto at = known.find(text); at != known.end()) return at->second;
    DefinitionFaults unread;
    const json value = json::parse(text, nullptr, false);
    auto steps = value.is_array() ? read_steps(value, unread) : std::vector<BudgetStep>{BudgetStep{}};
    if (known.size() >= kMostKnown) known.clear();
    return known.emplace(text, std::move(steps)).first->second;
}

}
