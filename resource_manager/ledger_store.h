#pragma once
// The ledger in the database. Borrows a transaction. Any thread; each keeps a hint of which accounts it will read.
//
// Whoever calls it has locked the executions concerned (protocol R8); it locks the budgets after them, in one order.
// What it reads comes from rows under these locks, never from memory (R17). A transaction calls it once: a second call
// may lock budgets before those of the first, and two such transactions wait for each other until one is tried again.

#include <cstddef>
#include <string>
#include <vector>

#include "platform/sql.h"
#include "resource_manager/ledger.h"

namespace impresario::resource_manager {

class LedgerStore {
  public:
    /// Reserves what each demand asks of every budget that it falls on, in the windows of `now`, in the order given:
    /// all of a movement or nothing of it. Returns the places of those that do not fit any more, of which nothing is
    /// booked. One that was booked before is not booked again and not returned.
    std::vector<std::size_t> reserve(platform::Tx& tx, const std::vector<Movement>& reservations,
                                     domain::TimePoint now) const;

    /// Books what is so, whatever a limit says: movements of any kind but reserve, in the order given. Money goes to
    /// the window it was reserved in; what falls on a budget that nothing was reserved of, to the one of `pinned_at`:
    /// when the attempt was granted.
    struct Recorded {
        Movement movement;
        domain::TimePoint pinned_at;
    };
    void record(platform::Tx& tx, const std::vector<Recorded>& movements) const;

    /// What SQL says was spent and nobody has booked yet (protocol R21).
    struct Reported {
        std::int64_t id = 0;
        Recorded recorded;
    };
    bool any_reported(platform::Tx& tx) const;
    /// Oldest first, and locks their executions; those that somebody holds come later.
    std::vector<Reported> reported(platform::Tx& tx, int most) const;
    /// Books them and strikes them out, in the same transaction.
    void book(platform::Tx& tx, const std::vector<Reported>& reported) const;

    /// A balance that is not the sum of its entries. Amounts are text: a sum may be more than any single amount.
    struct Mismatch {
        domain::BudgetId budget;
        BudgetWindow window;
        /// settled, reserved, suspense in USD; of the balance empty where there is none.
        std::string entries;
        std::string balance;
        /// The entries can be right: their budget is there, and none of the sums is less than nothing.
        bool repairable = false;
        /// Of the budget, as far as it has them.
        std::string name;
        std::string organization_id;
        std::string workflow_type;
    };
    std::vector<Mismatch> mismatches(platform::Tx& tx) const;
    /// Makes the balances what the entries say where those can be right, nobody else booking meanwhile. Returns all
    /// that were wrong, as they were.
    std::vector<Mismatch> repair(platform::Tx& tx) const;
};

}
