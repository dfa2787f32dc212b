#pragma once
// Who is told of alerts (docs/alerts.md).

#include "orchestrator/metrics/labels.h"

namespace impresario::orchestrator::metrics {

struct Alerts {
    Metrics& m;

    Gauge firing{m, {"impresario_alerts_firing", {}, "Alerts that fire; by the node that leads."}};
    Counter messages{m,
                     {"impresario_alert_messages_total",
                      {{"receiver", true}, {"outcome"}},
                      "Messages about alerts by receiver and by what became of them."}};
};

}
