#pragma once
// Who is told of what happens: subscribers (docs/outbox.md), streams (docs/events.md), traces (docs/tracing.md).

#include "orchestrator/metrics/labels.h"

namespace impresario::orchestrator::metrics {

struct Events {
    Metrics& m;

    Counter outbox_deliveries{m,
                              {"impresario_outbox_deliveries_total",
                               {{"outcome"}},
                               "Requests that tell subscribers of events, by what became of them."}};
    Gauge outbox_lag{m,
                     {"impresario_outbox_lag_seconds",
                      {kOrganization, {"subscriber", true}},
                      "For how long the oldest event has waited that a subscriber has not taken; by the node that "
                      "leads.",
                      {},
                      true}};
    Gauge outbox_failing{m,
                         {"impresario_outbox_failing",
                          {kOrganization, {"subscriber", true}},
                          "1 for a subscriber that has taken nothing for several requests; by the node that leads."}};
    Gauge streams{m, {"impresario_event_streams", {}, "Open streams of events."}};
    Gauge stream_lag{m,
                     {"impresario_event_stream_lag_seconds",
                      {},
                      "How long events have waited for a transaction that does not end; the log names it."}};
    Counter streams_dropped{m,
                            {"impresario_event_streams_dropped_total",
                             {},
                             "Streams of events that were hung up on: their readers were too slow."}};
    Counter spans{m,
                  {"impresario_trace_spans_total",
                   {{"outcome"}},
                   "Spans by what became of them: told to the collector, rejected by it, dropped."}};
};

}
