#include "resource_manager/ledger_store.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <unordered_map>

#include "platform/read_rows.h"
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
    /// $1 to $4 of budget_concerns.inc.
    Params params() const {
        return Params()
            .add(SqlArray::of(organizations))
            .add(SqlArray::of(types))
            .add(SqlArray::of(providers))
            .add(SqlArray::of(batches));
    }
};

/// The accounts that are known to be open: where a budget's money of a window is booked.
class OpenAccounts {
  public:
    /// Rows of budget, window and account; `skipping` columns of something else between the last two.
    void read(const Rows& rows, int skipping = 0) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
            RowReader row(rows, i);
            Place place;
            place.budget = row.id<domain::BudgetId>();
            place.start = row.time();
            place.end = row.time();
            for (int each = 0; each < skipping; ++each) row.skip();
            const auto account = row.integer();
            places_.emplace(account, place);
            accounts_.emplace(place, account);
        }
    }
    std::optional<std::int64_t> of(const LedgerEntry& entry) const {
        const auto at = accounts_.find({entry.budget, entry.window.start, entry.window.end});
        return at == accounts_.end() ? std::nullopt : std::optional(at->second);
    }
    LedgerEntry entry(std::int64_t account) const {
        const auto at = places_.find(account);
        if (at == places_.end()) throw std::runtime_error("ledger account " + std::to_string(account) + " is missing");
        LedgerEntry entry;
        entry.budget = at->second.budget;
        entry.window = {at->second.start, at->second.end};
        return entry;
    }
    void open(Tx& tx, const std::vector<Posting>& postings) {
        std::set<Place> missing;
        for (const auto& each : postings)
            if (!of(each.entry)) missing.insert({each.entry.budget, each.entry.window.start, each.entry.window.end});
        if (missing.empty()) return;
        std::array<SqlArray, 3> a;
        for (const auto& each : missing) {
            a[0].add(each.budget);
            a[1].add(each.start);
            a[2].add(each.end);
        }
        read(tx.exec(sql::open_accounts, Params().add(std::move(a))));
    }

  private:
    struct Place {
        domain::BudgetId budget;
        TimePoint start;
        TimePoint end;
        friend auto operator<=>(const Place&, const Place&) = default;
    };
    std::map<Place, std::int64_t> accounts_;
    std::unordered_map<std::int64_t, Place> places_;
};

/// All that was booked for attempts.
Accounts read_movements(const Rows& rows, const OpenAccounts& open) {
    Accounts accounts;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RowReader row(rows, i);
        auto& account = accounts[row.id<AttemptId>()];
        const auto kind = parse_movement_kind(row.view());
        const int ordinal = row.small();
        const auto booked = row.integers();
        const auto reserved = row.integers();
        const auto suspense = row.integers();
        const auto settled = row.integers();
        const auto at = [](const std::vector<std::int64_t>& amounts, std::size_t place) {
            return domain::MicroUsd{amounts.empty() ? 0 : amounts.at(place)};
        };
        for (std::size_t n = 0; kind && n < booked.size(); ++n) {
            auto entry = open.entry(booked[n]);
            entry.change = {at(settled, n), at(reserved, n), at(suspense, n)};
            account.book(*kind, ordinal, entry);
        }
    }
    return accounts;
}

/// What movements are made from.
struct Known {
    /// Those that grant.
    std::vector<BudgetState> budgets;
    Accounts accounts;
    OpenAccounts open;
};

/// Budgets by `which` statement; `counting_at`: what is booked, too.
Known look(Tx& tx, const platform::Statement& which, const Concerns& concerns, std::optional<TimePoint> counting_at) {
    const auto asked = tx.ask(which, concerns.params());
    std::function<Rows()> balances;
    if (counting_at) balances = tx.ask(sql::counted_balances, concerns.params().add(*counting_at));
    const auto open = tx.ask(sql::accounts_of_attempts, Params().add(SqlArray::of(concerns.attempts)));
    const auto movements = tx.exec(sql::movements_of_attempts, Params().add(SqlArray::of(concerns.attempts)));
    Known known;
    known.open.read(open());
    known.accounts = read_movements(movements, known.open);
    known.budgets = platform::read_rows(asked(), read_budget);
    if (balances) {
        read_balances(balances(), known.budgets);
        known.open.read(balances(), 3);
    }
    return known;
}

// 128 bits: no sum of amounts overflows it.
__extension__ using Wide = __int128;

std::string text(Wide sum) {
    // In units of 10^18: each part is an amount of its own.
    constexpr std::int64_t kUnit = 1'000'000'000'000'000'000;
    const auto units = static_cast<std::int64_t>(sum / kUnit);
    const auto rest = static_cast<std::int64_t>(sum % kUnit);
    if (units == 0) return std::to_string(rest);
    const auto digits = std::to_string(rest < 0 ? -rest : rest);
    return std::to_string(units) + std::string(18 - digits.size(), '0') + digits;
}

struct Moved {
    Wide reserved = 0;
    Wide suspense = 0;
    Wide settled = 0;
    void add(const Balance& change) {
        reserved += change.reserved.value;
        suspense += change.suspense.value;
        settled += change.settled.value;
    }
};

