#include "orchestrator/probe.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <set>
#include <utility>
#include <vector>

#include "orchestrator/board.h"
#include "orchestrator/state_machine.h"

namespace impresario::orchestrator {

namespace {
using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Labels;

double seconds(domain::Duration length) { return static_cast<double>(length.count()) / 1e6; }
const Histogram::BucketBoundaries kFast{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20};
const Histogram::BucketBoundaries kSlow{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14400};

Labels lane_labels(const domain::Lane& lane) {
    return {{"organization_id", lane.organization_id}, {"workflow_type", lane.workflow_type}};
}
Labels with(Labels labels, const std::string& name, std::string value) {
    labels[name] = std::move(value);
    return labels;
}

/// Bands of a hundred levels that people can read.
std::string band(int priority) {
    if (priority >= 90) return "critical";
    if (priority >= 70) return "high";
    if (priority >= 50) return "normal";
    return "low";
}
}

struct Probe::Families {
    explicit Families(prometheus::Registry& r)
        : enqueued(BuildCounter()
                       .Name("impresario_executions_enqueued_total")
                       .Help("Executions accepted into the queue by this node.")
                       .Register(r)),
          ended(BuildCounter()
                    .Name("impresario_executions_ended_total")
                    .Help("Executions that reached an outcome through this node.")
                    .Register(r)),
          deliveries(BuildCounter()
                         .Name("impresario_deliveries_total")
                         .Help("Requests to sub-workflows by what became of them.")
                         .Register(r)),
          delivery_seconds(BuildHistogram()
                               .Name("impresario_delivery_duration_seconds")
                               .Help("From sending a trigger to its answer.")
                               .Register(r)),
          dispatch_seconds(BuildHistogram()
                               .Name("impresario_dispatch_wait_seconds")
                               .Help("From becoming due to being granted.")
                               .Register(r)),
          callbacks(BuildCounter()
                        .Name("impresario_callbacks_total")
                        .Help("Callbacks by status and by how they were answered.")
                        .Register(r)),
          callback_seconds(BuildHistogram()
                               .Name("impresario_callback_duration_seconds")
                               .Help("From receiving a callback to answering it, commit included.")
                               .Register(r)),
          requests(BuildCounter()
                       .Name("impresario_http_requests_total")
                       .Help("API requests by route and status.")
                       .Register(r)),
          request_seconds(BuildHistogram()
                              .Name("impresario_http_request_duration_seconds")
                              .Help("From receiving an API request to answering it.")
                              .Register(r)),
          turn_seconds(BuildHistogram()
                           .Name("impresario_turn_duration_seconds")
                           .Help("Turns of the scheduler that granted something.")
                           .Register(r)),
          grants(BuildCounter()
                     .Name("impresario_grants_total")
                     .Help("Attempts granted by this node as scheduler.")
                     .Register(r)),
          gate_closed(BuildCounter()
                          .Name("impresario_gate_closed_seconds_total")
                          .Help("How long a lane that had work was stopped, by gate; counted by the node that leads.")
                          .Register(r)),
          dropped(BuildCounter()
                      .Name("impresario_queue_dropped_total")
                      .Help("Executions that were cancelled because their queue was too long, or their wait.")
                      .Register(r)),
          turned_away(BuildCounter()
                          .Name("impresario_queue_turned_away_total")
                          .Help("Executions that were not taken because their queue was at its soft bound.")
                          .Register(r)),
          fenced(BuildCounter()
                     .Name("impresario_scheduler_fenced_total")
                     .Help("Times this node found that another leads.")
                     .Register(r)),
          illegal(BuildCounter()
                      .Name("impresario_illegal_moves_total")
                      .Help("Moves that the tables of states refused. Should stay 0.")
                      .Register(r)),
          feed(BuildCounter()
                   .Name("impresario_feed_events_total")
                   .Help("Events of other writers read by the scheduler.")
                   .Register(r)),
          depth(BuildGauge()
                    .Name("impresario_queue_depth")
                    .Help("Executions waiting, by lane and priority band.")
                    .Register(r)),
          oldest(BuildGauge()
                     .Name("impresario_queue_oldest_age_seconds")
                     .Help("How long the longest-waiting execution of a lane has been ready.")
                     .Register(r)),
          running(
              BuildGauge().Name("impresario_executions_running").Help("Attempts holding a slot, by lane.").Register(r)),
          breaker(BuildGauge()
                      .Name("impresario_endpoint_breaker")
                      .Help("Circuit breaker of each endpoint: 0 closed, 1 half open, 2 open.")
                      .Register(r)),
          provider_used(BuildGauge()
                            .Name("impresario_provider_used")
                            .Help("What counts against a provider's limit, in its unit (cost: USD).")
                            .Register(r)),
          provider_limit(BuildGauge()
                             .Name("impresario_provider_limit")
                             .Help("The most that a provider's limit gives at once, in its unit (cost: USD).")
                             .Register(r)),
          provider_refill(BuildGauge()
                              .Name("impresario_provider_refill_seconds")
                              .Help("Until one more fits a provider's limit; -1: that depends on requests under way.")
                              .Register(r)),
          provider_keys(BuildGauge()
                            .Name("impresario_provider_limit_keys")
                            .Help("Keys of a provider's limit that count against it, and those with something waiting.")
                            .Register(r)),
          budget(
              BuildGauge()
                  .Name("impresario_budget_usd")
                  .Help(
                      "Of each budget: its limit, what is settled, reserved, in suspense, and what it is heading for.")
                  .Register(r)),
          budget_steps(
              BuildGauge().Name("impresario_budget_steps_on").Help("How many of a budget's steps are on.").Register(r)),
          provider_cooling(BuildGauge()
                               .Name("impresario_provider_cooling_seconds")
                               .Help("Until a provider that has refused, or says that nothing is left, is asked again.")
                               .Register(r)),
          provider_learnt(BuildGauge()
                              .Name("impresario_provider_learnt_limit")
                              .Help("Requests in its window that go well with a provider since it has refused; -1: "
                                    "nothing limits it but what is declared.")
                              .Register(r)),
          fair_share(BuildGauge()
                         .Name("impresario_fair_share")
                         .Help("With a fairness policy, of organizations and of their types (0 to 1): what is asked "
                               "to have of what waits now, what was had of what was contested in the last minute, and "
                               "the minimum.")
                         .Register(r)),
          fair_behind(BuildGauge()
                          .Name("impresario_fair_share_behind")
                          .Help("What would have to start to be level with the foremost, in the policy's measure.")
                          .Register(r)),
          memory(BuildGauge()
                     .Name("impresario_memory_mb")
                     .Help("Memory that executions share, in MB: reserved by what runs, and the limit.")
                     .Register(r)),
          state_seconds(BuildGauge()
                            .Name("impresario_state_seconds")
                            .Help("Time the scheduler has spent in each state since it took over.")
                            .Register(r)),
          state(BuildGauge().Name("impresario_state").Help("1 for the state the scheduler is in.").Register(r)),
          leader(BuildGauge().Name("impresario_scheduler").Help("1 on the node that leads.").Register(r)),
          database(BuildGauge()
                       .Name("impresario_database_pool")
                       .Help("Connections of this node's pool: size, busy, and jobs waiting for one.")
                       .Register(r)),
          reachable(
              BuildGauge().Name("impresario_database_reachable").Help("1 while the database answers.").Register(r)),
          batch(BuildGauge()
                    .Name("impresario_batch_limit")
                    .Help("Most grants of one turn: fewer while the database or the hub's memory is short.")
                    .Register(r)),
          waiting(BuildGauge()
                      .Name("impresario_http_waiting")
                      .Help("Clients that wait for an execution's end (?wait=).")
                      .Register(r)),
          streams(BuildGauge().Name("impresario_event_streams").Help("Open streams of events.").Register(r)),
          stream_lag(BuildGauge()
                         .Name("impresario_event_stream_lag_seconds")
                         .Help("How long events have waited for a transaction that does not end.")
                         .Register(r)),
          streams_dropped(BuildCounter()
                              .Name("impresario_event_streams_dropped_total")
                              .Help("Streams of events that were hung up on: their readers were too slow.")
                              .Register(r)),
          removed(BuildCounter()
                      .Name("impresario_retention_removed_total")
                      .Help("What had ended long ago and was removed: executions, events.")
                      .Register(r)),
          stalled(BuildGauge()
                      .Name("impresario_stalled_executions")
                      .Help("Active and not heard of for a while, by what has most likely happened.")
                      .Register(r)),
          spans(BuildCounter()
                    .Name("impresario_trace_spans_total")
                    .Help("Spans by what became of them: told to the collector, rejected by it, dropped.")
                    .Register(r)),
          alert_messages(BuildCounter()
                             .Name("impresario_alert_messages_total")
                             .Help("Messages about alerts by receiver and by what became of them.")
                             .Register(r)),
          alerts_firing(BuildGauge()
                            .Name("impresario_alerts_firing")
                            .Help("Alerts that fire, as the node knows that leads.")
                            .Register(r)),
          timer_delay(BuildHistogram()
                          .Name("impresario_timer_delay_seconds")
                          .Help("From when a timer was due to when its stream said so.")
                          .Register(r)),
          outbox_deliveries(BuildCounter()
                                .Name("impresario_outbox_deliveries_total")
                                .Help("Requests that tell subscribers of events by what became of them.")
                                .Register(r)),
          outbox_lag(BuildGauge()
                         .Name("impresario_outbox_lag_seconds")
                         .Help("For how long the oldest event has waited that a subscriber has not taken.")
                         .Register(r)),
          outbox_failing(BuildGauge()
                             .Name("impresario_outbox_failing")
                             .Help("1 for a subscriber that has taken nothing for several requests.")
                             .Register(r)) {}

