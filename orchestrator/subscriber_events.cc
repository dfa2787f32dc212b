#include "orchestrator/subscriber_events.h"

#include "journal/event_store.h"
#include "journal/subscriber_store.h"
#include "platform/json_writer.h"

namespace impresario::orchestrator {

void append_subscriber_event(platform::Tx& tx, const journal::Subscriber& subscriber, const domain::NodeId& writer,
                             std::string_view type, const std::string& by, const std::string& why) {
    const auto seq = journal::next_subscriber_seq(tx, subscriber.id);
    if (!seq) return;
    platform::JsonWriter json;
    json.open();
    json.field("subscriber", subscriber.name).field("by", by).field("reason", why);
    json.close();
    domain::Event event;
    event.kind = "subscriber";
    event.stream = subscriber.id.value;
    event.seq = *seq;
    event.organization_id = subscriber.organization_id;
    event.type = type;
    event.payload = std::move(json).text();
    journal::EventStore().append(tx, {event}, writer);
}

}
