#include "alerts/pagerduty_message.h"

#include "platform/json_writer.h"

namespace impresario::alerts {

using platform::JsonWriter;

namespace {

constexpr std::size_t kSummary = 1024;
constexpr std::size_t kDetails = 20'000;
constexpr std::size_t kField = 255;

std::string_view action_text(PagerDutyAction action) {
    switch (action) {
        case PagerDutyAction::trigger:
            return "trigger";
        case PagerDutyAction::acknowledge:
            return "acknowledge";
        case PagerDutyAction::resolve:
            return "resolve";
    }
    return {};
}

std::string payload(const Message& message) {
    const auto& all = message.over() ? message.resolved : message.firing;
    const Alert worst = all.empty() ? Alert{} : all.front();
    JsonWriter details;
    details.open()
        .field("text", plain_text(message, kDetails))
        .field("command", worst.command)
        .field("runbook", worst.runbook)
        .field("firing", message.firing.size())
        .field("resolved", message.resolved.size())
        .field("incident", message.notification.incident)
        .close();
    JsonWriter json;
    json.open()
        .field("summary", shortened(message.title(), kSummary))
        .field("source", message.hub_url.empty() ? "impresario" : shortened(message.hub_url, kField))
        .field("severity", name(message.severity()))
        .field("timestamp", worst.since)
        .field("component", "impresario")
        .field("group", shortened(text(message.notification.group_labels), kField))
        .field("class", shortened(worst.name(), kField))
        .raw("custom_details", details.text())
        .close();
    return std::move(json).text();
}

std::string links(const Message& message) {
    JsonWriter json;
    json.open('[');
    const auto add = [&](const std::string& href, const char* text) {
        if (!href.empty()) json.open('{').field("href", href).field("text", text).close();
    };
    add(message.page(), "Incident");
    if (!message.firing.empty()) {
        add(absolute_link(message.hub_url, message.firing.front().link), "What it is about");
        add(absolute_link({}, message.firing.front().runbook), "Runbook");
    }
    json.close(']');
    return std::move(json).text();
}

}

PagerDutyAction pagerduty_action(const Message& message) {
    return message.over() ? PagerDutyAction::resolve : PagerDutyAction::trigger;
}

std::string pagerduty_message(const Message& message, PagerDutyAction action, const domain::Secret& routing_key) {
    JsonWriter json;
    json.open()
        .field("routing_key", routing_key.reveal())
        .field("event_action", action_text(action))
        .field("dedup_key", message.notification.incident);
    if (action == PagerDutyAction::trigger) {
        json.field("client", "Impresario");
        if (!message.hub_url.empty()) json.field("client_url", message.hub_url);
        json.raw("payload", payload(message)).raw("links", links(message));
    }
    json.close();
    return std::move(json).text();
}

}
