#include "alerts/alert_store.h"

#include "alerts/message.h"
#include "alerts/notifier_state_json.h"
#include "alerts_sql.h"
#include "platform/json_text.h"
#include "platform/json_writer.h"
#include "platform/log.h"
#include "platform/read_rows.h"

namespace impresario::alerts {

using domain::TimePoint;
using platform::JsonWriter;
using platform::Params;
using platform::RowReader;
using platform::Rows;
using platform::SqlArray;
using platform::Tx;

namespace {

SqlArray fingerprints_of(const std::vector<Alert>& alerts) {
    SqlArray all;
    for (const auto& alert : alerts) all.add(alert.fingerprint());
    return all;
}

/// "": of all.
NotifierState read_notifier(Tx& tx, const std::string& group, const std::string& receiver) {
    NotifierState state;
    const auto groups = tx.exec(sql::alert_groups, Params().add(group));
    for (std::size_t i = 0; i < groups.size(); ++i) {
        RowReader row(groups, i);
        const auto key = row.text();
        if (auto read = parse_group(row.view())) state.groups.emplace(key, *std::move(read));
    }
    const auto receivers = tx.exec(sql::alert_receivers, Params().add(receiver));
    for (std::size_t i = 0; i < receivers.size(); ++i) {
        RowReader row(receivers, i);
        const auto key = row.text();
        if (auto read = parse_receiver_state(row.view())) state.receivers.emplace(key, *std::move(read));
    }
    return state;
}

AlertRow read_alert(const Rows& rows, std::size_t i) {
    RowReader row(rows, i);
    AlertRow read;
    auto& alert = read.alert;
    read.id = row.id<AlertId>();
    read.fingerprint = row.text();
    const auto rule = row.text();
    if (!rule.empty()) read.rule = rule;
    read.organization_id = row.text();
    alert.labels = parse_labels(row.view());
    read.phase = row.text();
    alert.since = row.time();
    read.clear_since = row.maybe_time();
    if (row.null()) {
        row.skip();
    } else {
        read.value = row.real();
    }
    alert.summary = row.text();
    alert.description = row.text();
    alert.causes = platform::json_strings(row.view());
    alert.command = row.text();
    alert.link = row.text();
    alert.runbook = row.text();
    alert.evidence = platform::json_strings(row.view());
    alert.annotations = parse_labels(row.view());
    alert.ends_at = row.maybe_time();
    read.ended_why = row.text();
    const auto at = row.maybe_time();
    const auto by = row.text();
    const auto comment = row.text();
    if (at) alert.acknowledged = Acknowledgement{by, *at, comment};
    return read;
}

std::vector<AlertRow> read_alerts(const Rows& rows) {
    std::vector<AlertRow> all;
    all.reserve(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) all.push_back(read_alert(rows, i));
    return all;
}

void write_texts(JsonWriter& json, const Alert& alert) {
    json.field("summary", alert.summary)
        .field("description", alert.description)
        .texts("causes", alert.causes)
        .field("command", alert.command)
        .field("link", alert.link)
        .field("runbook", alert.runbook)
        .raw("annotations", labels_json(alert.annotations))
        .field("ends_at", alert.ends_at);
}

constexpr std::string_view kOrganization = "organization";

void write_condition(JsonWriter& json, const std::string& fingerprint, const Condition& condition, const Alert& alert) {
    const auto organization = value_of(condition.labels, kOrganization);
    json.open();
    json.field("fingerprint", fingerprint)
        .field("rule", condition.rule)
        .field("organization_id", organization.empty() ? std::string_view("default") : organization)
        .raw("labels", labels_json(condition.labels))
        .field("phase", name(condition.phase))
        .field("since", condition.since)
        .field("clear_since", condition.phase == Phase::clearing ? std::optional(condition.clear_since) : std::nullopt)
        .field("value", condition.value)
        .texts("evidence", condition.evidence);
    write_texts(json, alert);
    json.close();
}

std::string state_rows(const char* key, const std::map<std::string, std::string>& states) {
    JsonWriter json;
    json.open('[');
    for (const auto& [which, state] : states) {
        JsonWriter one;
        one.open();
        one.field(key, which).raw("state", state);
        one.close();
        json.element(one.text());
    }
    json.close(']');
    return std::move(json).text();
}

/// Those that are there, or differ.
template <class State>
std::map<std::string, std::string> changed(const std::map<std::string, State>& before,
                                           const std::map<std::string, State>& after) {
    std::map<std::string, std::string> states;
    for (const auto& [which, state] : after) {
        auto text = state_json(state);
        const auto known = before.find(which);
        if (known == before.end() || state_json(known->second) != text) states.emplace(which, std::move(text));
    }
    return states;
}

}

std::vector<AlertRow> AlertStore::open(Tx& tx) const { return read_alerts(tx.exec(sql::open_alerts)); }

void AlertStore::write(Tx& tx, const Evaluation& evaluation) const {
    std::map<std::string, const Alert*> firing;
    for (const auto& alert : evaluation.firing) firing.emplace(alert.fingerprint(), &alert);
    JsonWriter rows;
    rows.open('[');
    SqlArray pending;
    const Alert none;
    for (const auto& [fingerprint, condition] : evaluation.conditions) {
        const auto found = firing.find(fingerprint);
        JsonWriter one;
        write_condition(one, fingerprint, condition, found == firing.end() ? none : *found->second);
        rows.element(one.text());
        pending.add(fingerprint);
    }
    rows.close(']');
    if (!evaluation.resolved.empty()) {
        JsonWriter over;
        over.open('[');
        for (const auto& each : evaluation.resolved) {
            JsonWriter one;
            one.open();
            one.field("fingerprint", each.alert.fingerprint())
                .field("ends_at", each.alert.ends_at)
                .field("why", name(each.why));
            one.close();
            over.element(one.text());
        }
        over.close(']');
        tx.send(sql::resolve_alerts, Params().add(over.text()));
    }
    tx.send(sql::forget_pending, Params().add(std::move(pending)));
    if (!evaluation.conditions.empty()) tx.send(sql::put_alerts, Params().add(rows.text()));
}

void AlertStore::expire(Tx& tx) const { tx.send(sql::expire_alerts); }

bool AlertStore::receive(Tx& tx, const std::string& organization_id, const std::vector<Alert>& alerts) const {
    const auto counted = tx.exec(sql::count_received, Params().add(organization_id).add(kMostOpenReceived));
    if (RowReader(counted, 0).integer() + static_cast<std::int64_t>(alerts.size()) > kMostOpenReceived) {
        // Those that are known already may be said again, and to be over.
        const auto rows = tx.exec(sql::known_received, Params().add(organization_id).add(fingerprints_of(alerts)));
        if (rows.size() < alerts.size()) return false;
    }
    JsonWriter rows;
    rows.open('[');
    for (const auto& alert : alerts) {
        JsonWriter one;
        one.open();
        one.field("fingerprint", alert.fingerprint())
            .field("organization_id", organization_id)
            .raw("labels", labels_json(alert.labels))
            .field("phase", "firing")
            .field("since", alert.since);
        write_texts(one, alert);
        one.close();
        rows.element(one.text());
    }
    rows.close(']');
    tx.exec(sql::receive_alerts, Params().add(rows.text()));
    return true;
}

std::vector<Alert> AlertStore::resolved(Tx& tx, const std::set<std::string>& fingerprints) const {
    std::vector<Alert> alerts;
    if (fingerprints.empty()) return alerts;
    const auto rows = tx.exec(sql::resolved_alerts, Params().add(SqlArray::of(fingerprints)));
    for (std::size_t i = 0; i < rows.size(); ++i) alerts.push_back(read_alert(rows, i).alert);
    return alerts;
}

std::vector<AlertRow> AlertStore::list(Tx& tx, const std::string& organization_id, const std::string& state,
                                       int most) const {
    return read_alerts(tx.exec(sql::list_alerts, Params().add(organization_id).add(state).add(most)));
}

std::vector<AlertRow> AlertStore::find(Tx& tx, const std::string& organization_id, const std::string& prefix) const {
    return read_alerts(tx.exec(sql::find_alert, Params().add(organization_id).add(prefix)));
}

std::vector<AlertRow> AlertStore::incident(Tx& tx, const std::string& organization_id,
                                           const std::string& prefix) const {
    return read_alerts(tx.exec(sql::incident_alerts, Params().add(organization_id).add(prefix)));
}

bool AlertStore::acknowledge(Tx& tx, const std::string& organization_id, const AlertId& alert,
                             const std::optional<Acknowledgement>& acknowledgement) const {
    const auto said = acknowledgement.value_or(Acknowledgement{});
    const auto rows = tx.exec(
        sql::acknowledge_alert,
        Params().add(organization_id).add(alert).add(acknowledgement.has_value()).add(said.by).add(said.comment));
    return !rows.empty();
}

std::vector<Silence> AlertStore::silences(Tx& tx, bool ended_too) const {
    const auto rows = tx.exec(sql::list_silences, Params().add(ended_too));
    std::vector<Silence> all;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RowReader row(rows, i);
        Silence silence;
        silence.id = row.id<SilenceId>();
        bool readable = true;
        for (const auto& text : platform::json_strings(row.view())) {
            const auto matcher = parse_matcher(text);
            readable = readable && matcher;
            if (matcher) silence.matchers.push_back(*matcher);
        }
        silence.starts_at = row.time();
        silence.ends_at = row.time();
        silence.by = row.text();
        silence.comment = row.text();
        // By half of what it says it would silence more than anybody meant.
        if (readable) {
            all.push_back(std::move(silence));
        } else {
            platform::log::debug("a silence cannot be read and silences nothing",
                                 {{"silence", silence.id.text()}, {"next", "end it, and make it anew"}});
        }
    }
    return all;
}

