#pragma once
// With a fairness policy: who has what share. By the node that leads.

#include "orchestrator/metrics/labels.h"

namespace impresario::orchestrator {
class Board;
}

namespace impresario::orchestrator::metrics {

struct Fairness {
    Metrics& m;

    Gauge share{m,
                {"impresario_fair_share",
                 {kOrganization, kType, {"what"}},
                 "Shares of organizations (without a type) and of their types, 0 to 1: asked of what waits now, had of "
                 "what was contested in the last minute, and the minimum."}};
    Gauge behind{m,
                 {"impresario_fair_share_behind",
                  {kOrganization, kType},
                  "What would have to start to be level with the foremost, in the policy's measure."}};

    /// Of organizations and types that exist; without a policy nothing of it is told.
    void show(const Board& board, domain::TimePoint now);
    void show_nothing();
};

}
