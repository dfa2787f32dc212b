#include "alerts/alertmanager_message.h"

#include "platform/json_writer.h"

namespace impresario::alerts {

using platform::JsonWriter;

std::string alertmanager_message(const Message& message, domain::Duration valid_for) {
    JsonWriter json;
    json.open('[');
    const auto add = [&](const Alert& alert) {
        const bool fires = alert.firing(message.at);
        json.open('{')
            .raw("labels", labels_json(alert.labels))
            .raw("annotations", labels_json(annotations_of(message, alert)))
            .field("startsAt", alert.since)
            .field("endsAt", fires ? domain::saturating_add(message.at, valid_for) : *alert.ends_at)
            .field("generatorURL", absolute_link(message.hub_url, alert.link))
            .close();
    };
    for (const auto& alert : message.firing) add(alert);
    for (const auto& alert : message.resolved) add(alert);
    json.close(']');
    return std::move(json).text();
}

}
