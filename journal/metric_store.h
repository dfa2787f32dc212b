#pragma once
// orchestrator_metrics of 003: how the hub was doing, minute by minute, for whoever asks with SQL.

#include <optional>
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
    /// nullopt: now.
    std::optional<domain::TimePoint> at = std::nullopt;
};

/// Borrows a transaction. Stateless; any thread.
class MetricStore {
  public:
    void record(platform::Tx& tx, const std::vector<Measurement>& measurements) const;
    /// Deletes what is older than 30 days, some of it at a time; what an hour came to is kept for 70 days, what a day or a
    /// week did for 400.
    void forget(platform::Tx& tx) const;
};

}
