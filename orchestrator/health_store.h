#pragma once
// What only the tables know and everybody wants to see, once a minute.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "domain/lane.h"
#include "domain/money.h"
#include "orchestrator/health.h"
#include "platform/sql.h"

namespace impresario::orchestrator {

struct HealthCounts {
    /// By what they are: delivering, draining, lost.
    std::map<std::string, std::int64_t> nodes;
    /// That nobody has decided about.
    std::map<domain::Lane, std::int64_t> dead_letters;
    /// Held by anybody; nullopt: not known.
    std::optional<std::int64_t> locks;
};

/// Borrows a transaction. Stateless; any thread.
class HealthStore {
  public:
    HealthCounts count(platform::Tx& tx) const;
    /// What the checks look at, but for how the database is and what has stalled; "": of all organizations.
    HealthView view(platform::Tx& tx, const std::string& organization_id) const;
    /// What is active and has not been heard of for `quiet`.
    std::map<StallCause, std::int64_t> stalled(platform::Tx& tx, const std::string& organization_id,
                                               std::chrono::seconds quiet) const;
    /// By how much balances and the sums of their entries differ, over all budgets: 0. Reads the whole ledger.
    domain::MicroUsd ledger_difference(platform::Tx& tx) const;
};

}
