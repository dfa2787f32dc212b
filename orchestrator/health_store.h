#pragma once
// What only the tables know and everybody wants to see, once a minute.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "domain/lane.h"
#include "domain/money.h"
#include "platform/sql.h"

namespace impresario::orchestrator {

struct Health {
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
    Health look(platform::Tx& tx) const;
    /// By how much balances and the sums of their entries differ, over all budgets: 0. Reads the whole ledger.
    domain::MicroUsd ledger_difference(platform::Tx& tx) const;
};

}
