#pragma once
// Which executions have been quiet for long. Borrows a transaction. Stateless; any thread.

#include <chrono>
#include <string>
#include <vector>

#include "orchestrator/stalled.h"
#include "platform/sql.h"

namespace impresario::orchestrator {

struct Stalled {
    StallView view;
    Stall stall;
};

struct StalledList {
    domain::TimePoint at;
    std::vector<Stalled> executions;
    /// There are more than were asked for.
    bool more = false;
};

class StalledStore {
  public:
    /// Of which nothing has been heard for `quiet`: all that is under way, and of what waits one of each type and gate;
    /// at most `most` of either, the quietest first. Empty organization: of all.
    StalledList find(platform::Tx& tx, const std::string& organization_id, std::chrono::seconds quiet, int most) const;
};

}
