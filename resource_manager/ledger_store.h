#pragma once
// The ledger in the database. Borrows a transaction. Stateless; any thread.
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

    /// A balance that is not the sum of its entries. Amounts are text: a sum may be more than any single amount.
    struct Mismatch {
        domain::BudgetId budget;
        BudgetWindow window;
        /// settled, reserved, suspense; of the balance empty where there is none.
        std::string entries;
        std::string balance;
    };
    std::vector<Mismatch> mismatches(platform::Tx& tx) const;
    /// Makes all balances what the entries say, nobody else booking meanwhile; returns how many were wrong.
    std::size_t repair(platform::Tx& tx) const;
};

}
