#include "api/api.h"
#include "api/lane_runs.h"
#include "api/problem.h"
#include "api/request_reader.h"
#include "api_sql.h"
#include "orchestrator/gate_store.h"
#include "orchestrator/lane_events.h"
#include "platform/gate_json.h"
#include "platform/json_writer.h"
#include "platform/memory.h"
#include "priority_queue/score.h"
#include "resource_manager/budget_store.h"
#include "subworkflows/pause_condition.h"

namespace impresario::api {

using platform::HttpResponse;
using platform::JsonWriter;
using platform::Params;
using platform::RowReader;
using platform::Task;
using platform::Tx;

Task<HttpResponse> Api::queue(Call call) {
    std::vector<FieldFault> faults;
    const int limit = page_limit(call.request, 20, 500, faults);
    const std::string type = call.request.parameter("workflow_type").value_or("");
    if (!faults.empty()) co_return invalid(faults);
    auto asked_text = node_.database().transact([organization = call.caller.organization_id, limit, type](Tx& tx) {
        JsonWriter json;
        json.open();
        json.open("lanes", '[');
        const auto depths = tx.exec(sql::queue_depths, Params().add(organization));
        for (std::size_t i = 0; i < depths.size(); ++i) {
            RowReader row(depths, i);
            json.open();
            json.field("workflow_type", row.text())
                .field("ready", row.integer())
                .field("not_due", row.integer())
                .field("gated", row.integer());
            json.field("oldest_ready_at", row.maybe_time());
            json.close();
        }
        json.close(']');
        json.open("next", '[');
        const auto rows = tx.exec(sql::queue_top, Params().add(organization).add(limit).add_or_null(type));
        for (std::size_t i = 0; i < rows.size(); ++i) {
            RowReader row(rows, i);
            json.open();
            json.field("place", i + 1).field("execution_id", row.text()).field("workflow_type", row.text());
            const int priority = row.small();
            const auto created_at = row.time();
            json.field("priority", priority)
                .field("created_at", domain::rfc3339(created_at))
                .field("ready_at", domain::rfc3339(row.time()));
            const auto score = row.integer();
            const bool starving = row.flag();
            const auto gate = row.text();
            const auto parts = priority_queue::score_parts(priority, created_at, row.time());
            json.open("score", '{');
            json.field("total", static_cast<double>(score) / static_cast<double>(priority_queue::kPoint))
                .field("priority", parts.priority)
                .field("age", parts.age)
                .field("starvation", parts.starvation);
            json.close();
            json.field("beyond_max_wait", starving);
            json.field_or_null("lane_gate", gate);
            json.close();
        }
        json.close(']');
        json.close();
        return std::move(json).text();
    });
    const auto text = co_await std::move(asked_text);
    co_return json_response(200, text);
}

namespace {

void write_api_limits(JsonWriter& json, const platform::Rows& rows) {
    json.open("api_limits", '{');
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RowReader row(rows, i);
        const auto provider = row.text();
        json.open(provider, '{');
        const auto remaining = row.maybe_integer();
        remaining ? json.field("remaining", *remaining) : json.raw("remaining", "null");
        json.field("reset_at", row.maybe_time());
        json.field("cost_today", row.text());
        json.close();
    }
    json.close();
}

/// Of the budgets by the day that all of the organization's executions fall on, the one that leaves least; without one
/// what was spent.
void write_cost_budget(JsonWriter& json, const std::vector<resource_manager::BudgetState>& budgets,
                       const std::string& organization, domain::MicroUsd spent, domain::TimePoint now) {
    const auto left = [&](const resource_manager::BudgetState& state) {
        return state.budget.limit - state.counted(now).counted();
    };
    const resource_manager::BudgetState* narrowest = nullptr;
    for (const auto& state : budgets) {
        const auto& scope = state.budget.scope;
        const bool of_all = (scope.organization_id.empty() || scope.organization_id == organization) &&
                            scope.provider.empty() && scope.workflow_type.empty() && !scope.batch;
        if (state.budget.window.unit != resource_manager::WindowUnit::day || !of_all) continue;
        if (!narrowest || left(state) < left(*narrowest)) narrowest = &state;
    }
    json.open("cost_budget", '{');
    if (narrowest) {
        json.field("used_today", domain::decimal(narrowest->counted(now).counted()))
            .field("daily_limit", domain::decimal(narrowest->budget.limit))
            .field("budget", narrowest->budget.name);
    } else {
        json.field("used_today", domain::decimal(spent)).raw("daily_limit", "null").raw("budget", "null");
    }
    json.close();
}

}

