#pragma once
// Executions that have ended, with all that came from them, to be removed. Borrows a transaction. Stateless; any
// thread.

#include <optional>
#include <string>
#include <vector>

#include "domain/family.h"
#include "domain/lane.h"
#include "platform/sql.h"

namespace impresario::priority_queue {

class EndedStore {
  public:
    std::vector<std::string> organizations(platform::Tx& tx) const;

    /// Where a walk through an organization's executions stands, in the order in which they were created.
    struct Place {
        domain::TimePoint created{};
        domain::ExecutionId id;
    };
    /// The next families whose first member was created after `after` and before `before`, that one ended or not.
    std::vector<domain::Family> families(platform::Tx& tx, const std::string& organization_id, const Place& after,
                                         domain::TimePoint before, int most) const;
    /// The same of these, locked: nothing changes about them in this transaction, and nothing comes from them.
    std::vector<domain::Family> lock(platform::Tx& tx, const std::vector<domain::ExecutionId>& firsts) const;
    /// Removes them, their input, results and dead letters.
    void remove(platform::Tx& tx, const std::vector<domain::ExecutionId>& executions) const;

    struct Count {
        domain::Lane lane;
        domain::Status status = domain::Status::completed;
        std::int64_t executions = 0;
    };
    std::vector<Count> counts(platform::Tx& tx, const std::vector<domain::ExecutionId>& executions) const;

    struct Size {
        std::string table;
        std::int64_t rows = 0;
        std::int64_t bytes = 0;
    };
    /// What removing them would free, by table, about.
    std::vector<Size> sizes(platform::Tx& tx, const std::vector<domain::ExecutionId>& executions) const;
};

}
