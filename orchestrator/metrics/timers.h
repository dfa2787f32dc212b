#pragma once
// What waits for a time (docs/timers.md).

#include "orchestrator/metrics/labels.h"

namespace impresario::orchestrator::metrics {

struct Timers {
    Metrics& m;

    Histogram delay{m,
                    {"impresario_timer_delay_seconds",
                     {},
                     "From when a timer was due to when its stream said so.",
                     kFast}};
};

}
