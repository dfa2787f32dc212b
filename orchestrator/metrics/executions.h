#pragma once
// What was asked for, what became of it, how long it took and what it cost, by lane: counted by the node through which
// it happened, so it adds up over the nodes.

#include "orchestrator/metrics/labels.h"

namespace impresario::orchestrator::metrics {

struct Executions {
    Metrics& m;

    Counter enqueued{m,
                     {"impresario_executions_enqueued_total",
                      {kOrganization, kType},
                      "Executions accepted into the queue by this node."}};
    Counter ended{m,
                  {"impresario_executions_ended_total",
                   {kOrganization, kType, {"outcome"}},
                   "Executions that reached an outcome through this node: completed, failed, cancelled, dead."}};
    Histogram duration{m,
                       {"impresario_execution_duration_seconds",
                        {kOrganization, kType},
                        "From the first start of an execution to its end, waits between its attempts included.",
                        kSlow}};
    Counter items{m,
                  {"impresario_items_processed_total",
                   {kOrganization, kType},
                   "Items that sub-workflows say they have delivered, of executions that have ended."}};
    Counter cost{m,
                 {"impresario_cost_usd_total",
                  {kOrganization, kType},
                  "What attempts have cost, as reported; the ledger is exact."}};
    Counter attempts{m,
                     {"impresario_attempts_total",
                      {kOrganization, kType, {"outcome"}},
                      "Attempts that are over: completed, failed, timeout, lost, partial, exhausted, rejected, "
                      "cancelled, superseded, late."}};
    Histogram attempt_duration{m,
                               {"impresario_attempt_duration_seconds",
                                {kOrganization, kType},
                                "From the grant of an attempt to its end.",
                                kSlow}};
    Histogram timeout_used{m,
                           {"impresario_attempt_timeout_used_ratio",
                            {kOrganization, kType},
                            "How much of its timeout an attempt had used when it ended, counted from its grant or its "
                            "latest heartbeat.",
                            {0.1, 0.25, 0.5, 0.8, 0.9, 1}}};
    Counter retries{
        m,
        {"impresario_retries_total",
         {kOrganization, kType, {"reason"}},
         "Failures after which an execution is tried again: delivery_failed, unknown, timeout, lost, reported, "
         "throttled, asked_by_sql."}};
    Histogram retry_delay{m,
                          {"impresario_retry_delay_seconds",
                           {kOrganization, kType},
                           "How long such an execution waits for its next try.",
                           kSlow}};
    Gauge running{m,
                  {"impresario_executions_running",
                   {kOrganization, kType},
                   "Attempts that hold a slot of their lane; by the node that leads."}};
    Gauge dead_letters{m,
                       {"impresario_dead_letters",
                        {kOrganization, kType},
                        "Dead letters that nobody has decided about; looked at once a minute by the node that leads."}};
    Gauge stalled{m,
                  {"impresario_stalled_executions",
                   {{"cause"}},
                   "Active and not heard of for a while, by what has most likely happened; looked at once a minute by "
                   "the node that leads."}};

    /// What may happen in a lane is there before it does, so that its first increase is seen as one.
    void begin(const domain::Lane& lane) {
        const auto& [organization, type] = lane;
        enqueued.add({organization, type}, 0);
        for (const auto* outcome : {"completed", "failed", "cancelled", "dead"})
            ended.add({organization, type, outcome}, 0);
        items.add({organization, type}, 0);
        cost.add({organization, type}, 0);
    }
};

}
