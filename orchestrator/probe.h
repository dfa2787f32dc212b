#pragma once
// The hub's metrics. Counters and histograms move as things happen; gauges are read when somebody scrapes.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "domain/execution.h"
#include "domain/lane.h"
#include "platform/metrics.h"
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
    void ended(const domain::Lane& lane, domain::Status status);
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
    void show(const Board* board, const StateMachine* state, domain::TimePoint now, bool leads);
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
    /// told, rejected by the collector, or dropped.
    void spans(std::string_view outcome, std::size_t count);
    /// A message about alerts, and what became of it.
    void alert_sent(std::string_view receiver, std::string_view outcome);
    /// So many fire.
    void show_alerts(std::size_t firing);
    /// A timer has come due, so much later than it was to.
    void timer_due(domain::Duration late);
    void show_batch(int batch);
    void show_database(int busy, int waiting, int connections, bool reachable);

  private:
    void show_weather(const Board& board, domain::TimePoint now);
    void show_shares(const Board& board, domain::TimePoint now);
    struct Families;
    std::unique_ptr<Families> families_;
};

}
