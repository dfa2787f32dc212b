// Budgets: what may be spent, what is, and what a change of it would do.
#include "api/api.h"
#include "api/definition_versions.h"
#include "api/definition_warnings.h"
#include "api/problem.h"
#include "api/request_reader.h"
#include "api/waiting_lanes.h"
#include "orchestrator/budget_events.h"
#include "platform/gate_json.h"
#include "platform/json_writer.h"
#include "platform/writer.h"
#include "resource_manager/budget_json.h"
#include "resource_manager/budget_preview.h"
#include "resource_manager/budget_store.h"

namespace impresario::api {

using platform::HttpResponse;
using platform::JsonWriter;
using platform::Task;
using platform::Tx;
using resource_manager::Budget;
using resource_manager::BudgetState;
using resource_manager::BudgetStore;

namespace {

/// One that is for all organizations is the business of those of `default`.
bool may_see(const Caller& caller, const Budget& budget) {
    const auto& whose = budget.scope.organization_id;
    return whose == caller.organization_id || (whose.empty() && caller.looks_after_all());
}

bool may_set(const Caller& caller, const Budget& budget) {
    return budget.scope.organization_id == caller.organization_id || caller.looks_after_all();
}

/// Its own organization's before one for all.
const BudgetState* find(const std::vector<BudgetState>& states, const Caller& caller, const std::string& name) {
    const BudgetState* found = nullptr;
    for (const auto& state : states)
        if (state.budget.name == name && may_see(caller, state.budget) &&
            (!found || found->budget.scope.organization_id.empty()))
            found = &state;
    return found;
}

HttpResponse no_such_budget() {
    return problem(404, "not-found", "there is no such budget; GET /v1/budgets lists them");
}

void write_state(JsonWriter& json, const BudgetState& state, domain::TimePoint now) {
    const auto balance = state.counted(now);
    const auto headroom = state.budget.limit - balance.counted();
    const auto outlook = forecast(state, now);
    json.open("state", '{');
    json.field("settled_usd", domain::decimal(balance.settled))
        .field("reserved_usd", domain::decimal(balance.reserved))
        .field("suspense_usd", domain::decimal(balance.suspense))
        .field("headroom_usd", domain::decimal(std::max(domain::MicroUsd{}, headroom)));
    json.open("steps_on", '[');
    for (std::size_t i = 0; i < std::min(state.steps_on, state.budget.steps.size()); ++i)
        json.element(platform::json_quoted(name(state.budget.steps[i].action)));
    json.close(']');
    json.field("window_turns_at", state.turns_at(now));
    json.field("forecast_usd", domain::decimal(outlook.at_end));
    json.field("limit_reached_at", outlook.reached_at);
    json.field("approved_until", state.approved_until);
    json.close();
}

std::string shown(const BudgetState& state, domain::TimePoint now) {
    // The definition's own members and one more.
    std::string text = resource_manager::budget_json(state.budget);
    JsonWriter json;
    json.open();
    write_state(json, state, now);
    json.close();
    text.back() = ',';
    return text + std::move(json).text().substr(1);
}

std::string preview_json(const std::optional<BudgetState>& before, const BudgetState& after,
                         const std::vector<resource_manager::WaitingLane>& lanes, domain::TimePoint now) {
    JsonWriter json;
    json.open();
    json.field("budget", after.budget.name);
    json.raw("before", before ? shown(*before, now) : "null");
    json.raw("after", shown(after, now));
    json.open("lanes", '[');
    for (const auto& line : resource_manager::preview(before, after, lanes, now)) {
        json.open();
        json.field("organization_id", line.lane.organization_id)
            .field("workflow_type", line.lane.workflow_type)
            .field("waiting", line.waiting)
            .field("each_usd", domain::decimal(line.each))
            .field("fit_before", line.fit_before)
            .field("fit_after", line.fit_after);
        json.raw("gate_before", line.before ? platform::gate_json(*line.before) : "null");
        json.raw("gate_after", line.after ? platform::gate_json(*line.after) : "null");
        json.close();
    }
    json.close(']');
    json.close();
    return std::move(json).text();
}

std::string reason_payload(const Caller& caller, const std::string& reason) {
    JsonWriter json;
    json.open();
    json.field("by", caller.name).field("reason", reason);
    json.close();
    return std::move(json).text();
}

}

Task<HttpResponse> Api::list_budgets(Call call) {
    auto asked = node_.database().read([now = node_.clock().now()](Tx& tx) { return BudgetStore().load(tx, now); });
    const auto states = co_await std::move(asked);
    const auto now = node_.clock().now();
    JsonWriter json;
    json.open();
    json.open("budgets", '[');
    for (const auto& state : states)
        if (may_see(call.caller, state.budget)) json.element(shown(state, now));
    json.close(']');
    json.close();
    co_return json_response(200, std::move(json).text());
}

Task<HttpResponse> Api::get_budget(Call call) {
    auto asked = node_.database().read([now = node_.clock().now()](Tx& tx) { return BudgetStore().load(tx, now); });
    const auto states = co_await std::move(asked);
    const auto* state = find(states, call.caller, call.path["name"]);
    if (!state) co_return no_such_budget();
    co_return json_response(200, shown(*state, node_.clock().now()));
}

Task<HttpResponse> Api::put_budget(Call call) {
    const auto now = node_.clock().now();
    auto budget = resource_manager::parse_budget(call.request.body, node_.ids().make<domain::BudgetId>(now),
                                                 call.caller.organization_id, call.path["name"]);
    if (!budget) co_return invalid(budget.error());
    if (!may_set(call.caller, *budget))
        co_return problem(403, "forbidden",
                          "a budget for another organization, or for all of them, is set with an admin key of the "
                          "organization default");
    budget->updated_by = call.caller.name;
    struct Put {
        std::optional<BudgetState> state;
        bool created = false;
    };
    auto putting = node_.database().transact([made = *std::move(budget), caller = call.caller, now,
                                              writer = node_.id()](Tx& tx) mutable {
        const BudgetStore store;
        platform::write_as(tx, writer);
        Put put;
        const auto before = store.load(tx, now);
        const auto same = [&](const BudgetState& state) {
            return state.budget.name == made.name && state.budget.scope.organization_id == made.scope.organization_id;
        };
        const auto known = std::find_if(before.begin(), before.end(), same);
        put.created = known == before.end();
        if (!put.created) made.id = known->budget.id;
        if (!store.put(tx, made)) return put;
        orchestrator::append_budget_event(tx, made.id, writer, domain::event::budget_changed,
                                          reason_payload(caller, made.reason));
        const auto after = store.load(tx, now);
        for (const auto& state : after)
            if (state.budget.id == made.id) put.state = state;
        return put;
    });
    const auto put = co_await std::move(putting);
    if (!put.state) co_return problem(409, "retired", "the budget was retired just now; try again");
    co_await node_.refresh_catalogue();
    hub_.wake();
    const auto warnings = warnings_of(put.state->budget, *node_.catalogue(), *node_.providers());
    co_return json_response(put.created ? 201 : 200, with_warnings(shown(*put.state, now), warnings));
}

/// What would be so if it were put. Nothing is changed.
Task<HttpResponse> Api::preview_budget(Call call) {
    const auto now = node_.clock().now();
    auto budget = resource_manager::parse_budget(call.request.body, {}, call.caller.organization_id, call.path["name"]);
    if (!budget) co_return invalid(budget.error());
    if (!may_set(call.caller, *budget))
        co_return problem(403, "forbidden",
                          "a budget for another organization is looked at with an admin key of the "
                          "organization default");
    struct Read {
        std::vector<BudgetState> budgets;
        std::vector<resource_manager::WaitingLane> lanes;
    };
    auto asked = node_.database().read([now, catalogue = node_.catalogue(), unknown = hub_.unknown_cost()](Tx& tx) {
        return Read{BudgetStore().load(tx, now), waiting_lanes(tx, *catalogue, unknown)};
    });
    const auto read = co_await std::move(asked);
    std::optional<BudgetState> before;
    for (const auto& state : read.budgets)
        if (state.budget.name == budget->name && state.budget.scope.organization_id == budget->scope.organization_id)
            before = state;
    BudgetState fresh;
    fresh.budget = *budget;
    const auto after = resource_manager::redefined(before.value_or(fresh), *budget, now);

    co_return json_response(200, with_warnings(preview_json(before, after, read.lanes, now),
                                               warnings_of(*budget, *node_.catalogue(), *node_.providers())));
}

/// What would be so if it were reset. Nothing is changed.
Task<HttpResponse> Api::preview_budget_reset(Call call) {
    const auto now = node_.clock().now();
    struct Read {
        std::vector<BudgetState> budgets;
        std::vector<resource_manager::WaitingLane> lanes;
    };
    auto asked = node_.database().read([now, catalogue = node_.catalogue(), unknown = hub_.unknown_cost()](Tx& tx) {
        return Read{BudgetStore().load(tx, now), waiting_lanes(tx, *catalogue, unknown)};
    });
    const auto read = co_await std::move(asked);
    const auto* before = find(read.budgets, call.caller, call.path["name"]);
    if (!before) co_return no_such_budget();
    BudgetState after;
    after.budget = before->budget;
    co_return json_response(200, preview_json(*before, after, read.lanes, now));
}

Task<HttpResponse> Api::retire_budget(Call call) {
    auto reset = change_budget(std::move(call), false);
    co_return co_await std::move(reset);
}

/// Nothing counts as spent any more: it goes on under a new id. What is under way counts for it when it is settled.
Task<HttpResponse> Api::reset_budget(Call call) {
    auto reset = change_budget(std::move(call), true);
    co_return co_await std::move(reset);
}

Task<HttpResponse> Api::change_budget(Call call, bool again) {
    auto said = read_by_hand(call.request.body, 1000);
    if (said.refused) co_return *std::move(said.refused);
    struct Changed {
        bool found = false;
        bool allowed = true;
        std::optional<BudgetState> state;
    };
    const auto now = node_.clock().now();
    auto changing =
        node_.database().transact([caller = call.caller, name = call.path["name"], reason = said.reason, again, now,
                                   fresh = node_.ids().make<domain::BudgetId>(now), writer = node_.id()](Tx& tx) {
            const BudgetStore store;
            platform::write_as(tx, writer);
            Changed changed;
            const auto states = store.load(tx, now);
            const auto* state = find(states, caller, name);
            if (!state) return changed;
            changed.found = true;
            changed.allowed = may_set(caller, state->budget);
            if (!changed.allowed) return changed;
            store.retire(tx, state->budget.id, caller.name, reason);
            orchestrator::append_budget_event(tx, state->budget.id, writer, domain::event::budget_retired,
                                              reason_payload(caller, reason));
            if (!again) return changed;
            BudgetState next;
            next.budget = state->budget;
            next.budget.id = fresh;
            next.budget.updated_at = now;
            next.budget.updated_by = caller.name;
            next.budget.reason = reason.empty() ? "reset" : reason;
            next.budget.version = store.put(tx, next.budget).value_or(1);
            orchestrator::append_budget_event(tx, fresh, writer, domain::event::budget_changed,
                                              reason_payload(caller, next.budget.reason));
            changed.state = next;
            return changed;
        });
    const auto changed = co_await std::move(changing);
    if (!changed.found) co_return no_such_budget();
    co_await node_.refresh_catalogue();
    hub_.wake();
    if (again) co_return json_response(200, shown(*changed.state, now));
    HttpResponse response;
    response.status = 204;
    co_return response;
}

/// Somebody takes it on themselves to go on, until then or until the window turns.
Task<HttpResponse> Api::approve_budget(Call call) {
    const auto now = node_.clock().now();
    auto said = read_by_hand(call.request.body, 1000, now);
    if (said.refused) co_return *std::move(said.refused);
    auto approving = node_.database().transact([caller = call.caller, name = call.path["name"], until = said.until,
                                                reason = said.reason, now,
                                                writer = node_.id()](Tx& tx) -> std::optional<BudgetState> {
        const BudgetStore store;
        const auto states = store.load(tx, now);
        const auto* found = find(states, caller, name);
        if (!found) return std::nullopt;
        BudgetState state = *found;
        const auto last = until ? *until : state.turns_at(now).value_or(now + std::chrono::hours{24});
        store.approve(tx, state.budget.id, last, caller.name);
        state.approved_until = last;
        JsonWriter json;
        json.open();
        json.field("by", caller.name).field("reason", reason).field("until", domain::rfc3339(last));
        json.close();
        orchestrator::append_budget_event(tx, state.budget.id, writer, domain::event::budget_approved,
                                          std::move(json).text());
        return state;
    });
    const auto state = co_await std::move(approving);
    if (!state) co_return no_such_budget();
    hub_.wake();
    co_return json_response(200, shown(*state, now));
}

Task<HttpResponse> Api::budget_versions(Call call) {
    auto asked = node_.database().read([caller = call.caller, name = call.path["name"]](Tx& tx) {
        return BudgetStore().versions(tx, name, caller.organization_id, caller.looks_after_all());
    });
    const auto versions = co_await std::move(asked);
    if (versions.empty()) co_return no_such_budget();
    co_return json_response(200, versions_json(versions, "definition"));
}

}
