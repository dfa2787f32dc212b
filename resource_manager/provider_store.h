#pragma once
// Providers and permits in the database. Borrows a transaction. Stateless; any thread.

#include <string>
#include <vector>

#include "platform/sql.h"
#include "resource_manager/definition_version.h"
#include "resource_manager/provider.h"
#include "resource_manager/provider_meters.h"

namespace impresario::resource_manager {

class ProviderStore {
  public:
    /// By name.
    std::vector<Provider> load(platform::Tx& tx) const;
    /// Returns it as it is stored, with its new version and the time.
    Provider put(platform::Tx& tx, Provider provider) const;
    /// False when there is none.
    bool remove(platform::Tx& tx, const std::string& name, const std::string& by, const std::string& reason) const;

    /// Latest first, at most 100.
    std::vector<DefinitionVersion> versions(platform::Tx& tx, const std::string& name) const;

    void charge(platform::Tx& tx, const std::vector<PermitRecord>& permits) const;
    /// Those of a grant that certainly was not sent.
    struct Unsent {
        domain::AttemptId attempt;
        int fence = 0;
    };
    void give_back(platform::Tx& tx, const std::vector<Unsent>& unsent) const;
    /// Their executions are locked. What of it is beyond its grant waits to be counted.
    void charge_usage(platform::Tx& tx, const std::vector<UsageCharge>& charges) const;
    /// Whether some waits, also what SQL has recorded.
    bool any_uncounted(platform::Tx& tx) const;
    /// The oldest of it, which counts from now on: for the scheduler alone.
    std::vector<LoadedPermit> count_usage(platform::Tx& tx, int most) const;
    /// What counts against the longest window, sums of closed ones rounded to later times; what waits to be counted is
    /// not among it.
    std::vector<LoadedPermit> permits(platform::Tx& tx) const;
    /// Forgets what counts against no window any more; returns how many went.
    std::size_t forget_permits(platform::Tx& tx) const;
};

}
