#pragma once
// The decision loop: by the node that leads, unless it says otherwise.

#include <map>
#include <string_view>

#include "orchestrator/metrics/labels.h"

namespace impresario::orchestrator {
class Board;
class StateMachine;
}

namespace impresario::orchestrator::metrics {

struct Scheduler {
    explicit Scheduler(Metrics& metrics) : m(metrics) {}
    Metrics& m;

    Gauge leads{m, {"impresario_scheduler", {}, "1 on the node that leads, 0 on the others."}};
    Gauge nodes{
        m,
        {"impresario_nodes",
         {{"state"}},
         "Nodes by their state: delivering, draining, lost (its lease has run out without a word); looked at once "
         "a minute."}};
    Gauge state{m, {"impresario_state", {{"state"}}, "1 for the state that the scheduler is in."}};
    Counter state_seconds{m,
                          {"impresario_state_seconds_total",
                           {{"state"}},
                           "Time that the scheduler has spent in each state, on the node that led."}};
    Histogram turn{m,
                   {"impresario_turn_duration_seconds", {}, "Turns of the scheduler that granted something.", kFast}};
    Counter grants{m, {"impresario_grants_total", {}, "Attempts granted by this node as scheduler."}};
    Gauge batch{m,
                {"impresario_batch_limit",
                 {},
                 "Most grants of one turn: fewer while the database or the hub's memory is short."}};
    Gauge memory{
        m,
        {"impresario_memory_bytes", {{"what"}}, "Memory that executions share: reserved by what runs, and the limit."}};
    Counter feed{m, {"impresario_feed_events_total", {}, "Events of other writers that the scheduler has read."}};
    Counter fenced{m, {"impresario_scheduler_fenced_total", {}, "Times this node found that another leads."}};
    Counter illegal{m,
                    {"impresario_illegal_moves_total",
                     {},
                     "Moves that the tables of states refused, by this node. Should stay 0."}};
    Gauge healthy{m,
                  {"impresario_healthy",
                   {{"check"}},
                   "1 for each check of health that finds nothing, 0 where it does; looked at once a minute."}};
    Counter removed{m,
                    {"impresario_retention_removed_total",
                     {{"what"}},
                     "What had ended long ago and was removed: executions, events."}};

    /// Null board: this node does not lead.
    void show(const Board* board, const StateMachine* machine, domain::TimePoint now);

  private:
    void show_states(const StateMachine* machine, domain::TimePoint now);
    /// Of the time in each state what has been counted; every lead begins anew.
    std::map<std::string_view, double> told_;
};

}
