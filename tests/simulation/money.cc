// The stores of budgets, ledger and estimates over tables in memory, with the real arithmetic (ledger.h,
// budget_state.h).

#include <algorithm>

#include "platform/sql.h"
#include "resource_manager/budget_store.h"
#include "resource_manager/estimate_store.h"
#include "resource_manager/ledger_store.h"
#include "simulation/auditor.h"
#include "simulation/transaction.h"
#include "simulation/world.h"

using impresario::domain::TimePoint;
using impresario::platform::StatementRefused;
using impresario::platform::Tx;
using impresario::simulation::Auditor;
using impresario::simulation::Tables;
using impresario::simulation::Transaction;

namespace impresario::resource_manager {

namespace {

Tables& tables(Tx& tx) { return Transaction::of(tx).tables(); }

/// SELECT … FOR NO KEY UPDATE; whoever has to wait for it here gives up for now.
void lock(Tx& tx) {
    auto& transaction = Transaction::of(tx);
    if (tables(tx).budgets_locked_until > transaction.real_now())
        throw StatementRefused("lock_budgets: canceling statement due to lock timeout", "55P03");
    transaction.locks_budgets = true;
}

void post(Tx& tx, const Movement& movement, const LedgerEntry& entry) {
    Transaction::of(tx).change([movement, entry, at = Transaction::of(tx).real_now()](Tables& t, Auditor* auditor) {
        t.accounts[movement.attempt].book(movement.kind, movement.ordinal, entry);
        for (auto& state : t.budgets) {
            if (state.budget.id != entry.budget) continue;
            state.book(entry.window, entry.change);
            if (auditor) auditor->booked(movement, entry, state, at);
        }
    });
}

}

std::vector<BudgetState> BudgetStore::load(Tx& tx, TimePoint) const { return tables(tx).budgets; }
bool BudgetStore::any(Tx& tx) const { return !tables(tx).budgets.empty(); }

void BudgetStore::remember_steps(Tx& tx, const std::vector<BudgetState>& states) const {
    lock(tx);
    for (const auto& told : states)
        Transaction::of(tx).change([told](Tables& t, Auditor*) {
            for (auto& state : t.budgets) {
                if (state.budget.id != told.budget.id) continue;
                state.steps_on = told.steps_on;
                state.steps_window = told.steps_window;
            }
        });
}

std::optional<BudgetStore::Place> BudgetStore::next_seq(Tx& tx, const domain::BudgetId& id) const {
    Transaction::of(tx).change([id](Tables& t, Auditor*) { ++t.budget_seqs[id]; });
    return Place{tables(tx).budget_seqs[id], domain::kDefaultOrganization};
}

std::vector<std::size_t> LedgerStore::reserve(Tx& tx, const std::vector<Movement>& reservations, TimePoint now) const {
    std::vector<std::size_t> dropped;
    if (reservations.empty()) return dropped;
    lock(tx);
    auto rooms = rooms_of(tables(tx).budgets, now);
    for (std::size_t i = 0; i < reservations.size(); ++i) {
        const auto& movement = reservations[i];
        const auto account = tables(tx).accounts[movement.attempt];
        if (account.has(MovementKind::reserve, movement.ordinal)) continue;
        const auto asked = parts(rooms, movement.demand);
        if (!take(rooms, asked, movement.demand)) {
            dropped.push_back(i);
            continue;
        }
        for (const auto& entry : entries_of(movement, account, asked)) post(tx, movement, entry);
    }
    return dropped;
}

void LedgerStore::record(Tx& tx, const std::vector<Recorded>& movements) const {
    if (movements.empty()) return;
    lock(tx);
    for (const auto& [movement, pinned_at] : movements) {
        const auto account = tables(tx).accounts[movement.attempt];
        for (const auto& entry : entries_of(movement, account, parts(tables(tx).budgets, movement.demand, pinned_at)))
            post(tx, movement, entry);
    }
}

bool LedgerStore::any_reported(Tx& tx) const { return !tables(tx).reported.empty(); }

std::vector<LedgerStore::Reported> LedgerStore::reported(Tx& tx, int) const {
    auto lines = tables(tx).reported;
    std::erase_if(lines, [&](const Reported& line) {
        return tables(tx).is_locked(line.recorded.movement.execution, Transaction::of(tx).real_now());
    });
    for (const auto& line : lines) Transaction::of(tx).locked.push_back(line.recorded.movement.execution);
    return lines;
}

void LedgerStore::book(Tx& tx, const std::vector<Reported>& reported) const {
    std::vector<Recorded> movements;
    for (const auto& line : reported) {
        movements.push_back(line.recorded);
        Transaction::of(tx).change([id = line.id](Tables& t, Auditor*) {
            std::erase_if(t.reported, [&](const Reported& each) { return each.id == id; });
        });
    }
    record(tx, movements);
}

std::map<domain::Lane, TypeEstimates> EstimateStore::load(Tx& tx) const { return tables(tx).estimates; }

void EstimateStore::keep(Tx& tx, const std::map<domain::Lane, TypeEstimates>& estimates) const {
    Transaction::of(tx).change([estimates](Tables& t, Auditor*) {
        for (const auto& [lane, each] : estimates) t.estimates[lane] = each;
    });
}

}
