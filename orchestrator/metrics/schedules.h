#pragma once
// Work that is due again and again, and whose turn it is (docs/schedules.md, docs/locks.md).

#include "orchestrator/metrics/labels.h"

namespace impresario::orchestrator::metrics {

struct Schedules {
    Metrics& m;

    Counter runs{m,
                 {"impresario_schedule_runs_total",
                  {{"outcome"}},
                  "Due times of schedules by what became of them: started, waiting, skipped, missed, refused."}};
    Histogram delay{m,
                    {"impresario_schedule_delay_seconds",
                     {},
                     "From when a run was due to when it was started; what had to wait for another is in it.",
                     kSlow}};
    Gauge locks{m, {"impresario_locks_held", {}, "Locks that somebody holds; by the node that leads."}};
};

}
