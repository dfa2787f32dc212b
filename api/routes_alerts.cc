// Alerts: what fires, who looks after it, who was told, and alerts of others.
#include "alerts/alert_store.h"
#include "alerts/alertmanager_json.h"
#include "api/api.h"
#include "api/problem.h"
#include "api/receiver_answer.h"
#include "api/request_reader.h"
#include "orchestrator/alert_runner.h"
#include "platform/json_writer.h"
#include "platform/writer.h"

namespace impresario::api {

using alerts::AlertRow;
using alerts::AlertStore;
using platform::HttpResponse;
using platform::JsonWriter;
using platform::Task;
using platform::Tx;

namespace {

void write_alert(JsonWriter& json, const AlertRow& row) {
    const auto& alert = row.alert;
    json.open();
    json.field("fingerprint", row.fingerprint)
        .field("name", alert.name())
        .field("severity", name(alert.severity()))
        .field("state", row.phase)
        .raw("labels", alerts::labels_json(alert.labels))
        .field("summary", alert.summary)
        .field("description", alert.description)
        .field("since", alert.since)
        .field("value", row.value)
        .field("ends_at", alert.ends_at);
    json.field_or_null("ended_why", row.ended_why);
    json.texts("causes", alert.causes);
    json.field("command", alert.command).field("link", alert.link).field("runbook", alert.runbook);
    json.texts("evidence", alert.evidence);
    json.raw("annotations", alerts::labels_json(alert.annotations));
    json.field("rule", row.rule);
    if (alert.acknowledged) {
        json.open("acknowledged", '{');
        json.field("by", alert.acknowledged->by)
            .field("at", alert.acknowledged->at)
            .field("comment", alert.acknowledged->comment);
        json.close();
    } else {
        json.raw("acknowledged", "null");
    }
    json.field("stream_id", row.id.text());
    json.close();
}

HttpResponse alerts_response(const std::vector<AlertRow>& rows) {
    JsonWriter json;
    json.open();
    json.open("alerts", '[');
    for (const auto& row : rows) {
        JsonWriter one;
        write_alert(one, row);
        json.element(one.text());
    }
    json.close(']');
    json.close();
    return json_response(200, std::move(json).text());
}

/// A fingerprint or an incident, or so much of its beginning that it is no accident.
bool names_one(std::string_view text) {
    return text.size() >= 4 && text.size() <= 32 &&
           text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

HttpResponse several() { return problem(409, "ambiguous", "several alerts begin so; say more of the fingerprint"); }

HttpResponse no_such_alert() {
    return problem(404, "not-found", "there is no such alert; GET /v1/alerts lists those that fire");
}

HttpResponse no_such_incident() {
    return problem(404, "not-found", "nobody was told of such an incident; GET /v1/notifications has them");
}

void write_rule(JsonWriter& json, const alerts::Rule& rule) {
    const auto seconds = [](domain::Duration length) { return length.count() / 1'000'000; };
    json.open();
    json.field("name", rule.name)
        .field("reading", rule.reading)
        .field("comparison", name(rule.comparison))
        .field("raise", rule.raise)
        .field("clear", rule.clear.value_or(rule.raise))
        .field("for_seconds", seconds(rule.hold))
        .field("keep_seconds", seconds(rule.keep))
        .field("severity", name(rule.severity))
        .raw("labels", alerts::labels_json(rule.labels))
        .field("summary", rule.summary)
        .field("runbook", rule.runbook)
        .field("enabled", rule.enabled);
    json.close();
}

}

Task<HttpResponse> Api::list_alerts(Call call) {
    std::vector<FieldFault> faults;
    const auto state = call.request.parameter("state").value_or("firing");
    if (state != "firing" && state != "pending" && state != "resolved" && state != "all")
        faults.push_back({"state", "must be firing, pending, resolved or all"});
    const int most = page_limit(call.request, 100, 1000, faults);
    if (!faults.empty()) co_return invalid(faults);
    auto asked = node_.database().read([organization = call.caller.scope(), state, most](Tx& tx) {
        return AlertStore().list(tx, organization, state, most);
    });
    const auto rows = co_await std::move(asked);
    co_return alerts_response(rows);
}

Task<HttpResponse> Api::get_incident(Call call) {
    if (!names_one(call.path["incident"])) co_return no_such_incident();
    auto asked = node_.database().read([organization = call.caller.scope(), which = call.path["incident"]](Tx& tx) {
        return AlertStore().incident(tx, organization, which);
    });
    const auto rows = co_await std::move(asked);
    if (rows.empty()) co_return no_such_incident();
    co_return alerts_response(rows);
}

Task<HttpResponse> Api::get_alert(Call call) {
    if (!names_one(call.path["fingerprint"])) co_return no_such_alert();
    auto asked = node_.database().read([organization = call.caller.scope(), which = call.path["fingerprint"]](Tx& tx) {
        return AlertStore().find(tx, organization, which);
    });
    const auto rows = co_await std::move(asked);
    if (rows.empty()) co_return no_such_alert();
    if (rows.size() > 1) co_return several();
    JsonWriter json;
    write_alert(json, rows.front());
    co_return json_response(200, std::move(json).text());
}

Task<HttpResponse> Api::acknowledge_alert(Call call) {
    auto acknowledging = set_acknowledged(std::move(call), true);
    co_return co_await std::move(acknowledging);
}

Task<HttpResponse> Api::unacknowledge_alert(Call call) {
    auto acknowledging = set_acknowledged(std::move(call), false);
    co_return co_await std::move(acknowledging);
}

Task<HttpResponse> Api::set_acknowledged(Call call, bool acknowledged) {
    auto said = read_by_hand(call.request.body, 500);
    if (said.refused) co_return *std::move(said.refused);
    if (!names_one(call.path["fingerprint"])) co_return no_such_alert();
    std::optional<alerts::Acknowledgement> by;
    if (acknowledged) by = alerts::Acknowledgement{call.caller.name, {}, said.reason};
    auto writing = node_.database().transact(
        [organization = call.caller.scope(), which = call.path["fingerprint"], by, writer = node_.id()](Tx& tx) {
            const AlertStore store;
            auto found = store.find(tx, organization, which);
            const bool fires = found.size() == 1 && found.front().phase != "resolved";
            bool done = false;
            if (fires) {
                platform::write_as(tx, writer);
                done = store.acknowledge(tx, organization, found.front().id, by);
                if (done) found = store.find(tx, organization, which);
            }
            return std::pair(std::move(found), fires);
        });
    const auto [rows, fires] = co_await std::move(writing);
    if (rows.empty()) co_return no_such_alert();
    if (rows.size() > 1) co_return several();
    if (!fires) co_return problem(409, "not-firing", "this alert has resolved; nobody has to look after it any more");
    node_.changed("alerts");
    JsonWriter json;
    write_alert(json, rows.front());
    co_return json_response(200, std::move(json).text());
}

/// The answer is an Alertmanager's: 200 without a body.
Task<HttpResponse> Api::receive_alerts(Call call) {
    if (auto refused = BodyReader::refuse_array(call.request.body)) co_return *std::move(refused);
    // Whoever looks after all may speak for any organization; others speak for their own.
    auto parsed = alerts::parse_alerts(call.request.body, node_.clock().now(), call.caller.scope());
    if (!parsed) co_return invalid(parsed.error());
    auto receiving = node_.database().transact(
        [organization = call.caller.organization_id, received = *std::move(parsed), writer = node_.id()](Tx& tx) {
            platform::write_as(tx, writer);
            return AlertStore().receive(tx, organization, received);
        });
    const bool room = co_await std::move(receiving);
    if (!room)
        co_return problem(429, "too-many-alerts",
                          "more than " + std::to_string(alerts::kMostOpenReceived) +
                              " alerts of the organization fire already: resolve some, or tell fewer");
    node_.changed("alerts");
    HttpResponse response;
    response.status = 200;
    co_return response;
}

Task<HttpResponse> Api::list_alert_rules(Call call) {
    static_cast<void>(call);
    JsonWriter json;
    json.open();
    json.open("rules", '[');
    if (alerts_)
        for (const auto& rule : alerts_->settings().rules) {
            JsonWriter one;
            write_rule(one, rule);
            json.element(one.text());
        }
    json.close(']');
    json.close();
    co_return json_response(200, std::move(json).text());
}

Task<HttpResponse> Api::list_receivers(Call call) {
    if (!call.caller.looks_after_all()) co_return for_default_only("receivers");
    auto asked = node_.database().read([](Tx& tx) { return AlertStore().notifier(tx); });
    const auto state = co_await std::move(asked);
    JsonWriter json;
    json.open();
    json.open("receivers", '[');
    if (alerts_)
        for (const auto& receiver : alerts_->settings().receivers) {
            const auto found = state.receivers.find(receiver.name);
            const auto how = found == state.receivers.end() ? alerts::ReceiverState{} : found->second;
            JsonWriter one;
            one.open();
            one.field("name", receiver.name)
                .field("type", name(receiver.kind))
                .field("delivered", how.delivered)
                .field("failed", how.failed)
                .field("failures", how.failures)
                .field("failing_since", how.failing_since)
                .field("last_delivered_at", how.last_delivered)
                .field("not_before", how.not_before);
            one.field_or_null("last_error", how.last_error);
            one.close();
            json.element(one.text());
        }
    json.close(']');
    json.close();
    co_return json_response(200, std::move(json).text());
}

/// Sends it a message, now, and says what became of it.
Task<HttpResponse> Api::test_receiver(Call call) {
    if (!call.caller.looks_after_all()) co_return for_default_only("receivers");
    const auto which = call.path["name"];
    if (!alerts_ || !alerts::find_receiver(alerts_->settings().receivers, which))
        co_return problem(404, "not-found", "there is no such receiver; the configuration's [alerts] has them");
    auto testing = alerts_->test(which, call.caller.name);
    const auto result = co_await std::move(testing);
    co_return receiver_answer(result);
}

Task<HttpResponse> Api::list_notifications(Call call) {
    if (!call.caller.looks_after_all()) co_return for_default_only("receivers");
    std::vector<FieldFault> faults;
    const int most = page_limit(call.request, 50, 500, faults);
    if (!faults.empty()) co_return invalid(faults);
    auto asked = node_.database().read([receiver = call.request.parameter("receiver").value_or(""), most](Tx& tx) {
        return AlertStore().notifications(tx, receiver, most);
    });
    const auto rows = co_await std::move(asked);
    JsonWriter json;
    json.open();
    json.open("notifications", '[');
    for (const auto& row : rows) {
        const auto& notification = row.notification;
        JsonWriter one;
        one.open();
        one.field("id", notification.id)
            .field("kind", name(notification.kind))
            .field("receiver", notification.receiver)
            .field("group", notification.group)
            .field("incident", notification.incident)
            .field("title", row.title);
        one.texts("firing", notification.firing);
        one.texts("resolved", notification.resolved);
        one.field("state", row.state).field("tries", notification.tries);
        one.field_or_null("error", row.error);
        one.field("created_at", row.created_at).field("settled_at", row.settled_at);
        one.close();
        json.element(one.text());
    }
    json.close(']');
    json.close();
    co_return json_response(200, std::move(json).text());
}

}
