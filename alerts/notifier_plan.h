#pragma once
// Who is told what now: alerts, routes, silences and inhibitions, and what everybody has been told already, in;
// messages out. Pure: the state is values, and whoever has it goes on where another node stopped.
//
// What the door must do:
// - In one transaction of the scheduler: read the state, plan(), write the state and a row for each message to send.
//   Only after the commit it sends. So no two nodes send the same, and one that dies between has sent at most what is
//   marked as on its way: kDeliveryLease later that counts as perhaps taken and is sent once more with the same id.
// - Tell every result with settle(), in a transaction too, and plan again then, at `wake`, and whenever an alert, a
//   silence, an acknowledgement, a rule or a route has changed.
// - Give every alert that fires, and each resolved one for as long as still_needed() names it.
// - Show the state of receivers and `lapsed`; count what failed. Nothing is reported as sent but what settle() was told
//   is delivered.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "alerts/alert.h"
#include "alerts/inhibition.h"
#include "alerts/route.h"
#include "alerts/silence.h"
#include "domain/retry.h"
#include "domain/time.h"

namespace impresario::alerts {

enum class NotificationKind {
    /// Of an incident.
    first,
    /// More fires, or a part has resolved.
    update,
    /// Nothing has changed, and nobody has acknowledged it.
    repeat,
    /// Nothing of it fires any more.
    resolved,
    /// Nobody has acknowledged it in time: to somebody else.
    escalation,
};

inline constexpr domain::NameTable<NotificationKind, 5> kNotificationKinds{
    {{NotificationKind::first, "first"},
     {NotificationKind::update, "update"},
     {NotificationKind::repeat, "repeat"},
     {NotificationKind::resolved, "resolved"},
     {NotificationKind::escalation, "escalation"}}};
constexpr std::string_view name(NotificationKind kind) { return domain::name_in(kNotificationKinds, kind); }

/// One message to one receiver. Alerts by their fingerprints, in order.
struct Notification {
    /// 32 hex digits; stays the same while it is tried again unchanged (webhook-id, Message-ID).
    std::string id;
    NotificationKind kind = NotificationKind::first;
    std::string receiver;
    /// Key of the group, at most 512 bytes.
    std::string group;
    Labels group_labels;
    /// 32 hex digits: from the first alert of the group to the last (dedup_key, thread).
    std::string incident;
    std::vector<std::string> firing;
    std::vector<std::string> resolved;
    /// 1 for the first.
    int tries = 1;
    friend bool operator==(const Notification&, const Notification&) = default;
};

/// A message that is on its way, or was not taken and waits.
struct Delivery {
    Notification notification;
    bool in_flight = true;
    /// On its way: when it is given up for lost. Else: not tried before.
    domain::TimePoint due{};
    /// It was refused for good: the same content is not tried before the next repetition.
    std::optional<domain::TimePoint> refused_at = std::nullopt;
    std::string error = {};
    friend bool operator==(const Delivery&, const Delivery&) = default;
};

/// What a receiver knows of a group.
struct Told {
    /// That these fire.
    std::set<std::string> firing;
    /// Perhaps these too, because nobody knows what became of a message.
    std::set<std::string> perhaps = {};
    /// When the last message was delivered.
    std::optional<domain::TimePoint> at = std::nullopt;
    /// How many different messages have been made.
    int made = 0;
    /// In a row.
    int failures = 0;
    std::optional<Delivery> delivery = std::nullopt;
    friend bool operator==(const Told&, const Told&) = default;
};

struct Group {
    Destination destination;
    Labels labels;
    std::string incident;
    domain::TimePoint began{};
    /// Since when there has always been one that fires and nobody has acknowledged.
    std::optional<domain::TimePoint> unacknowledged_since = std::nullopt;
    /// By the receiver's name.
    std::map<std::string, Told> told = {};
};

/// How a receiver does.
struct ReceiverState {
    /// Nothing is sent to it before: it asked for patience, or the last message was just now.
    std::optional<domain::TimePoint> not_before = std::nullopt;
    /// In a row.
    int failures = 0;
    std::optional<domain::TimePoint> failing_since = std::nullopt;
    std::optional<domain::TimePoint> last_delivered = std::nullopt;
    std::string last_error = {};
    std::int64_t delivered = 0;
    std::int64_t failed = 0;
};

struct NotifierState {
    /// By the group's key.
    std::map<std::string, Group> groups;
    std::map<std::string, ReceiverState> receivers;
};

/// Borrowed.
struct Situation {
    const std::vector<Alert>& alerts;
    const Route& route;
    const std::vector<Silence>& silences;
    const std::vector<Inhibition>& inhibitions;
    /// Least time between two messages to a receiver, by its name: Slack takes one a second.
    const std::map<std::string, domain::Duration>& pace;
    /// Receivers that keep an incident open until they are told that it is over: they hear of an end in silence too.
    std::set<std::string> keepers = {};
};

/// A message that was not taken, and that there is nothing to say of any more: what it was about has resolved, or is
/// silenced. To be shown; it was never sent.
struct Lapsed {
    Notification notification;
    std::string error;
};

struct NotifierPlan {
    NotifierState state;
    /// Marked as on their way in `state`.
    std::vector<Notification> send;
    std::vector<Lapsed> lapsed;
    /// Plan again then, if nothing happens before; nullopt: nothing waits.
    std::optional<domain::TimePoint> wake;
};

/// Promises:
/// - A receiver is told once of an incident, then only when it changes (not more often than group_interval), when it is
///   to be repeated, and when it is over.
/// - Never that something has resolved of which it was not (perhaps) told that it fires.
/// - Nothing about what is silenced or inhibited at `now`; and nothing later of what resolves meanwhile.
/// - What is not taken is tried again, with the content of then, until it is or until there is nothing to say.
/// - One message about a group is on its way to a receiver at a time.
/// The same input gives the same output; a second plan at the same time sends nothing.
NotifierPlan plan(const Situation& situation, const NotifierState& before, domain::TimePoint now);

struct DeliveryResult {
    enum class Kind {
        delivered,
        /// It was not taken, and may be next time.
        failed,
        /// It left, and no answer came.
        unknown,
        /// It never will be taken like this.
        refused,
    };
    Kind kind = Kind::delivered;
    /// Asked for by the receiver as a whole; at most a day is granted.
    std::optional<domain::Duration> retry_after = std::nullopt;
    /// For people, without secrets.
    std::string error = {};
};

/// In tables, metrics and answers.
inline constexpr domain::NameTable<DeliveryResult::Kind, 4> kDeliveryResults{
    {{DeliveryResult::Kind::delivered, "delivered"},
     {DeliveryResult::Kind::failed, "failed"},
     {DeliveryResult::Kind::unknown, "unknown"},
     {DeliveryResult::Kind::refused, "refused"}}};
constexpr std::string_view name(DeliveryResult::Kind kind) { return domain::name_in(kDeliveryResults, kind); }

/// What became of a message. `unit` in [0, 1) is the dice's word on the jitter. False: that message is not waited for
/// any more (its lease had passed and another took its place); nothing has changed.
bool settle(NotifierState& state, const Notification& notification, const DeliveryResult& result, domain::TimePoint now,
            double unit);

/// The fingerprints that somebody may still have to be told of.
std::set<std::string> still_needed(const NotifierState& state);

/// A message without an answer for so long counts as perhaps taken. Senders must be quicker.
inline constexpr domain::Duration kDeliveryLease = std::chrono::seconds{60};

/// 5 s, doubling, at most 5 minutes; without end.
const domain::RetryPolicy& delivery_retry();

}
