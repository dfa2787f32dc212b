#pragma once
// How an execution stands, or stood, read from the tables: what any node can say, whoever leads. Borrows a transaction.
// Stateless; any thread.

#include <optional>
#include <string>

#include "orchestrator/explain.h"
#include "platform/sql.h"
#include "subworkflows/catalogue.h"

namespace impresario::orchestrator {

class ExplainStore {
  public:
    /// Now. nullopt: the organization has no such execution.
    std::optional<Situation> now(platform::Tx& tx, const domain::ExecutionId& id, const std::string& organization_id,
                                 const subworkflows::Catalogue& catalogue, int most_per_turn,
                                 domain::MicroUsd unknown_cost = {1'000'000}) const;
    /// At a time that has passed; `at` lies between the execution's creation and now.
    std::optional<Situation> then(platform::Tx& tx, const domain::ExecutionId& id, const std::string& organization_id,
                                  const subworkflows::Catalogue& catalogue, domain::TimePoint at) const;
};

}
