#pragma once
// One process: its way to the database, who asks it, what it takes of the machine.

#include "orchestrator/metrics/labels.h"

namespace impresario::orchestrator::metrics {

struct Node {
    explicit Node(Metrics& metrics) : m(metrics) {}
    Metrics& m;

    Gauge build{m, {"impresario_build_info", {{"version"}}, "Always 1; the label says which version this node runs."}};
    Gauge role{m,
               {"impresario_node_role",
                {{"role"}},
                "1 for what this node is: scheduler (it delivers as well), delivering, draining."}};
    Gauge reachable{m, {"impresario_database_reachable", {}, "1 while the database answers."}};
    Gauge pool{m,
               {"impresario_database_pool",
                {{"what"}},
                "Connections of this node's pool: size, busy, and jobs waiting for one."}};
    Gauge database_wait{m,
                        {"impresario_database_look_seconds",
                         {{"what"}},
                         "How long the latest look of each second took through the pool (wait), and the slowest write "
                         "of grants before it (write); by the node that leads."}};
    Gauge lock_waits{m,
                     {"impresario_database_lock_waits",
                      {},
                      "Sessions of the hub that waited for locks at that look; by the node that leads."}};
    Gauge replication_lag{m,
                          {"impresario_database_replication_lag_seconds",
                           {},
                           "By how much the slowest replica was behind at that look; by the node that leads."}};
    Counter requests{m,
                     {"impresario_http_requests_total", {{"route"}, {"status"}}, "API requests by route and status."}};
    Histogram request_duration{m,
                               {"impresario_http_request_duration_seconds",
                                {{"route"}},
                                "From receiving an API request to answering it.",
                                kFast}};
    Gauge waiting{m, {"impresario_http_waiting", {}, "Clients that wait for an execution's end (?wait=)."}};
    Counter cpu{m, {"process_cpu_seconds_total", {}, "Processor time this process has used, of user and system."}};
    Gauge resident{m, {"process_resident_memory_bytes", {}, "Memory of this process that is in RAM."}};
    Gauge open_files{m, {"process_open_fds", {}, "Files and connections that it has open."}};
    Gauge most_files{m, {"process_max_fds", {}, "The most that it may have open."}};
    Gauge started{m, {"process_start_time_seconds", {}, "When it was started, in seconds since 1970."}};

    void show_process();

  private:
    double cpu_told_ = 0;
};

}
