#pragma once
// The fairness policy in the database, and how all stand as the scheduler has written it down. Borrows a transaction.
// Stateless; any thread.

#include <optional>
#include <string>
#include <vector>

#include "platform/sql.h"
#include "resource_manager/definition_version.h"
#include "resource_manager/fair_shares.h"

namespace impresario::resource_manager {

class FairnessStore {
  public:
    /// nullopt: there is none, or only a newer hub understands it.
    std::optional<FairnessPolicy> load(platform::Tx& tx) const;
    /// Returns it as it is stored, with its new version and the time.
    FairnessPolicy put(platform::Tx& tx, FairnessPolicy policy) const;
    /// False when there is none.
    bool clear(platform::Tx& tx, const std::string& by, const std::string& reason) const;
    /// Latest first, at most 100.
    std::vector<DefinitionVersion> versions(platform::Tx& tx) const;

    struct Standings {
        domain::TimePoint at;
        std::vector<FairStanding> all;
    };
    void write(platform::Tx& tx, domain::TimePoint at, const std::string& standings) const;
    /// nullopt: nobody has led since there is a policy.
    std::optional<Standings> standings(platform::Tx& tx) const;
};

}
