#include "orchestrator/budget_events.h"

#include "journal/event_store.h"
#include "platform/json_writer.h"
#include "resource_manager/budget_store.h"

namespace impresario::orchestrator {

void append_budget_event(platform::Tx& tx, const domain::BudgetId& budget, const domain::NodeId& writer,
                         std::string_view type, std::string payload) {
    const auto place = resource_manager::BudgetStore().next_seq(tx, budget);
    if (!place) return;
    domain::Event event;
    event.kind = "budget";
    event.stream = budget.value;
    event.seq = place->seq;
    // One that is for all of them is told to those who look after them all.
    event.organization_id =
        place->organization_id.empty() ? std::string(domain::kDefaultOrganization) : place->organization_id;
    event.type = type;
    event.payload = std::move(payload);
    journal::EventStore().append(tx, {event}, writer);
}

std::string step_payload(const resource_manager::BudgetState& state, const resource_manager::BudgetStep& step,
                         domain::TimePoint now) {
    const auto balance = state.counted(now);
    platform::JsonWriter json;
    json.open();
    json.field("budget", state.budget.name)
        .field("action", name(step.action))
        .field("at_percent", step.at_percent)
        .field("alert", step.alert)
        .field("settled_usd", domain::decimal(balance.settled))
        .field("reserved_usd", domain::decimal(balance.reserved))
        .field("suspense_usd", domain::decimal(balance.suspense))
        .field("limit_usd", domain::decimal(state.budget.limit));
    if (const auto turns = state.turns_at(now)) json.field("window_turns_at", domain::rfc3339(*turns));
    json.close();
    return std::move(json).text();
}

}
