#pragma once
// orchestrator_metrics of 003: how the hub was doing, minute by minute, for whoever asks with SQL.

#include <string>
#include <vector>

#include "platform/sql.h"

namespace impresario::journal {

struct Measurement {
    /// queue_depth, oldest_waiting_seconds, running, …
    std::string type;
    double value = 0;
    /// JSON object: what it is about.
    std::string metadata = "{}";
};

/// Borrows a transaction. Stateless; any thread.
class MetricStore {
  public:
    void record(platform::Tx& tx, const std::vector<Measurement>& measurements) const;
    /// Deletes what is older than 30 days, some of it at a time.
    void forget(platform::Tx& tx) const;
};

}
