#include "orchestrator/queued_event.h"

#include <utility>

#include "domain/time.h"
#include "platform/json_writer.h"

namespace impresario::orchestrator {

domain::Event queued_event(const domain::Execution& execution) {
    domain::Event event;
    event.stream = execution.id.value;
    event.seq = 1;
    event.organization_id = execution.lane.organization_id;
    event.type = domain::event::queued;
    platform::JsonWriter json;
    json.open();
    json.field("priority", execution.priority).field("scheduled_at", domain::rfc3339(execution.scheduled_at));
    if (execution.batch) json.field("batch_id", execution.batch->text());
    if (execution.parent) json.field("retry_of", execution.parent->text());
    json.close();
    event.payload = std::move(json).text();
    return event;
}

}
