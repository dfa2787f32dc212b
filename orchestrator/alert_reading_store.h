#pragma once
// What rules look at, as the tables say. Borrows a transaction. Stateless; any thread.

#include <string_view>
#include <vector>

#include "alerts/reading.h"
#include "platform/sql.h"

namespace impresario::orchestrator {

class AlertReadingStore {
  public:
    /// Names of the readings that it has.
    static const std::vector<std::string_view>& names();
    /// Of one of them. A transaction for each: a statement that is refused takes no other along.
    std::vector<alerts::Reading> read(platform::Tx& tx, std::string_view name) const;
};

}
