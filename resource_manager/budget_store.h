#pragma once
// Budgets in the database. Borrows a transaction. Stateless; any thread.

#include <string>
#include <vector>

#include "platform/sql.h"
#include "resource_manager/budget_state.h"
#include "resource_manager/definition_version.h"

namespace impresario::resource_manager {

class BudgetStore {
  public:
    /// Those that grant, by id, with what may still count at `now`.
    std::vector<BudgetState> load(platform::Tx& tx, domain::TimePoint now) const;

    /// Whether there are any.
    bool any(platform::Tx& tx) const;

    /// Makes or changes one; `updated_by` and `reason` go to its history. Returns its new version, nullopt where it was
    /// retired. Throws StatementRefused (23505) when another of the organization has the name.
    std::optional<int> put(platform::Tx& tx, const Budget& budget) const;
    /// It grants nothing more and limits nothing; what it holds is settled. False when there is none.
    bool retire(platform::Tx& tx, const domain::BudgetId& id, const std::string& by, const std::string& reason) const;

    /// Of the name, also of what was retired or reset: the organization's own, or else, `also_for_all`, that of all of
    /// them. Latest first, at most 100.
    std::vector<DefinitionVersion> versions(platform::Tx& tx, const std::string& name,
                                            const std::string& organization_id, bool also_for_all) const;

    /// The number of the next event of its stream; nullopt when there is none. Locks it until the transaction ends.
    struct Place {
        int seq = 0;
        /// Empty: it is for all of them.
        std::string organization_id;
    };
    std::optional<Place> next_seq(platform::Tx& tx, const domain::BudgetId& id) const;

    /// Which steps are on, so that the next scheduler goes on from there.
    void remember_steps(platform::Tx& tx, const std::vector<BudgetState>& states) const;
    /// ask_human is answered: go on until then. False when there is none.
    bool approve(platform::Tx& tx, const domain::BudgetId& id, domain::TimePoint until, const std::string& by) const;
};

/// A row of sql/budget_columns.inc.
BudgetState read_budget(platform::RowReader& row);
/// Puts rows of sql/balance_columns.inc to their budgets; those of none are passed over.
void read_balances(const platform::Rows& rows, std::vector<BudgetState>& states);

}
