#pragma once
// Requests to sub-workflows, and what they call back; counted by the node that sends or takes them.

#include "orchestrator/metrics/labels.h"

namespace impresario::orchestrator::metrics {

struct Deliveries {
    Metrics& m;

    Counter deliveries{m,
                       {"impresario_deliveries_total",
                        {kOrganization, kType, {"outcome"}},
                        "Requests to sub-workflows by what became of them: accepted, done, transient, overload, "
                        "endpoint, rejected, unknown."}};
    Histogram duration{m,
                       {"impresario_delivery_duration_seconds",
                        {kOrganization, kType},
                        "From sending a trigger to its answer.",
                        kFast}};
    Counter callbacks{
        m,
        {"impresario_callbacks_total", {{"status"}, {"answer"}}, "Callbacks by status and by how they were answered."}};
    Histogram callback_duration{m,
                                {"impresario_callback_duration_seconds",
                                 {},
                                 "From receiving a callback to answering it, commit included.",
                                 kFast}};
    Gauge breaker{m,
                  {"impresario_endpoint_breaker",
                   {kOrganization, kType, {"endpoint_id", true}},
                   "Circuit breaker of each endpoint: 0 closed, 1 half open, 2 open; by the node that leads.",
                   {},
                   true}};
};

}