/// OrchestratorState of 003.
Task<HttpResponse> Api::state(Call call) {
    auto asked_text = node_.database().transact([organization = call.caller.organization_id,
                                                 connections = node_.database().connections(),
                                                 memory_mb = hub_.settings().memory_total_mb,
                                                 batch = hub_.batch_limit(), now = node_.clock().now()](Tx& tx) {
        const orchestrator::SchedulerStore scheduler;
        const auto shown = scheduler.read_state(tx);
        JsonWriter json;
        json.open();
        json.field("current_state", shown.state)
            .field("since", domain::rfc3339(shown.since))
            .field("why", shown.why)
            .raw("seconds_in_state", shown.seconds_in);
        json.open("scheduler", '{');
        json.field("epoch", shown.epoch).field("leading", shown.led);
        json.raw("node", shown.node ? "\"" + shown.node->text() + "\"" : "null");
        json.close();
        json.open("active_executions", '[');
        const auto active = tx.exec(sql::active_executions, Params().add(organization));
        for (std::size_t i = 0; i < active.size(); ++i) {
            RowReader row(active, i);
            json.open();
            json.field("execution_id", row.text())
                .field("workflow_type", row.text())
                .field("priority", row.small())
                .field("scheduled_at", domain::rfc3339(row.time()));
            json.field("timeout_at", domain::rfc3339(row.time()))
                .field("retry_count", row.small())
                .field("status", row.text());
            const auto context = row.text();
            json.raw("context", context.empty() ? "{}" : context);
            json.close();
        }
        json.close(']');
        std::int64_t depth = 0;
        json.open("lanes", '[');
        const auto depths = tx.exec(sql::queue_depths, Params().add(organization));
        std::map<std::string, std::int64_t> running;
        const auto by_type = tx.exec(sql::running_by_type, Params().add(organization));
        for (std::size_t i = 0; i < by_type.size(); ++i) {
            RowReader row(by_type, i);
            const auto type = row.text();
            running[type] = row.integer();
        }
        std::map<std::string, orchestrator::RecordedGate> gates;
        for (auto& gate : orchestrator::GateStore().closed(tx))
            if (gate.lane.organization_id == organization) gates[gate.lane.workflow_type] = gate;
        auto runs = lane_runs(tx, organization);
        const auto lane = [&](const std::string& type, std::int64_t ready, std::int64_t not_due, std::int64_t gated) {
            json.open();
            json.field("workflow_type", type)
                .field("ready", ready)
                .field("not_due", not_due)
                .field("gated", gated)
                .field("running", running[type]);
            const auto gate = gates.find(type);
            if (gate != gates.end()) {
                json.raw("gate", platform::gate_json(gate->second.gate))
                    .field("gate_since", domain::rfc3339(gate->second.since));
            } else {
                json.raw("gate", "null");
            }
            write_lane_runs(json, runs[type]);
            json.close();
        };
        std::set<std::string> written;
        for (std::size_t i = 0; i < depths.size(); ++i) {
            RowReader row(depths, i);
            const auto type = row.text();
            const auto ready = row.integer();
            const auto not_due = row.integer();
            const auto gated = row.integer();
            depth += ready + gated;
            written.insert(type);
            lane(type, ready, not_due, gated);
        }
        // Those that wait for nothing: what they did last, and when they will next.
        for (const auto& [type, each] : std::map(runs)) running.try_emplace(type, 0);
        for (const auto& [type, count] : std::map(running))
            if (!written.contains(type)) lane(type, 0, 0, 0);
        json.close(']');
        json.field("queue_depth", depth);
        const auto today = tx.exec(sql::counts_today, Params().add(organization));
        RowReader counts(today, 0);
        json.open("today", '{');
        json.field("completed", counts.integer())
            .field("failed", counts.integer())
            .field("dead", counts.integer())
            .field("cancelled", counts.integer())
            .field("enqueued", counts.integer());
        const domain::MicroUsd spent{counts.integer()};
        json.field("spent_usd", domain::decimal(spent)).close();
        json.open("resource_status", '{');
        write_api_limits(json, tx.exec(sql::api_limits, Params().add(organization)));
        json.open("database", '{');
        const auto connected = tx.exec(sql::connections);
        json.field("active_connections", RowReader(connected, 0).integer())
            .field("pool_size", connections)
            .field("max_connections", 20)
            .field("batch_limit", batch)
            .close();
        json.open("memory", '{');
        const auto reserved = tx.exec(sql::reserved_memory);
        json.field("reserved_mb", RowReader(reserved, 0).integer()).field("limit_mb", memory_mb);
        json.field("used_mb", platform::resident_mb())
            .field("available_mb", sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE) / 1048576)
            .close();
        write_cost_budget(json, resource_manager::BudgetStore().load(tx, now), organization, spent, now);
        json.close();
        json.field("last_execution", shown.last_execution);
        json.field("next_scheduled", shown.next_scheduled);
        json.close();
        return std::move(json).text();
    });
    const auto text = co_await std::move(asked_text);
    co_return json_response(200, text);
}

