#pragma once
// When one of a lane last started and last ended: what paces its next start. Borrows a transaction. Stateless; any
// thread.

#include <optional>
#include <set>
#include <vector>

#include "domain/lane.h"
#include "domain/time.h"
#include "platform/sql.h"

namespace impresario::orchestrator {

struct LaneTimes {
    domain::Lane lane;
    std::optional<domain::TimePoint> started_at;
    std::optional<domain::TimePoint> ended_at;
    friend bool operator==(const LaneTimes&, const LaneTimes&) = default;
};

/// Executions are locked before, budgets after: so nobody waits for another in a circle.
class LaneTimesStore {
  public:
    /// Those that are later than what is known.
    void note(platform::Tx& tx, const std::vector<LaneTimes>& times) const;
    /// Of these lanes, as they stay until the transaction ends. Lanes of which nothing is known yet are left out.
    std::vector<LaneTimes> lock(platform::Tx& tx, const std::set<domain::Lane>& lanes) const;
    std::vector<LaneTimes> load(platform::Tx& tx) const;
};

}
