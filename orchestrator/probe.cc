#include "orchestrator/probe.h"

#include "orchestrator/board.h"
#include "orchestrator/metrics/alerts.h"
#include "orchestrator/metrics/deliveries.h"
#include "orchestrator/metrics/events.h"
#include "orchestrator/metrics/executions.h"
#include "orchestrator/metrics/fairness.h"
#include "orchestrator/metrics/money.h"
#include "orchestrator/metrics/node.h"
#include "orchestrator/metrics/providers.h"
#include "orchestrator/metrics/queue.h"
#include "orchestrator/metrics/scheduler.h"
#include "orchestrator/metrics/schedules.h"
#include "orchestrator/metrics/timers.h"

namespace impresario::orchestrator {

using metrics::usd;

namespace {
/// Gives what is declared next its heading.
platform::Metrics& under(platform::Metrics& metrics, const char* title) {
    metrics.begin_chapter(title);
    return metrics;
}
}

/// The catalogue, in its order.
struct Probe::Chapters {
    explicit Chapters(platform::Metrics& m)
        : executions{under(m, "Executions")},
          queue{under(m, "Queue")},
          deliveries{under(m, "Deliveries and callbacks")},
          providers{under(m, "Providers")},
          money{under(m, "Money")},
          fairness{under(m, "Fairness")},
          events{under(m, "Events")},
          schedules{under(m, "Schedules and locks")},
          timers{under(m, "Timers")},
          alerts{under(m, "Alerts")},
          scheduler(under(m, "Scheduler")),
          node(under(m, "Node")) {}

