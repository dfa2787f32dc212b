#include "alerts/notifier_state_json.h"

#include <nlohmann/json.hpp>

namespace impresario::alerts {

using domain::Duration;
using domain::TimePoint;
using Json = nlohmann::json;

namespace {

Json at(const std::optional<TimePoint>& time) { return time ? Json(domain::rfc3339(*time)) : Json(nullptr); }
Json at(TimePoint time) { return domain::rfc3339(time); }
Json length(Duration duration) { return duration.count(); }

std::optional<TimePoint> maybe_time(const Json& object, const char* name) {
    const auto found = object.find(name);
    if (found == object.end() || !found->is_string()) return std::nullopt;
    return domain::parse_time(found->get<std::string>());
}
TimePoint time(const Json& object, const char* name) { return maybe_time(object, name).value_or(TimePoint{}); }
Duration duration(const Json& object, const char* name) { return Duration(object.value(name, Duration::rep{0})); }

Json to_json(const Destination& destination) {
    Json escalations = Json::array();
    for (const auto& each : destination.escalations)
        escalations.push_back({{"after_us", length(each.after)}, {"receiver", each.receiver}});
    return {{"receiver", destination.receiver},
            {"path", destination.path},
            {"group_by", destination.group_by},
            {"group_wait_us", length(destination.group_wait)},
            {"group_interval_us", length(destination.group_interval)},
            {"repeat_interval_us", length(destination.repeat_interval)},
            {"escalations", escalations}};
}

Destination to_destination(const Json& json) {
    Destination destination;
    destination.receiver = json.value("receiver", "");
    destination.path = json.value("path", "");
    destination.group_by = json.value("group_by", std::vector<std::string>{});
    destination.group_wait = duration(json, "group_wait_us");
    destination.group_interval = duration(json, "group_interval_us");
    destination.repeat_interval = duration(json, "repeat_interval_us");
    for (const auto& each : json.value("escalations", Json::array()))
        destination.escalations.push_back({duration(each, "after_us"), each.value("receiver", "")});
    return destination;
}

Json to_json(const Notification& notification) {
    return {{"id", notification.id},
            {"kind", name(notification.kind)},
            {"receiver", notification.receiver},
            {"group", notification.group},
            {"group_labels", notification.group_labels},
            {"incident", notification.incident},
            {"firing", notification.firing},
            {"resolved", notification.resolved},
            {"tries", notification.tries}};
}

Notification to_notification(const Json& json) {
    Notification notification;
    notification.id = json.value("id", "");
    notification.kind = domain::value_in(kNotificationKinds, json.value("kind", "")).value_or(NotificationKind::update);
    notification.receiver = json.value("receiver", "");
    notification.group = json.value("group", "");
    notification.group_labels = json.value("group_labels", Labels{});
    notification.incident = json.value("incident", "");
    notification.firing = json.value("firing", std::vector<std::string>{});
    notification.resolved = json.value("resolved", std::vector<std::string>{});
    notification.tries = json.value("tries", 1);
    return notification;
}

Json to_json(const Delivery& delivery) {
    return {{"notification", to_json(delivery.notification)},
            {"in_flight", delivery.in_flight},
            {"due", at(delivery.due)},
            {"refused_at", at(delivery.refused_at)},
            {"error", delivery.error}};
}

Json to_json(const Told& told) {
    return {{"firing", told.firing},     {"perhaps", told.perhaps},
            {"at", at(told.at)},         {"made", told.made},
            {"failures", told.failures}, {"delivery", told.delivery ? to_json(*told.delivery) : Json(nullptr)}};
}

Told to_told(const Json& json) {
    Told told;
    told.firing = json.value("firing", std::set<std::string>{});
    told.perhaps = json.value("perhaps", std::set<std::string>{});
    told.at = maybe_time(json, "at");
    told.made = json.value("made", 0);
    told.failures = json.value("failures", 0);
    if (const auto found = json.find("delivery"); found != json.end() && found->is_object()) {
        Delivery delivery;
        delivery.notification = to_notification(found->value("notification", Json::object()));
        delivery.in_flight = found->value("in_flight", true);
        delivery.due = time(*found, "due");
        delivery.refused_at = maybe_time(*found, "refused_at");
        delivery.error = found->value("error", "");
        told.delivery = std::move(delivery);
    }
    return told;
}

}

std::string state_json(const Group& group) {
    Json told = Json::object();
    for (const auto& [receiver, each] : group.told) told[receiver] = to_json(each);
    return Json{{"destination", to_json(group.destination)},
                {"labels", group.labels},
                {"incident", group.incident},
                {"began", at(group.began)},
                {"unacknowledged_since", at(group.unacknowledged_since)},
                {"told", told}}
        .dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string state_json(const ReceiverState& receiver) {
    return Json{{"not_before", at(receiver.not_before)},
                {"failures", receiver.failures},
                {"failing_since", at(receiver.failing_since)},
                {"last_delivered", at(receiver.last_delivered)},
                {"last_error", receiver.last_error},
                {"delivered", receiver.delivered},
                {"failed", receiver.failed}}
        .dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<Group> parse_group(std::string_view text) {
    try {
        const auto json = Json::parse(text);
        Group group;
        group.destination = to_destination(json.value("destination", Json::object()));
        group.labels = json.value("labels", Labels{});
        group.incident = json.value("incident", "");
        group.began = time(json, "began");
        group.unacknowledged_since = maybe_time(json, "unacknowledged_since");
        const auto told = json.value("told", Json::object());
        for (const auto& [receiver, each] : told.items()) group.told.emplace(receiver, to_told(each));
        return group;
    } catch (const Json::exception&) {
        return std::nullopt;
    }
}

std::optional<ReceiverState> parse_receiver_state(std::string_view text) {
    try {
        const auto json = Json::parse(text);
        ReceiverState state;
        state.not_before = maybe_time(json, "not_before");
        state.failures = json.value("failures", 0);
        state.failing_since = maybe_time(json, "failing_since");
        state.last_delivered = maybe_time(json, "last_delivered");
        state.last_error = json.value("last_error", "");
        state.delivered = json.value("delivered", std::int64_t{0});
        state.failed = json.value("failed", std::int64_t{0});
        return state;
    } catch (const Json::exception&) {
        return std::nullopt;
    }
}

}