Task<HttpResponse> Api::nodes(Call) {
    auto asked_nodes = node_.database().read([](Tx& tx) { return orchestrator::SchedulerStore().nodes(tx); });
    const auto nodes = co_await std::move(asked_nodes);
    JsonWriter json;
    json.open();
    json.open("nodes", '[');
    for (const auto& node : nodes) {
        json.open();
        json.field("node", node.node.text())
            .field("name", node.name)
            .field("hub_version", node.hub_version)
            .field("state", node.state)
            .field("scheduler", node.scheduler);
        json.field("started_at", domain::rfc3339(node.started_at))
            .field("heartbeat_at", domain::rfc3339(node.heartbeat_at))
            .field("lease_until", domain::rfc3339(node.lease_until));
        json.close();
    }
    json.close(']');
    json.close();
    co_return json_response(200, std::move(json).text());
}

Task<HttpResponse> Api::pauses(Call call) {
    JsonWriter json;
    json.open();
    json.open("pauses", '[');
    const auto catalogue = node_.catalogue();
    for (const auto& pause : catalogue->pauses) {
        if (!pause.organization_id.empty() && pause.organization_id != call.caller.organization_id) continue;
        json.open();
        json.field_or_null("workflow_type", pause.workflow_type);
        json.field("reason", pause.reason).field("by", pause.by).field("since", domain::rfc3339(pause.since));
        json.field("until", pause.until);
        json.field_or_null("provider", pause.provider);
        json.field_or_null("until_condition", pause.condition);
        json.close();
    }
    json.close(']');
    json.close();
    co_return json_response(200, std::move(json).text());
}