    Family<Counter>& enqueued;
    Family<Counter>& ended;
    Family<Counter>& deliveries;
    Family<Histogram>& delivery_seconds;
    Family<Histogram>& dispatch_seconds;
    Family<Counter>& callbacks;
    Family<Histogram>& callback_seconds;
    Family<Counter>& requests;
    Family<Histogram>& request_seconds;
    Family<Histogram>& turn_seconds;
    Family<Counter>& grants;
    Family<Counter>& gate_closed;
    Family<Counter>& dropped;
    Family<Counter>& turned_away;
    Family<Counter>& fenced;
    Family<Counter>& illegal;
    Family<Counter>& feed;
    Family<Gauge>& depth;
    Family<Gauge>& oldest;
    Family<Gauge>& running;
    Family<Gauge>& breaker;
    Family<Gauge>& provider_used;
    Family<Gauge>& provider_limit;
    Family<Gauge>& provider_refill;
    Family<Gauge>& provider_keys;
    Family<Gauge>& budget;
    Family<Gauge>& budget_steps;
    Family<Gauge>& provider_cooling;
    Family<Gauge>& provider_learnt;
    Family<Gauge>& fair_share;
    Family<Gauge>& fair_behind;
    /// What was shown last of these two.
    std::vector<std::pair<Family<Gauge>*, Gauge*>> fair_shown;
    Family<Gauge>& memory;
    Family<Gauge>& state_seconds;
    Family<Gauge>& state;
    Family<Gauge>& leader;
    Family<Gauge>& database;
    Family<Gauge>& reachable;
    Family<Gauge>& batch;
    Family<Gauge>& waiting;
    Family<Gauge>& streams;
    Family<Gauge>& stream_lag;
    Family<Counter>& streams_dropped;
    Family<Counter>& removed;
    Family<Gauge>& stalled;
    Family<Counter>& spans;
    Family<Counter>& alert_messages;
    Family<Gauge>& alerts_firing;
    Family<Histogram>& timer_delay;
    Family<Counter>& outbox_deliveries;
    Family<Gauge>& outbox_lag;
    Family<Gauge>& outbox_failing;
    /// What was shown last of these two.
    std::vector<std::pair<Family<Gauge>*, Gauge*>> outbox_shown;
    std::vector<Gauge*> stalled_shown;
};

Probe::Probe(platform::Metrics& metrics) : families_(std::make_unique<Families>(metrics.registry())) {}
Probe::~Probe() = default;

void Probe::enqueued(const domain::Lane& lane, std::size_t count) {
    families_->enqueued.Add(lane_labels(lane)).Increment(static_cast<double>(count));
}
void Probe::ended(const domain::Lane& lane, domain::Status status) {
    families_->ended.Add(with(lane_labels(lane), "outcome", std::string(name(status)))).Increment();
}

void Probe::delivered(const domain::Lane& lane, const webhooks::DeliveryOutcome& outcome, domain::Duration took) {
    families_->deliveries.Add(with(lane_labels(lane), "outcome", std::string(webhooks::name(outcome)))).Increment();
    families_->delivery_seconds.Add(lane_labels(lane), kFast).Observe(seconds(took));
}
void Probe::dispatched(const domain::Lane& lane, domain::Duration waited) {
    families_->dispatch_seconds.Add(lane_labels(lane), kSlow).Observe(seconds(waited));
}

void Probe::callback(std::string_view status, int answered, domain::Duration took) {
    families_->callbacks.Add({{"status", std::string(status)}, {"answer", std::to_string(answered)}}).Increment();
    families_->callback_seconds.Add({}, kFast).Observe(seconds(took));
}
void Probe::request(std::string_view route, int status, domain::Duration took) {
    families_->requests.Add({{"route", std::string(route)}, {"status", std::to_string(status)}}).Increment();
    families_->request_seconds.Add({{"route", std::string(route)}}, kFast).Observe(seconds(took));
}
void Probe::turn(domain::Duration took) { families_->turn_seconds.Add({}, kFast).Observe(seconds(took)); }
void Probe::granted(std::size_t count) { families_->grants.Add({}).Increment(static_cast<double>(count)); }
void Probe::gate_closed(const domain::Lane& lane, domain::GateKind kind, domain::Duration length) {
    families_->gate_closed.Add(with(lane_labels(lane), "gate", std::string(name(kind)))).Increment(seconds(length));
}
void Probe::dropped(std::string_view reason, std::size_t count) {
    families_->dropped.Add({{"reason", std::string(reason)}}).Increment(static_cast<double>(count));
}
void Probe::turned_away(std::size_t count) { families_->turned_away.Add({}).Increment(static_cast<double>(count)); }
void Probe::alert_sent(std::string_view receiver, std::string_view outcome) {
    families_->alert_messages.Add({{"receiver", std::string(receiver)}, {"outcome", std::string(outcome)}}).Increment();
}
void Probe::show_alerts(std::size_t firing) { families_->alerts_firing.Add({}).Set(static_cast<double>(firing)); }
void Probe::timer_due(domain::Duration late) { families_->timer_delay.Add({}, kFast).Observe(seconds(late)); }
void Probe::fenced() { families_->fenced.Add({}).Increment(); }
void Probe::illegal_move() { families_->illegal.Add({}).Increment(); }
void Probe::feed_events(std::size_t count) { families_->feed.Add({}).Increment(static_cast<double>(count)); }

void Probe::show(const Board* board, const StateMachine* state, domain::TimePoint now, bool leads) {
    families_->leader.Add({}).Set(leads ? 1 : 0);
    for (int i = 0; i < kHubStates; ++i) {
        const auto each = static_cast<HubState>(i);
        const Labels labels{{"state", std::string(name(each))}};
        families_->state.Add(labels).Set(state && state->state() == each ? 1 : 0);
        families_->state_seconds.Add(labels).Set(state ? seconds(state->time_in(now)[static_cast<std::size_t>(i)]) : 0);
    }
    if (!board) return show_stalled({});
    for (const auto& lane : board->lanes()) {
        const auto* order = board->order(lane);
        std::map<std::string, double> bands{{"critical", 0}, {"high", 0}, {"normal", 0}, {"low", 0}};
        for (const auto& [priority, count] : order->by_priority()) bands[band(priority)] += static_cast<double>(count);
        for (const auto& [each, count] : bands) families_->depth.Add(with(lane_labels(lane), "band", each)).Set(count);
        const auto oldest = order->oldest_ready();
        families_->oldest.Add(lane_labels(lane)).Set(oldest ? seconds(now - *oldest) : 0);
        families_->running.Add(lane_labels(lane)).Set(board->in_use(lane));
    }
    families_->memory.Add({{"what", "reserved"}}).Set(static_cast<double>(board->memory_reserved_mb()));
    families_->memory.Add({{"what", "limit"}}).Set(static_cast<double>(board->memory_total_mb()));
    for (const auto& each : board->breakers())
        families_->breaker.Add(with(lane_labels(each.lane), "endpoint_id", each.endpoint.text()))
            .Set(static_cast<double>(each.state));
    for (const auto& each : board->meters().all()) {
        const auto& limit = each.meter->limit();
        const double unit = limit.of == resource_manager::Measure::cost ? 1e6 : 1;
        const std::map<std::string, std::string> labels{
            {"provider", each.provider}, {"limit", limit.name}, {"subject", each.subject}};
        const auto next = each.meter->fits_at(1, now);
        families_->provider_used.Add(labels).Set(static_cast<double>(each.meter->used(now)) / unit);
        families_->provider_limit.Add(labels).Set(static_cast<double>(limit.capacity()) / unit);
        families_->provider_refill.Add(labels).Set(next ? seconds(*next - now) : -1);
        if (!each.keys) continue;
        // How many, never which: there may be a million.
        families_->provider_keys.Add(with(labels, "what", "in_use")).Set(static_cast<double>(each.keys->size()));
        families_->provider_keys.Add(with(labels, "what", "waiting")).Set(static_cast<double>(each.keys->waiting()));
    }
    for (const auto& each : board->budgets()) {
        const auto balance = each.counted(now);
        const auto set = [&](const char* what, domain::MicroUsd amount) {
            families_->budget
                .Add(
                    {{"budget", each.budget.name}, {"organization", each.budget.scope.organization_id}, {"what", what}})
                .Set(static_cast<double>(amount.value) / 1e6);
        };
        set("limit", each.budget.limit);
        set("settled", balance.settled);
        set("reserved", balance.reserved);
        set("suspense", balance.suspense);
        set("forecast", resource_manager::forecast(each, now).at_end);
        families_->budget_steps.Add({{"budget", each.budget.name}, {"organization", each.budget.scope.organization_id}})
            .Set(static_cast<double>(each.steps_on));
    }
    show_weather(*board, now);
    show_shares(*board, now);
}

/// Of organizations and types that exist; without a policy nothing of it is told.
void Probe::show_shares(const Board& board, domain::TimePoint now) {
    for (const auto& [family, gauge] : std::exchange(families_->fair_shown, {})) family->Remove(gauge);
    if (!board.shares()) return;
    std::set<std::string> organizations;
    for (const auto& [lane, type] : board.catalogue()->types) organizations.insert(lane.organization_id);
    const auto set = [&](Family<Gauge>& family, const Labels& labels, double value) {
        auto& gauge = family.Add(labels);
        gauge.Set(value);
        families_->fair_shown.emplace_back(&family, &gauge);
    };
    const auto standings = board.shares()->standings(now);
    for (const auto& each : standings) {
        const domain::Lane lane{each.share.organization_id, each.share.workflow_type};
        if (!lane.workflow_type.empty() ? !board.catalogue()->find(lane)
                                        : !organizations.contains(lane.organization_id))
            continue;
        const auto labels = lane_labels(lane);
        set(families_->fair_share, with(labels, "what", "asked"), each.asked_percent.value_or(0) / 100);
        set(families_->fair_share, with(labels, "what", "had"), each.had_percent.value_or(0) / 100);
        set(families_->fair_share, with(labels, "what", "minimum"), each.share.minimum_percent / 100);
        set(families_->fair_behind, labels, each.behind);
    }
}

void Probe::show_weather(const Board& board, domain::TimePoint now) {
    for (const auto& [provider, weather] : board.meters().weather()) {
        const auto& record = weather.record();
        auto until = now;
        if (weather.cooling(now)) until = *record.cooling_until;
        if (weather.left(now) == 0) until = std::max(until, record.quota->until);
        families_->provider_cooling.Add({{"provider", provider}}).Set(seconds(until - now));
        families_->provider_learnt.Add({{"provider", provider}})
            .Set(static_cast<double>(weather.allowed(now).value_or(-1)));
    }
}

void Probe::show_waiting(std::size_t clients) { families_->waiting.Add({}).Set(static_cast<double>(clients)); }

void Probe::stream_dropped() { families_->streams_dropped.Add({}).Increment(); }

void Probe::show_streams(std::size_t open, domain::Duration lag) {
    families_->streams.Add({}).Set(static_cast<double>(open));
    families_->stream_lag.Add({}).Set(seconds(lag));
    // There from the first scrape.
    families_->streams_dropped.Add({});
}

void Probe::removed(std::size_t executions, std::size_t events) {
    families_->removed.Add({{"what", "executions"}}).Increment(static_cast<double>(executions));
    families_->removed.Add({{"what", "events"}}).Increment(static_cast<double>(events));
}

void Probe::told(const webhooks::DeliveryOutcome& outcome) {
    families_->outbox_deliveries.Add({{"outcome", std::string(webhooks::name(outcome))}}).Increment();
}

void Probe::show_outbox(const std::vector<Backlog>& backlogs) {
    for (const auto& [family, gauge] : std::exchange(families_->outbox_shown, {})) family->Remove(gauge);
    const auto set = [&](Family<Gauge>& family, const Labels& labels, double value) {
        auto& gauge = family.Add(labels);
        gauge.Set(value);
        families_->outbox_shown.emplace_back(&family, &gauge);
    };
    for (const auto& each : backlogs) {
        const Labels labels{{"organization_id", each.organization_id}, {"subscriber", each.subscriber}};
        set(families_->outbox_lag, labels, seconds(each.lag));
        set(families_->outbox_failing, labels, each.failing ? 1 : 0);
    }
}

void Probe::show_stalled(const std::map<std::string_view, std::int64_t>& causes) {
    for (auto* gauge : std::exchange(families_->stalled_shown, {})) families_->stalled.Remove(gauge);
    for (const auto& [cause, count] : causes) {
        auto& gauge = families_->stalled.Add({{"cause", std::string(cause)}});
        families_->stalled_shown.push_back(&gauge);
        gauge.Set(static_cast<double>(count));
    }
}

void Probe::spans(std::string_view outcome, std::size_t count) {
    families_->spans.Add({{"outcome", std::string(outcome)}}).Increment(static_cast<double>(count));
}

void Probe::show_batch(int batch) { families_->batch.Add({}).Set(batch); }

void Probe::show_database(int busy, int waiting, int connections, bool reachable) {
    families_->database.Add({{"what", "busy"}}).Set(busy);
    families_->database.Add({{"what", "waiting"}}).Set(waiting);
    families_->database.Add({{"what", "size"}}).Set(connections);
    families_->reachable.Add({}).Set(reachable ? 1 : 0);
}

}
