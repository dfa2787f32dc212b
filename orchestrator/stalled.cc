#include "orchestrator/stalled.h"

#include "domain/name_table.h"

namespace impresario::orchestrator {

using domain::AttemptState;
using domain::TimePoint;

namespace {

constexpr domain::NameTable<StallCause, 8> kNames{{
    {StallCause::no_scheduler, "no_scheduler"},
    {StallCause::lost_lease, "lost_lease"},
    {StallCause::deadline_near, "deadline_near"},
    {StallCause::dead_endpoint, "dead_endpoint"},
    {StallCause::lost_callback, "lost_callback"},
    {StallCause::closed_limiter, "closed_limiter"},
    {StallCause::long_queue, "long_queue"},
    {StallCause::not_taken_up, "not_taken_up"},
}};

std::string until(const std::optional<TimePoint>& at) { return at ? " until " + domain::rfc3339(*at) : std::string(); }

Stall under_way(const StallView& view, TimePoint now) {
    const auto& row = view.execution;
    const auto& attempt = *row.attempt;
    const auto id = row.id.text();
    const bool unsent = attempt.state == AttemptState::granted || attempt.state == AttemptState::sending;
    if (unsent && (!view.node_alive || attempt.lease_until < now))
        return {StallCause::lost_lease,
                "node " + view.node_name + (view.node_alive ? " was given it and does not send it" : " has gone") +
                    "; its lease ended at " + domain::rfc3339(attempt.lease_until),
                "wait: the scheduler gives it to another node; if that does not come about, see how the nodes are",
                "impresario nodes"};
    const auto deadline = row.timeout_at.value_or(domain::kNever);
    const std::string asked =
        view.has_status_url ? "; its status URL is asked first" : "; declare a status_url and it is asked first";
    if (deadline <= now + kDeadlineNear)
        return {StallCause::deadline_near,
                "its deadline is " + domain::rfc3339(deadline) + ", and nothing has come since " +
                    domain::rfc3339(view.last_event_at),
                "wait: it is taken as failed then and tried anew as its retry policy says" + asked,
                "impresario explain " + id};
    if (!view.endpoint_stopped.empty())
        return {StallCause::dead_endpoint,
                view.endpoint_url + " is left alone" + until(view.endpoint_until) + ": " + view.endpoint_stopped,
                "see whether the sub-workflow still runs there; if not, cancel it or wait for its deadline, " +
                    domain::rfc3339(deadline),
                "impresario endpoints list " + row.lane.workflow_type};
    const std::string taken = attempt.state == AttemptState::unknown
                                  ? "nobody knows whether " + view.endpoint_url + " has taken it"
                                  : view.endpoint_url + " has taken it";
    return {StallCause::lost_callback, taken + ", and nothing has come since " + domain::rfc3339(view.last_event_at),
            "see in the sub-workflow's own log whether it runs; it may call back, or send heartbeats, until " +
                domain::rfc3339(deadline) + asked,
            "impresario show " + id};
}

}

std::string_view name(StallCause cause) { return domain::name_in(kNames, cause); }

Stall classify(const StallView& view, TimePoint now) {
    const auto& row = view.execution;
    if (!view.led)
        return {StallCause::no_scheduler, "no node leads, so nothing is decided about it",
                "start a node, or see why none of them leads", "impresario nodes"};
    if (row.holds_slot()) return under_way(view, now);
    const auto& gate = row.gate ? row.gate : view.gate;
    if (gate)
        return {StallCause::closed_limiter, std::string(domain::name(gate->kind)) + ": " + gate->detail,
                gate->opens_at ? "wait until " + domain::rfc3339(*gate->opens_at) + ", or do what its explanation says"
                               : "do what its explanation says",
                "impresario explain " + row.id.text()};
    if (row.due_at)
        return {StallCause::not_taken_up, "it has been due since " + domain::rfc3339(*row.due_at),
                "see whether somebody holds its row in a transaction of his own (pg_locks), and how the nodes are",
                "impresario nodes"};
    return {StallCause::long_queue, "nothing stops it but what goes before it",
            "wait, raise its priority, or let more of its type run at once", "impresario explain " + row.id.text()};
}

}