SilenceId AlertStore::silence(Tx& tx, const Silence& silence) const {
    SqlArray matchers;
    for (const auto& matcher : silence.matchers) matchers.add(matcher.text());
    const auto rows = tx.exec(sql::create_silence, Params()
                                                       .add(std::move(matchers))
                                                       .add(silence.starts_at)
                                                       .add(silence.ends_at)
                                                       .add(silence.by)
                                                       .add(silence.comment));
    return RowReader(rows, 0).id<SilenceId>();
}

bool AlertStore::end_silence(Tx& tx, const SilenceId& silence) const {
    const auto rows = tx.exec(sql::end_silence, Params().add(silence));
    return !rows.empty();
}

NotifierState AlertStore::notifier(Tx& tx) const { return read_notifier(tx, "", ""); }

NotifierState AlertStore::notifier(Tx& tx, const std::string& group, const std::string& receiver) const {
    return read_notifier(tx, group, receiver);
}

void AlertStore::write(Tx& tx, const NotifierState& before, const NotifierState& after) const {
    std::vector<std::string> gone;
    for (const auto& [key, group] : before.groups)
        if (!after.groups.contains(key)) gone.push_back(key);
    if (!gone.empty()) tx.send(sql::remove_alert_groups, Params().add(SqlArray::of(gone)));
    if (const auto groups = changed(before.groups, after.groups); !groups.empty())
        tx.send(sql::put_alert_groups, Params().add(state_rows("group_key", groups)));
    if (const auto receivers = changed(before.receivers, after.receivers); !receivers.empty())
        tx.send(sql::put_alert_receivers, Params().add(state_rows("receiver", receivers)));
}

