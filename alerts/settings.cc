#include "alerts/settings.h"

#include <algorithm>

namespace impresario::alerts {

namespace {

/// The first of the kinds, in their order; else the first of all.
std::string first_of(const std::vector<Receiver>& receivers, const std::string& name,
                     std::initializer_list<ReceiverKind> kinds) {
    if (find_receiver(receivers, name)) return name;
    for (const auto kind : kinds)
        for (const auto& each : receivers)
            if (each.kind == kind) return each.name;
    return receivers.front().name;
}

void rename(Route& route, const std::vector<Receiver>& receivers) {
    using enum ReceiverKind;
    if (route.receiver == "page")
        route.receiver = first_of(receivers, "page", {pagerduty, alertmanager, webhook, slack});
    if (route.receiver == "slack") route.receiver = first_of(receivers, "slack", {slack, webhook, email});
    if (route.receiver == "email") route.receiver = first_of(receivers, "email", {email, slack, webhook});
    for (auto& child : route.children) rename(child, receivers);
}

}

const Receiver* find_receiver(const std::vector<Receiver>& receivers, std::string_view name) {
    for (const auto& each : receivers)
        if (each.name == name) return &each;
    return nullptr;
}

domain::Duration pace_of(ReceiverKind kind) {
    return kind == ReceiverKind::slack ? std::chrono::milliseconds{1050} : domain::Duration{0};
}

bool keeps_incidents(ReceiverKind kind) {
    return kind == ReceiverKind::pagerduty || kind == ReceiverKind::alertmanager;
}

Route default_route(const std::vector<Receiver>& receivers) {
    Route route = default_route();
    if (!receivers.empty()) rename(route, receivers);
    return route;
}

}
