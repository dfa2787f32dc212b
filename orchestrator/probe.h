#pragma once
// Whom the hub tells what has happened, for its metrics. What each of them is stands in metrics/, one file a chapter.
// Counters and histograms move as things happen; gauges are read when somebody scrapes.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/lane.h"
#include "orchestrator/command.h"
#include "orchestrator/health_store.h"
#include "platform/metrics.h"
#include "resource_manager/throttle.h"
#include "webhooks/outcome.h"

namespace impresario::orchestrator {

class Board;
class StateMachine;

/// Network thread only.
class Probe {
  public:
    explicit Probe(platform::Metrics& metrics);
    ~Probe();

    void enqueued(const domain::Lane& lane, std::size_t count);
    /// What a transaction has come to.
    void counted(const Counts& counts);
    /// `type`: of its lane; null where it is gone.
    void attempt_over(const AttemptOver& over, const subworkflows::WorkflowType* type, domain::TimePoint now);
    /// A provider says that it has had enough.
    void refused(const std::string& provider);
    void delivered(const domain::Lane& lane, const webhooks::DeliveryOutcome& outcome, domain::Duration took);
    /// From becoming due to being granted.
    void dispatched(const domain::Lane& lane, domain::Duration waited);
    void callback(std::string_view status, int answered, domain::Duration took);
    void request(std::string_view route, int status, domain::Duration took);
    /// A turn that granted.
    void turn(domain::Duration took);
    void granted(std::size_t count);
    /// A lane that had work was stopped by such a gate for so long.
    void gate_closed(const domain::Lane& lane, domain::GateKind kind, domain::Duration length);
    /// Left the queue without having run: shed or expired.
    void dropped(std::string_view reason, std::size_t count);
    /// An enqueue was asked to come back later.
    void turned_away(std::size_t count);
    void fenced();
    void illegal_move();
    void feed_events(std::size_t count);

    /// Before a scrape: what memory shows now. Null board: this node does not lead.
    void show(const Board* board, const StateMachine* state, const subworkflows::Catalogue& catalogue,
              domain::TimePoint now, bool leads, bool draining);
    /// Clients that wait for an execution's end.
    void show_waiting(std::size_t clients);
    /// A reader of events was too slow.
    void stream_dropped();
    /// `lag`: how long events have waited for a transaction that does not end.
    void show_streams(std::size_t open, domain::Duration lag);
    /// What ended long ago and is gone now.
    void removed(std::size_t executions, std::size_t events);
    /// A request that tells a subscriber of an event.
    void told(const webhooks::DeliveryOutcome& outcome);
    /// Each subscriber that this node tells, and for how long the oldest event has waited that it has not taken.
    struct Backlog {
        std::string organization_id;
        std::string subscriber;
        domain::Duration lag{0};
        bool failing = false;
    };
    void show_outbox(const std::vector<Backlog>& backlogs);
    /// How many are active and have not been heard of for a while, by what has most likely happened.
    void show_stalled(const std::map<std::string_view, std::int64_t>& causes);
    void show_counts(const HealthCounts& counts);
    /// By check: 1 healthy; of the node that leads.
    void show_health(const Health& health);
    /// nullopt: this node does not know, because it does not lead or it took too long.
    void show_ledger(std::optional<domain::MicroUsd> difference, domain::TimePoint now);
    void show_database_look(const resource_manager::DatabaseReading& reading);
    /// told, rejected by the collector, or dropped.
    void spans(std::string_view outcome, std::size_t count);
    /// A message about alerts, and what became of it.
    void alert_sent(std::string_view receiver, std::string_view outcome);
    /// So many fire; nullopt: this node does not lead.
    void show_alerts(std::optional<std::size_t> firing);
    /// What became of a due time; where it was started, how late.
    void schedule_run(std::string_view outcome, std::optional<domain::Duration> late);
    /// A timer has come due, so much later than it was to.
    void timer_due(domain::Duration late);
    void show_batch(int batch);
    void show_database(int busy, int waiting, int connections, bool reachable);
    void show_version(std::string_view version);

  private:
    /// What only the node that leads knows.
    void forget_what_leads();
    struct Chapters;
    std::unique_ptr<Chapters> chapters_;
};

}