    metrics::Executions executions;
    metrics::Queue queue;
    metrics::Deliveries deliveries;
    metrics::Providers providers;
    metrics::Money money;
    metrics::Fairness fairness;
    metrics::Events events;
    metrics::Schedules schedules;
    metrics::Timers timers;
    metrics::Alerts alerts;
    metrics::Scheduler scheduler;
    metrics::Node node;
};

Probe::Probe(platform::Metrics& metrics) : chapters_(std::make_unique<Chapters>(metrics)) {
    // There from the first scrape, so that their first increase is seen as one.
    for (const auto* reason : {"shed", "expired"}) dropped(reason, 0);
    for (const auto* outcome : {"told", "rejected", "dropped"}) spans(outcome, 0);
    removed(0, 0);
}
Probe::~Probe() = default;

void Probe::enqueued(const domain::Lane& lane, std::size_t count) {
    chapters_->executions.enqueued.add({lane.organization_id, lane.workflow_type}, static_cast<double>(count));
}

void Probe::counted(const Counts& counts) {
    auto& executions = chapters_->executions;
    for (const auto& each : counts.ended) {
        const auto& [organization, type] = each.lane;
        executions.ended.add({organization, type, name(each.status)});
        if (each.duration_ms)
            executions.duration.observe({organization, type}, static_cast<double>(*each.duration_ms) / 1e3);
        if (each.items) executions.items.add({organization, type}, static_cast<double>(*each.items));
    }
    for (const auto& each : counts.retries) {
        executions.retries.add({each.lane.organization_id, each.lane.workflow_type, each.reason});
        executions.retry_delay.observe({each.lane.organization_id, each.lane.workflow_type},
                                       domain::in_seconds(each.delay));
    }
    for (const auto& each : counts.used) {
        if (each.cost) {
            executions.cost.add({each.lane.organization_id, each.lane.workflow_type}, usd(*each.cost));
            chapters_->providers.cost.add({each.provider}, usd(*each.cost));
        }
        if (!each.provider.empty() && each.amount > 0)
            chapters_->providers.used.add({each.provider, each.what}, static_cast<double>(each.amount));
    }
}

void Probe::attempt_over(const AttemptOver& over, const subworkflows::WorkflowType* type, domain::TimePoint now) {
    const auto& [organization, workflow_type] = over.lane;
    const double took = domain::in_seconds(std::max(now - over.granted_at, domain::Duration{0}));
    auto& executions = chapters_->executions;
    executions.attempts.add({organization, workflow_type, over.outcome});
    executions.attempt_duration.observe({organization, workflow_type}, took);
    if (!type) return;
    if (over.timeout_at && type->timeout.count() > 0) {
        const auto used = type->timeout - (*over.timeout_at - now);
        executions.timeout_used.observe({organization, workflow_type},
                                        std::max(0.0, domain::in_seconds(used) / domain::in_seconds(type->timeout)));
    }
    for (const auto& need : type->needs) {
        chapters_->providers.attempts.add({need.provider, over.outcome});
        chapters_->providers.duration.observe({need.provider}, took);
    }
}

void Probe::refused(const std::string& provider) { chapters_->providers.refusals.add({provider}); }

void Probe::delivered(const domain::Lane& lane, const webhooks::DeliveryOutcome& outcome, domain::Duration took) {
    chapters_->deliveries.deliveries.add({lane.organization_id, lane.workflow_type, webhooks::name(outcome)});
    chapters_->deliveries.duration.observe({lane.organization_id, lane.workflow_type}, domain::in_seconds(took));
}
void Probe::dispatched(const domain::Lane& lane, domain::Duration waited) {
    chapters_->queue.wait.observe({lane.organization_id, lane.workflow_type}, domain::in_seconds(waited));
}

void Probe::callback(std::string_view status, int answered, domain::Duration took) {
    chapters_->deliveries.callbacks.add({status, std::to_string(answered)});
    chapters_->deliveries.callback_duration.observe({}, domain::in_seconds(took));
}
void Probe::request(std::string_view route, int status, domain::Duration took) {
    chapters_->node.requests.add({route, std::to_string(status)});
    chapters_->node.request_duration.observe({route}, domain::in_seconds(took));
}
void Probe::turn(domain::Duration took) { chapters_->scheduler.turn.observe({}, domain::in_seconds(took)); }
void Probe::granted(std::size_t count) { chapters_->scheduler.grants.add({}, static_cast<double>(count)); }
void Probe::gate_closed(const domain::Lane& lane, domain::GateKind kind, domain::Duration length) {
    chapters_->queue.gate_closed.add({lane.organization_id, lane.workflow_type, name(kind)},
                                     domain::in_seconds(length));
}
void Probe::dropped(std::string_view reason, std::size_t count) {
    chapters_->queue.dropped.add({reason}, static_cast<double>(count));
}
void Probe::turned_away(std::size_t count) { chapters_->queue.turned_away.add({}, static_cast<double>(count)); }
void Probe::fenced() { chapters_->scheduler.fenced.add({}); }
void Probe::illegal_move() { chapters_->scheduler.illegal.add({}); }
void Probe::feed_events(std::size_t count) { chapters_->scheduler.feed.add({}, static_cast<double>(count)); }

void Probe::show(const Board* board, const StateMachine* state, const subworkflows::Catalogue& catalogue,
                 domain::TimePoint now, bool leads, bool draining) {
    for (const auto& [lane, type] : catalogue.types) chapters_->executions.begin(lane);
    auto& node = chapters_->node;
    chapters_->scheduler.leads.set({}, leads ? 1 : 0);
    node.role.set({"scheduler"}, leads ? 1 : 0);
    node.role.set({"delivering"}, !leads && !draining ? 1 : 0);
    node.role.set({"draining"}, draining ? 1 : 0);
    node.show_process();
    chapters_->scheduler.show(board, state, now);
    if (!board) return forget_what_leads();
    for (const auto& lane : board->lanes())
        chapters_->executions.running.set({lane.organization_id, lane.workflow_type}, board->in_use(lane));
    chapters_->executions.running.drop_unset();
    for (const auto& each : board->breakers())
        chapters_->deliveries.breaker.set({each.lane.organization_id, each.lane.workflow_type, each.endpoint.text()},
                                          static_cast<double>(each.state));
    chapters_->deliveries.breaker.drop_unset();
    chapters_->queue.show(*board, now);
    chapters_->providers.show(*board, now);
    chapters_->money.show(*board, now);
    chapters_->fairness.show(*board, now);
}

void Probe::forget_what_leads() {
    chapters_->executions.running.drop_unset();
    chapters_->deliveries.breaker.drop_unset();
    chapters_->queue.show_nothing();
    chapters_->providers.show_nothing();
    chapters_->money.show_nothing();
    chapters_->fairness.show_nothing();
    for (auto* gauge : {&chapters_->node.database_wait, &chapters_->node.lock_waits, &chapters_->node.replication_lag})
        gauge->drop_unset();
    show_stalled({});
    show_counts({});
    show_health({});
    show_ledger(std::nullopt, {});
}

void Probe::show_waiting(std::size_t clients) { chapters_->node.waiting.set({}, static_cast<double>(clients)); }

void Probe::stream_dropped() { chapters_->events.streams_dropped.add({}); }

void Probe::show_streams(std::size_t open, domain::Duration lag) {
    chapters_->events.streams.set({}, static_cast<double>(open));
    chapters_->events.stream_lag.set({}, domain::in_seconds(lag));
}

void Probe::removed(std::size_t executions, std::size_t events) {
    chapters_->scheduler.removed.add({"executions"}, static_cast<double>(executions));
    chapters_->scheduler.removed.add({"events"}, static_cast<double>(events));
}

void Probe::told(const webhooks::DeliveryOutcome& outcome) {
    chapters_->events.outbox_deliveries.add({webhooks::name(outcome)});
}

void Probe::show_outbox(const std::vector<Backlog>& backlogs) {
    for (const auto& each : backlogs) {
        chapters_->events.outbox_lag.set({each.organization_id, each.subscriber}, domain::in_seconds(each.lag));
        chapters_->events.outbox_failing.set({each.organization_id, each.subscriber}, each.failing ? 1 : 0);
    }
    chapters_->events.outbox_lag.drop_unset();
    chapters_->events.outbox_failing.drop_unset();
}

void Probe::show_stalled(const std::map<std::string_view, std::int64_t>& causes) {
    for (const auto& [cause, count] : causes) chapters_->executions.stalled.set({cause}, static_cast<double>(count));
    chapters_->executions.stalled.drop_unset();
}

void Probe::show_health(const Health& health) {
    for (const auto& check : health.checks) chapters_->scheduler.healthy.set({check.name}, check.healthy ? 1 : 0);
    chapters_->scheduler.healthy.drop_unset();
}

void Probe::show_counts(const HealthCounts& counts) {
    for (const auto& [state, count] : counts.nodes) chapters_->scheduler.nodes.set({state}, static_cast<double>(count));
    chapters_->scheduler.nodes.drop_unset();
    for (const auto& [lane, count] : counts.dead_letters)
        chapters_->executions.dead_letters.set({lane.organization_id, lane.workflow_type}, static_cast<double>(count));
    chapters_->executions.dead_letters.drop_unset();
    if (counts.locks) chapters_->schedules.locks.set({}, static_cast<double>(*counts.locks));
    chapters_->schedules.locks.drop_unset();
}

void Probe::show_ledger(std::optional<domain::MicroUsd> difference, domain::TimePoint now) {
    if (difference) {
        chapters_->money.difference.set({}, usd(*difference));
        chapters_->money.checked.set({}, domain::in_seconds(now.time_since_epoch()));
    }
    chapters_->money.difference.drop_unset();
    chapters_->money.checked.drop_unset();
}

void Probe::show_database_look(const resource_manager::DatabaseReading& reading) {
    auto& node = chapters_->node;
    node.database_wait.set({"wait"}, domain::in_seconds(reading.wait));
    node.database_wait.set({"write"}, domain::in_seconds(reading.write));
    node.lock_waits.set({}, reading.lock_waits);
    node.replication_lag.set({}, domain::in_seconds(reading.replication_lag));
}

void Probe::spans(std::string_view outcome, std::size_t count) {
    chapters_->events.spans.add({outcome}, static_cast<double>(count));
}

void Probe::schedule_run(std::string_view outcome, std::optional<domain::Duration> late) {
    chapters_->schedules.runs.add({outcome});
    if (late) chapters_->schedules.delay.observe({}, domain::in_seconds(*late));
}

void Probe::timer_due(domain::Duration late) { chapters_->timers.delay.observe({}, domain::in_seconds(late)); }

void Probe::alert_sent(std::string_view receiver, std::string_view outcome) {
    chapters_->alerts.messages.add({receiver, outcome});
}

void Probe::show_alerts(std::optional<std::size_t> firing) {
    if (firing) chapters_->alerts.firing.set({}, static_cast<double>(*firing));
    chapters_->alerts.firing.drop_unset();
}

void Probe::show_batch(int batch) { chapters_->scheduler.batch.set({}, batch); }

void Probe::show_database(int busy, int waiting, int connections, bool reachable) {
    auto& node = chapters_->node;
    node.pool.set({"busy"}, busy);
    node.pool.set({"waiting"}, waiting);
    node.pool.set({"size"}, connections);
    node.reachable.set({}, reachable ? 1 : 0);
}

void Probe::show_version(std::string_view version) { chapters_->node.build.set({version}, 1); }

}
