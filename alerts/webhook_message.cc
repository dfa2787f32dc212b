#include "alerts/webhook_message.h"

#include "platform/json_writer.h"

namespace impresario::alerts {

using platform::JsonWriter;

namespace {

constexpr std::size_t kLongestBody = 256 * 1024;

}

std::string alert_json(const Message& message, const Alert& alert) {
    JsonWriter json;
    json.open()
        .field("status", alert.firing(message.at) ? "firing" : "resolved")
        .raw("labels", labels_json(alert.labels))
        .raw("annotations", labels_json(annotations_of(message, alert)))
        .field("startsAt", alert.since);
    // As Alertmanager says "not yet".
    if (alert.ends_at && !alert.firing(message.at))
        json.field("endsAt", *alert.ends_at);
    else
        json.field("endsAt", "0001-01-01T00:00:00Z");
    json.field("generatorURL", absolute_link(message.hub_url, alert.link))
        .field("fingerprint", alert.fingerprint())
        .close();
    return std::move(json).text();
}

std::string webhook_message(const Message& message) {
    const auto& notification = message.notification;
    std::string alerts;
    std::size_t left_out = 0;
    const auto add = [&](const std::vector<Alert>& some) {
        for (const auto& alert : some) {
            const auto text = alert_json(message, alert);
            if (alerts.size() + text.size() > kLongestBody) {
                ++left_out;
                continue;
            }
            alerts += (alerts.empty() ? "" : ",") + text;
        }
    };
    add(message.firing);
    add(message.resolved);
    JsonWriter json;
    json.open()
        .field("version", "4")
        .field("groupKey", notification.group)
        .field("truncatedAlerts", left_out)
        .field("status", message.over() ? "resolved" : "firing")
        .field("receiver", notification.receiver)
        .raw("groupLabels", labels_json(notification.group_labels))
        .raw("commonLabels", labels_json(message.common_labels()))
        .raw("commonAnnotations", "{}")
        .field("externalURL", message.hub_url)
        .raw("alerts", "[" + alerts + "]")
        .field("notification_id", notification.id)
        .field("incident_id", notification.incident)
        .field("kind", name(notification.kind))
        .field("title", message.title())
        .field("page", message.page())
        .field("sent_at", message.at)
        .close();
    return std::move(json).text();
}

}