void AlertStore::record(Tx& tx, const std::vector<std::pair<Notification, std::string>>& sent) const {
    if (sent.empty()) return;
    JsonWriter rows;
    rows.open('[');
    for (const auto& [notification, title] : sent) {
        JsonWriter one;
        one.open();
        one.field("notification_id", notification.id)
            .field("kind", name(notification.kind))
            .field("receiver", notification.receiver)
            .field("group_key", notification.group)
            .field("incident", notification.incident)
            .texts("firing", notification.firing)
            .texts("resolved", notification.resolved)
            .field("title", title)
            .field("tries", notification.tries);
        one.close();
        rows.element(one.text());
    }
    rows.close(']');
    tx.send(sql::record_notifications, Params().add(rows.text()));
}

void AlertStore::settle(Tx& tx, const std::string& notification, std::string_view state,
                        const std::string& error) const {
    tx.send(sql::settle_notification, Params().add(notification).add(state).add(error));
}

std::vector<NotificationRow> AlertStore::notifications(Tx& tx, const std::string& receiver, int most) const {
    const auto rows = tx.exec(sql::list_notifications, Params().add(receiver).add(most));
    return platform::read_rows(rows, [](RowReader& row) {
        NotificationRow read;
        auto& notification = read.notification;
        notification.id = row.text();
        notification.kind = domain::value_in(kNotificationKinds, row.view()).value_or(NotificationKind::first);
        notification.receiver = row.text();
        notification.group = row.text();
        notification.incident = row.text();
        notification.firing = platform::json_strings(row.view());
        notification.resolved = platform::json_strings(row.view());
        read.title = row.text();
        read.state = row.text();
        notification.tries = row.small();
        read.error = row.text();
        read.created_at = row.time();
        read.settled_at = row.maybe_time();
        return read;
    });
}

std::int64_t AlertStore::forget(Tx& tx, domain::Duration age) const {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(age).count();
    const auto rows = tx.exec(sql::forget_alerts, Params().add(seconds));
    return RowReader(rows, 0).integer();
}

}
