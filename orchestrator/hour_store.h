#pragma once
// What each hour of each lane came to, as lines of orchestrator_metrics. Borrows a transaction. Stateless; any thread.

#include <optional>
#include <string>
#include <vector>

#include "orchestrator/anomalies.h"
#include "platform/sql.h"

namespace impresario::orchestrator {

class HourStore {
  public:
    /// The hour after the last one that was written down; where none was, the one in which something first ended, but
    /// at most so long ago. nullopt: nothing has ended yet.
    std::optional<domain::TimePoint> next(platform::Tx& tx, domain::Duration longest) const;
    /// nullopt: the hour is passed over, and says nothing about what is usual.
    void write(platform::Tx& tx, domain::TimePoint hour,
               const std::optional<std::map<LaneSeries, double>>& values) const;
    struct Hours {
        /// Of the hour itself; nullopt: it was passed over, or it is before anything ended.
        std::optional<std::map<LaneSeries, double>> values;
        bool passed_over = false;
        /// Of those before it.
        HourHistory history;
    };
    /// The hour `at`, and those before it that are of the same hour of the day, as far back as that.
    Hours read(platform::Tx& tx, domain::TimePoint at, domain::Duration longest) const;
    /// Of each, the executions that are likeliest to be behind it: of that hour, the most expensive, slowest, failed or
    /// latest. As many as were asked for, in their order.
    std::vector<std::vector<std::string>> evidence(platform::Tx& tx, const std::vector<LaneSeries>& asked,
                                                   domain::TimePoint hour) const;
};

}
