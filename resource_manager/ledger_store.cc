#include "resource_manager/ledger_store.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <unordered_map>

#include "resource_manager/budget_store.h"
#include "resource_manager_sql.h"

namespace impresario::resource_manager {

using domain::AttemptId;
using domain::TimePoint;
using platform::Params;
using platform::RowReader;
using platform::Rows;
using platform::SqlArray;
using platform::Tx;

namespace {

using Accounts = std::unordered_map<AttemptId, AttemptAccount>;

struct Posting {
    const Movement* movement;
    LedgerEntry entry;
};

template <class Ids>
SqlArray array_of(const Ids& ids) {
    SqlArray array;
    for (const auto& id : ids) array.add(id);
    return array;
}

/// Which budgets a call is about.
struct Concerns {
    std::set<AttemptId> attempts;
    std::set<std::string> organizations;
    std::set<std::string> types;
    std::set<std::string> providers;
    std::set<domain::BatchId> batches;

    void add(const Movement& movement) {
        attempts.insert(movement.attempt);
        organizations.insert(movement.demand.lane.organization_id);
        types.insert(movement.demand.lane.workflow_type);
        for (const auto& need : movement.demand.needs) providers.insert(need.provider);
        if (movement.demand.batch) batches.insert(*movement.demand.batch);
    }
    /// $2 to $5 of budget_concerns.inc.
    Params& add_to(Params& params) const {
        return params.add(array_of(organizations)).add(array_of(types)).add(array_of(providers)).add(array_of(batches));
    }
};

Accounts read_accounts(const Rows& rows) {
    Accounts accounts;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RowReader row(rows, i);
        auto& account = accounts[row.id<AttemptId>()];
        const auto kind = parse_movement_kind(row.view());
        const int ordinal = row.small();
        LedgerEntry entry;
        entry.budget = row.id<domain::BudgetId>();
        entry.window.start = row.time();
        entry.window.end = row.time();
        entry.change.reserved = domain::MicroUsd{row.integer()};
        entry.change.suspense = domain::MicroUsd{row.integer()};
        entry.change.settled = domain::MicroUsd{row.integer()};
        if (kind) account.book(*kind, ordinal, entry);
    }
    return accounts;
}

/// What is known once the budgets are locked.
struct Locked {
    /// Those that grant.
    std::vector<BudgetState> budgets;
    Accounts accounts;
};

/// `counting_at`: the balances are read too.
Locked lock_budgets(Tx& tx, const Concerns& concerns, std::optional<TimePoint> counting_at) {
    Params by_attempt;
    by_attempt.add(array_of(concerns.attempts));
    concerns.add_to(by_attempt);
    const auto asked = tx.ask(sql::lock_budgets, by_attempt);
    std::function<Rows()> balances;
    if (counting_at) {
        Params by_time;
        by_time.add(*counting_at);
        concerns.add_to(by_time);
        balances = tx.ask(sql::counted_balances, by_time);
    }
    const auto entries = tx.exec(sql::entries_of_attempts, Params().add(array_of(concerns.attempts)));
    Locked locked;
    locked.accounts = read_accounts(entries);
    const auto rows = asked();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RowReader row(rows, i);
        const bool retired = row.flag();
        auto state = read_budget(row);
        if (!retired) locked.budgets.push_back(std::move(state));
    }
    if (balances) read_balances(balances(), locked.budgets);
    return locked;
}

void post(Tx& tx, const std::vector<Posting>& postings) {
    if (postings.empty()) return;
    std::array<SqlArray, 3> opened;
    std::array<SqlArray, 12> a;
    for (const auto& [movement, entry] : postings) {
        opened[0].add(entry.budget);
        opened[1].add(entry.window.start);
        opened[2].add(entry.window.end);
        a[0].add(movement->execution);
        a[1].add(movement->attempt);
        a[2].add(name(movement->kind));
        a[3].add(movement->ordinal);
        a[4].add(entry.budget);
        a[5].add(entry.window.start);
        a[6].add(entry.window.end);
        a[7].add(entry.available);
        a[8].add(entry.change.reserved);
        a[9].add(entry.change.suspense);
        a[10].add(entry.change.settled);
        a[11].add(movement->estimated);
    }
    Params windows;
    for (auto& array : opened) windows.add(std::move(array));
    tx.send(sql::open_balances, windows);
    Params entries;
    for (auto& array : a) entries.add(std::move(array));
    tx.send(sql::post_entries, entries);
}

/// The state of a part's budget; it was made of the same list.
BudgetState& state_of(std::vector<BudgetState>& budgets, const domain::BudgetId& id) {
    return *std::find_if(budgets.begin(), budgets.end(), [&](const auto& each) { return each.budget.id == id; });
}

}

std::vector<std::size_t> LedgerStore::reserve(Tx& tx, const std::vector<Movement>& reservations, TimePoint now) const {
    std::vector<std::size_t> dropped;
    if (reservations.empty()) return dropped;
    Concerns concerns;
    for (const auto& each : reservations) concerns.add(each);
    auto locked = lock_budgets(tx, concerns, now);
    std::vector<Posting> postings;
    for (std::size_t i = 0; i < reservations.size(); ++i) {
        const auto& movement = reservations[i];
        auto& account = locked.accounts[movement.attempt];
        if (account.has(MovementKind::reserve, movement.ordinal)) continue;
        const auto asked = parts(locked.budgets, movement.demand, now);
        const bool fits = std::all_of(asked.begin(), asked.end(), [&](const Part& part) {
            return state_of(locked.budgets, part.budget).allows(part.amount, now);
        });
        if (!fits) {
            dropped.push_back(i);
            continue;
        }
        for (auto& entry : entries_of(movement, account, asked)) {
            state_of(locked.budgets, entry.budget).book(entry.window, entry.change);
            account.book(movement.kind, movement.ordinal, entry);
            postings.push_back({&movement, std::move(entry)});
        }
    }
    post(tx, postings);
    return dropped;
}

void LedgerStore::record(Tx& tx, const std::vector<Recorded>& movements) const {
    if (movements.empty()) return;
    Concerns concerns;
    for (const auto& each : movements) concerns.add(each.movement);
    auto locked = lock_budgets(tx, concerns, std::nullopt);
    std::vector<Posting> postings;
    for (const auto& [movement, pinned_at] : movements) {
        auto& account = locked.accounts[movement.attempt];
        for (auto& entry : entries_of(movement, account, parts(locked.budgets, movement.demand, pinned_at))) {
            account.book(movement.kind, movement.ordinal, entry);
            postings.push_back({&movement, std::move(entry)});
        }
    }
    post(tx, postings);
}

std::vector<LedgerStore::Mismatch> LedgerStore::mismatches(Tx& tx) const {
    std::vector<Mismatch> found;
    const auto rows = tx.exec(sql::check_ledger);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RowReader row(rows, i);
        Mismatch each;
        each.budget = row.id<domain::BudgetId>();
        each.window.start = row.time();
        each.window.end = row.time();
        const auto three = [&] {
            const bool none = row.null();
            const auto settled = row.text();
            const auto reserved = row.text();
            const auto suspense = row.text();
            return none ? std::string{} : settled + ", " + reserved + ", " + suspense;
        };
        each.entries = three();
        each.balance = three();
        found.push_back(std::move(each));
    }
    return found;
}

std::size_t LedgerStore::repair(Tx& tx) const {
    tx.exec(sql::lock_all_budgets);
    return tx.exec(sql::repair_balances).affected();
}

}
