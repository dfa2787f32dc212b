#pragma once
// Budgets and the ledger. By the node that leads.

#include "orchestrator/metrics/labels.h"

namespace impresario::orchestrator {
class Board;
}

namespace impresario::orchestrator::metrics {

struct Money {
    Metrics& m;

    // A budget of no organization counts for all of them.
    Gauge budget{m,
                 {"impresario_budget_usd",
                  {{"budget", true}, kOrganization, {"what"}},
                  "Of each budget in its present window: limit, settled, reserved, suspense (perhaps running), and "
                  "forecast, what will count at its end."}};
    Gauge steps{m,
                {"impresario_budget_steps_on",
                 {{"budget", true}, kOrganization},
                 "How many of a budget's steps are on.",
                 {},
                 true}};
    Gauge difference{
        m,
        {"impresario_ledger_difference_usd",
         {},
         "What balances and the sums of their entries differ by, over all budgets. Is 0; fsck has the rest."}};
    Gauge checked{m,
                  {"impresario_ledger_checked_timestamp_seconds",
                   {},
                   "When that was last looked at; as seldom as it takes long.",
                   {},
                   true}};

    void show(const Board& board, domain::TimePoint now);
    void show_nothing();
};

}
