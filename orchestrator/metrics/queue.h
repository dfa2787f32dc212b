#pragma once
// Who waits, for how long, and what for. Gauges by the node that leads.

#include "orchestrator/metrics/labels.h"

namespace impresario::orchestrator {
class Board;
}

namespace impresario::orchestrator::metrics {

struct Queue {
    Metrics& m;

    Gauge depth{m,
                {"impresario_queue_depth",
                 {kOrganization, kType, {"band"}},
                 "Executions waiting, by priority: critical from 90, high from 70, normal from 50, low."}};
    Gauge oldest{m,
                 {"impresario_queue_oldest_age_seconds",
                  {kOrganization, kType},
                  "For how long the one that has waited longest has been ready.",
                  {},
                  true}};
    Gauge starving{m,
                   {"impresario_queue_starving",
                    {kOrganization, kType},
                    "Executions that have waited beyond their type's max_wait_seconds; of a lane 1,000 are counted."}};
    Gauge drain{m,
                {"impresario_queue_drain_seconds",
                 {kOrganization, kType},
                 "How long what waits takes to leave the queue, as fast as in the last minute; without an end (+Inf) "
                 "while nothing leaves it.",
                 {},
                 true}};
    Histogram wait{
        m, {"impresario_dispatch_wait_seconds", {kOrganization, kType}, "From becoming due to being granted.", kSlow}};
    Counter gate_closed{m,
                        {"impresario_gate_closed_seconds_total",
                         {kOrganization, kType, {"gate"}},
                         "How long a lane that had work was stopped by a gate."}};
    Counter dropped{
        m,
        {"impresario_queue_dropped_total",
         {{"reason"}},
         "Executions that were cancelled because their queue was too long (shed), or their wait (expired)."}};
    Counter turned_away{m,
                        {"impresario_queue_turned_away_total",
                         {},
                         "Executions that were not taken because their queue was at its soft bound."}};

    void show(const Board& board, domain::TimePoint now);
    /// This node does not lead.
    void show_nothing();
};

}
