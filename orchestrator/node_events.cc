#include "orchestrator/node_events.h"

#include "journal/event_store.h"
#include "orchestrator/scheduler_store.h"

namespace impresario::orchestrator {

void append_node_event(platform::Tx& tx, const domain::NodeId& node, std::string_view type, std::string payload) {
    const auto seq = SchedulerStore().next_node_seq(tx, node);
    if (!seq) return;
    domain::Event event;
    event.kind = "node";
    event.stream = node.value;
    event.seq = *seq;
    event.organization_id = domain::kDefaultOrganization;
    event.type = type;
    event.payload = std::move(payload);
    journal::EventStore().append(tx, {event}, node);
}

}
