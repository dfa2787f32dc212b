#include "api/execution_json.h"

#include "domain/limit_keys.h"
#include "domain/need_amounts.h"
#include "platform/gate_json.h"
#include "platform/json_writer.h"

namespace impresario::api {

using platform::JsonWriter;

namespace {
template <class IdType>
void id_field(JsonWriter& json, std::string_view key, const std::optional<IdType>& id) {
    if (id) {
        json.field(key, id->text());
    } else {
        json.raw(key, "null");
    }
}

/// Why it does not run: its own gate first, then its lane's.
void waiting(JsonWriter& json, const ExecutionView& view) {
    const auto& e = view.execution;
    if (terminal(e.status) || e.holds_slot() || e.open_children > 0) {
        json.raw("waiting_for", "null");
    } else if (e.due_at) {
        domain::Gate gate{domain::GateKind::not_due,
                          e.status == domain::Status::retrying ? "retry" : "scheduled_at",
                          "",
                          {},
                          e.due_at};
        gate.detail = e.status == domain::Status::retrying ? "its next try comes at " + domain::rfc3339(*e.due_at)
                                                           : "it is scheduled for " + domain::rfc3339(*e.due_at);
        json.raw("waiting_for", platform::gate_json(gate));
    } else if (e.gate) {
        json.raw("waiting_for", platform::gate_json(*e.gate));
        json.field("waiting_since", e.gate_since);
    } else if (view.lane_gate) {
        json.raw("waiting_for", platform::gate_json(view.lane_gate->gate));
        json.field("waiting_since", domain::rfc3339(view.lane_gate->since));
    } else {
        json.raw("waiting_for", "null");
    }
}
}

std::string execution_json(const ExecutionView& view) {
    const auto& e = view.execution;
    JsonWriter json;
    json.open();
    json.field("execution_id", e.id.text())
        .field("organization_id", e.lane.organization_id)
        .field("workflow_type", e.lane.workflow_type)
        .field("status", e.foreign_status.empty() ? name(e.status) : std::string_view(e.foreign_status))
        .field("priority", e.priority);
    json.field_or_null("reason", e.reason);
    json.field("created_at", domain::rfc3339(e.created_at)).field("scheduled_at", domain::rfc3339(e.scheduled_at));
    json.field("ready_at", e.ready_at);
    json.field("due_at", e.due_at);
    json.field("started_at", e.started_at);
    json.field("completed_at", e.completed_at);
    json.field("timeout_at", e.timeout_at);
    json.field("retry_count", e.retry_count)
        .field("max_retries", e.max_retries)
        .field("attempts", e.attempts)
        .field("opening", e.opening);
    id_field(json, "batch_id", e.batch);
    id_field(json, "parent_execution_id", e.parent);
    json.field("open_children", e.open_children);
    json.field_or_null("concurrency_key", e.concurrency_key);
    json.open("needs_from_input", '[');
    const auto amounts = domain::parse_need_amounts(e.need_amounts);
    for (const auto& each : amounts) {
        json.open();
        json.field("provider", each.provider).field("of", name(each.part));
        if (each.part == domain::NeedPart::cost) {
            json.field("amount", domain::decimal({each.amount}));
        } else {
            json.field("amount", each.amount);
        }
        json.close();
    }
    json.close(']');
    json.open("limit_keys", '[');
    const auto keys = domain::parse_limit_keys(e.limit_keys);
    for (const auto& each : keys) {
        json.open();
        json.field("pointer", each.pointer).field("value", each.value);
        json.close();
    }
    json.close(']');
    waiting(json, view);
    if (e.attempt) {
        json.open("attempt", '{');
        json.field("number", e.attempt->number)
            .field("attempt_id", e.attempt->id.text())
            .field("state", name(e.attempt->state))
            .field("deliveries", e.attempt->deliveries)
            .field("node", e.attempt->node.text())
            .field("endpoint_id", e.attempt->endpoint.text())
            .field("granted_at", domain::rfc3339(e.attempt->granted_at));
        json.field("accepted_at", e.attempt->accepted_at);
        json.close();
    } else {
        json.raw("attempt", "null");
    }
    json.open("metrics", '{');
    json.field("duration_ms", e.duration_ms).field("items_processed", e.items_processed);
    // With what the live attempt says it has cost so far.
    const auto cost = e.attempt && e.attempt->cost ? e.cost.value_or(domain::MicroUsd{}) + *e.attempt->cost : e.cost;
    if (cost) {
        json.field("cost_usd", domain::decimal(*cost));
    } else {
        json.raw("cost_usd", "null");
    }
    json.close();
    json.raw("progress", e.progress);
    if (view.payload)
        json.raw("input", view.payload->input)
            .raw("context", view.payload->context.empty() ? "{}" : view.payload->context);
    if (view.result) {
        json.raw("result_data", view.result->result_data)
            .raw("error_data", view.result->error_data)
            .raw("items", view.result->items);
        json.field("sanitised", view.result->sanitised);
        json.field_or_null("peer_reference", view.result->peer_reference);
    } else if (view.payload) {
        json.raw("result_data", "null").raw("error_data", "null").raw("items", "null");
    }
    json.close();
    return std::move(json).text();
}

}
