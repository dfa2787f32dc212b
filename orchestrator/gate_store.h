#pragma once
// The gates of lanes in the database: which are closed, and the history of all. Borrows a transaction. Stateless; any
// thread.

#include <vector>

#include "orchestrator/gate_history.h"
#include "platform/sql.h"

namespace impresario::orchestrator {

class GateStore {
  public:
    /// What is closed now.
    std::vector<RecordedGate> closed(platform::Tx& tx) const;
    void write(platform::Tx& tx, const GateWrite& write) const;
    /// Deletes what ended more than 30 days ago, some of it at a time.
    void forget(platform::Tx& tx) const;
};

}