/// Those of a movement stand together, and none was booked before. Their budgets are locked.
void post(Tx& tx, const std::vector<Posting>& postings, OpenAccounts& open) {
    if (postings.empty()) return;
    open.open(tx, postings);
    std::map<std::int64_t, Moved> moved;
    std::array<SqlArray, 10> a;
    SqlArray lists;
    // Where those just added begin, counted from 1; nullopt: all are zero, and there is no list.
    const auto add_list = [&lists](const auto& begin, const auto& end, auto value) -> std::optional<std::int64_t> {
        if (std::all_of(begin, end, [&](const Posting& each) { return value(each) == 0; })) return std::nullopt;
        const auto at = static_cast<std::int64_t>(lists.size()) + 1;
        for (auto each = begin; each != end; ++each) lists.add_bigint(value(*each));
        return at;
    };
    for (auto first = postings.begin(); first != postings.end();) {
        const auto& movement = *first->movement;
        const auto last =
            std::find_if(first, postings.end(), [&](const Posting& each) { return each.movement != &movement; });
        for (auto each = first; each != last; ++each) moved[open.of(each->entry).value()].add(each->entry.change);
        a[0].add(movement.execution);
        a[1].add(movement.attempt);
        a[2].add(name(movement.kind));
        a[3].add(movement.ordinal);
        a[4].add(static_cast<std::int64_t>(last - first));
        a[5].add(add_list(first, last, [&](const Posting& each) { return open.of(each.entry).value(); }));
        a[6].add(add_list(first, last, [](const Posting& each) { return each.entry.change.reserved.value; }));
        a[7].add(add_list(first, last, [](const Posting& each) { return each.entry.change.suspense.value; }));
        a[8].add(add_list(first, last, [](const Posting& each) { return each.entry.change.settled.value; }));
        a[9].add(movement.estimated);
        first = last;
    }
    tx.send(sql::post_movements, Params().add(std::move(a)).add(std::move(lists)));
    std::array<SqlArray, 4> b;
    for (const auto& [account, change] : moved) {
        b[0].add(account);
        b[1].add_number(text(change.reserved));
        b[2].add_number(text(change.suspense));
        b[3].add_number(text(change.settled));
    }
    tx.send(sql::move_balances, Params().add(std::move(b)));
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
    auto locked = look(tx, sql::lock_concerned_budgets, concerns, now);
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
    post(tx, postings, locked.open);
    return dropped;
}

void LedgerStore::record(Tx& tx, const std::vector<Recorded>& movements) const {
    if (movements.empty()) return;
    Concerns concerns;
    for (const auto& each : movements) concerns.add(each.movement);
    // It books whatever the balances are, so they are locked at the last moment and for no round trip: others wait for
    // them. A budget that is changed meanwhile was changed afterwards.
    auto known = look(tx, sql::concerned_budgets, concerns, std::nullopt);
    std::vector<Posting> postings;
    std::set<domain::BudgetId> budgets;
    for (const auto& [movement, pinned_at] : movements) {
        auto& account = known.accounts[movement.attempt];
        for (auto& entry : entries_of(movement, account, parts(known.budgets, movement.demand, pinned_at))) {
            account.book(movement.kind, movement.ordinal, entry);
            budgets.insert(entry.budget);
            postings.push_back({&movement, std::move(entry)});
        }
    }
    if (!budgets.empty()) tx.send(sql::lock_budgets, Params().add(SqlArray::of(budgets)));
    post(tx, postings, known.open);
}

bool LedgerStore::any_reported(Tx& tx) const {
    const auto rows = tx.exec(sql::any_inbox);
    return RowReader(rows, 0).flag();
}

std::vector<LedgerStore::Reported> LedgerStore::reported(Tx& tx, int most) const {
    std::vector<Reported> lines;
    const auto rows = tx.exec(sql::read_inbox, Params().add(most));
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RowReader row(rows, i);
        Reported line;
        line.id = row.integer();
        auto& movement = line.recorded.movement;
        movement.kind = MovementKind::settle;
        movement.execution = row.id<domain::ExecutionId>();
        movement.attempt = row.id<AttemptId>();
        const std::string provider = row.text();
        const auto cost = row.maybe_integer();
        line.recorded.pinned_at = row.time();
        movement.demand.lane.organization_id = row.text();
        movement.demand.lane.workflow_type = row.text();
        movement.demand.batch = row.maybe_id<domain::BatchId>();
        movement.demand.cost = domain::MicroUsd{cost.value_or(0)};
        movement.estimated = !cost;
        if (!provider.empty()) movement.demand.needs.push_back({provider, 0, 0, 0, movement.demand.cost});
        lines.push_back(std::move(line));
    }
    return lines;
}

void LedgerStore::book(Tx& tx, const std::vector<Reported>& reported) const {
    std::vector<Recorded> movements;
    SqlArray booked;
    for (const auto& line : reported) {
        movements.push_back(line.recorded);
        booked.add(line.id);
    }
    record(tx, movements);
    tx.send(sql::strike_inbox, Params().add(std::move(booked)));
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
        each.repairable = row.flag();
        each.name = row.text();
        each.organization_id = row.text();
        each.workflow_type = row.text();
        found.push_back(std::move(each));
    }
    return found;
}

std::vector<LedgerStore::Mismatch> LedgerStore::repair(Tx& tx) const {
    tx.exec(sql::lock_all_budgets);
    auto found = mismatches(tx);
    if (!found.empty()) tx.exec(sql::repair_balances);
    return found;
}

}
