#pragma once
// What happened, as it is appended to the journal.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "domain/id.h"

namespace impresario::domain {

/// The vocabulary of an execution's stream.
namespace event {
inline constexpr std::string_view queued = "execution.queued";
/// Its scheduled time or its retry has come.
inline constexpr std::string_view due = "execution.due";
inline constexpr std::string_view deferred = "execution.deferred";
/// It has waited longer than its lane's max_wait and goes first from now on.
inline constexpr std::string_view starving = "execution.starving";
inline constexpr std::string_view dispatched = "execution.dispatched";
inline constexpr std::string_view accepted = "execution.accepted";
/// Sent, but nobody knows whether it began: it may be running and costing money.
inline constexpr std::string_view unknown = "execution.unknown";
inline constexpr std::string_view progress = "execution.progress";
/// What it says itself while it runs: a chunk of output, a line of its log.
inline constexpr std::string_view output = "execution.output";
inline constexpr std::string_view log = "execution.log";
inline constexpr std::string_view completed = "execution.completed";
inline constexpr std::string_view failed = "execution.failed";
inline constexpr std::string_view retrying = "execution.retrying";
inline constexpr std::string_view dead = "execution.dead";
inline constexpr std::string_view cancelled = "execution.cancelled";
inline constexpr std::string_view reopened = "execution.reopened";
/// Priority, time or input were changed by hand.
inline constexpr std::string_view updated = "execution.updated";
/// A callback or a move that was refused; the execution is as it was.
inline constexpr std::string_view refused = "execution.refused";
}

/// The vocabulary of a lane's, a budget's, a subscriber's, a timer's, an alert's and a node's stream.
namespace event {
/// A workflow type was registered, changed, deleted: told by the tables themselves (migration 36).
inline constexpr std::string_view lane_registered = "lane.registered";
inline constexpr std::string_view lane_changed = "lane.changed";
inline constexpr std::string_view lane_removed = "lane.removed";
inline constexpr std::string_view lane_stopped = "lane.stopped";
inline constexpr std::string_view lane_opened = "lane.opened";
inline constexpr std::string_view lane_paused = "lane.paused";
inline constexpr std::string_view lane_resumed = "lane.resumed";
/// An endpoint is left alone for a while; somebody should look.
inline constexpr std::string_view endpoint_held = "lane.endpoint_held";
inline constexpr std::string_view endpoint_released = "lane.endpoint_released";
/// Of an endpoint's circuit breaker.
inline constexpr std::string_view breaker_opened = "lane.breaker_opened";
inline constexpr std::string_view breaker_half_open = "lane.breaker_half_open";
inline constexpr std::string_view breaker_closed = "lane.breaker_closed";
/// Of a budget.
inline constexpr std::string_view budget_changed = "budget.changed";
inline constexpr std::string_view budget_retired = "budget.retired";
/// One of its steps begins or ends: administrators may have to hear of it.
inline constexpr std::string_view budget_step_begun = "budget.step_begun";
inline constexpr std::string_view budget_step_ended = "budget.step_ended";
inline constexpr std::string_view budget_approved = "budget.approved";
/// Its balances were not what its entries say, and are now.
inline constexpr std::string_view budget_repaired = "budget.repaired";
/// Its limits were made or changed, or it is none any more: told by the tables themselves (migration 36).
inline constexpr std::string_view provider_changed = "provider.changed";
inline constexpr std::string_view provider_removed = "provider.removed";
/// Of a provider: it is left alone, then takes something again; and nothing limits it any more.
inline constexpr std::string_view provider_cooling = "provider.cooling";
inline constexpr std::string_view provider_answers = "provider.answers";
inline constexpr std::string_view provider_recovered = "provider.recovered";
/// Of a subscriber to events: several requests in a row have failed; one has not any more; it is told no more, or
/// again.
inline constexpr std::string_view subscriber_changed = "subscriber.changed";
inline constexpr std::string_view subscriber_failing = "subscriber.failing";
inline constexpr std::string_view subscriber_recovered = "subscriber.recovered";
inline constexpr std::string_view subscriber_disabled = "subscriber.disabled";
inline constexpr std::string_view subscriber_enabled = "subscriber.enabled";
/// Of a timer, told by its table (migration 37): it is set or moved; it has come due; it waits no more.
inline constexpr std::string_view timer_set = "timer.set";
inline constexpr std::string_view timer_due = "timer.due";
inline constexpr std::string_view timer_cancelled = "timer.cancelled";
/// Of an alert, told by its table (migration 40): it is raised; somebody looks after it, or does not any more; it is
/// over.
inline constexpr std::string_view alert_raised = "alert.raised";
inline constexpr std::string_view alert_acknowledged = "alert.acknowledged";
inline constexpr std::string_view alert_unacknowledged = "alert.unacknowledged";
inline constexpr std::string_view alert_resolved = "alert.resolved";
inline constexpr std::string_view node_leads = "node.leads";
/// The database or its own memory is short, and less starts at once; it is not any more.
inline constexpr std::string_view node_pressed = "node.pressed";
inline constexpr std::string_view node_eased = "node.eased";
inline constexpr std::string_view node_illegal_move = "node.illegal_move";
/// The tables do not keep a promise and nobody can put it right but a human: the lane is held, or no lane is concerned.
inline constexpr std::string_view lane_promise_broken = "lane.promise_broken";
inline constexpr std::string_view node_promise_broken = "node.promise_broken";
}

/// One line of a stream. `seq` is the number within the stream, from 1, without gaps (P8).
struct Event {
    /// "execution", "lane", "budget", "provider", "subscriber", "timer", "alert", "node": which kind of thing the stream belongs to.
    std::string_view kind = "execution";
    std::array<std::uint8_t, 16> stream{};
    int seq = 0;
    std::string organization_id;
    std::string type;
    /// JSON object text.
    std::string payload = "{}";
};

}