namespace {
struct PauseRequest {
    subworkflows::PauseRecord record;
    /// Until the window of this budget turns; empty: of none.
    std::string budget;
    std::vector<FieldFault> faults;
};

PauseRequest read_pause(const Call& call, const subworkflows::Catalogue& catalogue, bool pausing) {
    PauseRequest request;
    request.record.organization_id = call.caller.organization_id;
    request.record.by = call.caller.name;
    if (call.request.body.empty()) return request;
    BodyReader body(call.request.body);
    request.record.workflow_type = body.text("workflow_type");
    if (!request.record.workflow_type.empty() && pausing &&
        !catalogue.find({call.caller.organization_id, request.record.workflow_type}))
        body.wrong("workflow_type", "is not a registered workflow type");
    auto& record = request.record;
    record.provider = body.text("provider");
    if (!record.provider.empty() && !record.workflow_type.empty())
        body.wrong("provider", "and workflow_type are two pauses");
    if (pausing) {
        if (!record.provider.empty() && std::none_of(catalogue.types.begin(), catalogue.types.end(),
                                                     [&](const auto& each) { return record.covers(each.second); }))
            body.wrong("provider", "is called by no workflow type (call_estimates)");
        record.reason = body.text("reason", 500);
        record.until = body.time("until");
        record.condition = body.text("until_condition");
        const auto condition = subworkflows::parse_pause_condition(record.condition);
        if (!record.condition.empty() && !condition)
            body.wrong("until_condition", "must be endpoints_healthy, or queue_below: and a number from 1");
        if (condition && condition->kind == subworkflows::PauseCondition::Kind::queue_below &&
            record.workflow_type.empty() && record.provider.empty())
            body.wrong("until_condition", "counts what waits in other lanes, and this pause leaves none");
        request.budget = body.text("until_budget");
        if (!request.budget.empty() && record.until) body.wrong("until_budget", "and until are two times");
    }
    body.nothing_else();
    request.faults = body.faults();
    return request;
}
}

/// Without a workflow_type everything of the organization is paused.
Task<HttpResponse> Api::pause(Call call) {
    if (!call.request.body.empty())
        if (auto refused = BodyReader::refuse_body(call.request.body)) co_return *std::move(refused);
    auto request = read_pause(call, *node_.catalogue(), true);
    if (!request.faults.empty()) co_return invalid(request.faults);
    if (!request.budget.empty()) {
        auto asked_turn = node_.database().transact([name = request.budget, organization = call.caller.organization_id,
                                                     now = node_.clock().now()](Tx& tx) {
            for (const auto& state : resource_manager::BudgetStore().load(tx, now))
                if (state.budget.name == name &&
                    (state.budget.scope.organization_id.empty() || state.budget.scope.organization_id == organization))
                    return state.turns_at(now);
            return std::optional<domain::TimePoint>();
        });
        request.record.until = co_await std::move(asked_turn);
        if (!request.record.until)
            co_return invalid({{"/until_budget", "is no budget whose window turns; GET /v1/budgets lists them"}});
    }
    auto pausing = node_.database().transact([this, record = request.record, catalogue = node_.catalogue()](Tx& tx) {
        node_.catalogue_store().pause(tx, record);
        orchestrator::tell_lanes(tx, node_.catalogue_store(), *catalogue, record, node_.id(),
                                 domain::event::lane_paused);
    });
    co_await std::move(pausing);
    co_await node_.refresh_catalogue();
    hub_.wake();
    co_return json_response(200, "{\"ok\":true,\"paused\":true}");
}

Task<HttpResponse> Api::resume(Call call) {
    if (!call.request.body.empty())
        if (auto refused = BodyReader::refuse_body(call.request.body)) co_return *std::move(refused);
    auto request = read_pause(call, *node_.catalogue(), false);
    if (!request.faults.empty()) co_return invalid(request.faults);
    auto asked_was = node_.database().transact([this, record = request.record, catalogue = node_.catalogue()](Tx& tx) {
        const bool paused = node_.catalogue_store().resume(tx, record);
        if (paused)
            orchestrator::tell_lanes(tx, node_.catalogue_store(), *catalogue, record, node_.id(),
                                     domain::event::lane_resumed);
        return paused;
    });
    const bool was = co_await std::move(asked_was);
    co_await node_.refresh_catalogue();
    hub_.wake();
    co_return json_response(200, std::string("{\"ok\":true,\"was_paused\":") + (was ? "true" : "false") + "}");
}

}
