#include "resource_manager/ledger_store.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <utility>

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
    /// Once it is known to be open.
    std::int64_t account = 0;
};

/// Which budgets a call is about.
struct Concerns {
    /// What was booked for them has to be known.
    std::vector<AttemptId> attempts;
    std::set<std::string> organizations;
    std::set<std::string> types;
    std::set<std::string> providers;
    std::set<domain::BatchId> batches;

    void add(const Movement& movement) {
        if (!movement.first) attempts.push_back(movement.attempt);
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
            const auto place = place_in(row);
            for (int each = 0; each < skipping; ++each) row.skip();
            const auto account = row.integer();
            places_.emplace(account, place);
            accounts_.emplace(place, account);
        }
    }
    /// Those of ledger_accounts.sql. One that was made by hand may have no balance yet: nothing is booked in it before
    /// it has.
    void read_asked(const Rows& rows) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
            RowReader row(rows, i);
            const auto place = place_in(row);
            const auto account = row.integer();
            places_.emplace(account, place);
            if (row.flag()) accounts_.emplace(place, account);
        }
    }
    std::optional<std::int64_t> of(const LedgerEntry& entry) const {
        const auto at = accounts_.find({entry.budget, entry.window.start, entry.window.end});
        return at == accounts_.end() ? std::nullopt : std::optional(at->second);
    }
    bool has(std::int64_t account) const { return places_.contains(account); }
    LedgerEntry entry(std::int64_t account) const {
        const auto at = places_.find(account);
        if (at == places_.end()) throw std::runtime_error("ledger account " + std::to_string(account) + " is missing");
        LedgerEntry entry;
        entry.budget = at->second.budget;
        entry.window = {at->second.start, at->second.end};
        return entry;
    }
    /// Of each posting the account, which it opens where there is none. Their budgets are locked: nobody else opens one
    /// of these meanwhile.
    void open(Tx& tx, std::vector<Posting>& postings) {
        std::set<Place> missing;
        for (auto& each : postings) {
            const auto account = of(each.entry);
            if (!account) missing.insert({each.entry.budget, each.entry.window.start, each.entry.window.end});
            each.account = account.value_or(0);
        }
        if (missing.empty()) return;
        std::array<SqlArray, 3> a;
        for (const auto& each : missing) {
            a[0].add(each.budget);
            a[1].add(each.start);
            a[2].add(each.end);
        }
        read(tx.exec(sql::open_accounts, Params().add(std::move(a))));
        for (auto& each : postings) each.account = of(each.entry).value();
    }

  private:
    struct Place {
        domain::BudgetId budget;
        TimePoint start;
        TimePoint end;
        friend auto operator<=>(const Place&, const Place&) = default;
    };
    static Place place_in(RowReader& row) {
        Place place;
        place.budget = row.id<domain::BudgetId>();
        place.start = row.time();
        place.end = row.time();
        return place;
    }
    std::map<Place, std::int64_t> accounts_;
    std::unordered_map<std::int64_t, Place> places_;
};

/// A movement as it stands in the table; the lists go by `accounts`, or are empty where all are zero.
struct Booked {
    AttemptId attempt;
    std::optional<MovementKind> kind;
    int ordinal = 0;
    std::vector<std::int64_t> accounts;
    std::vector<std::int64_t> reserved;
    std::vector<std::int64_t> suspense;
    std::vector<std::int64_t> settled;
};

Booked read_booked(RowReader& row) {
    Booked booked;
    booked.attempt = row.id<AttemptId>();
    booked.kind = parse_movement_kind(row.view());
    booked.ordinal = row.small();
    booked.accounts = row.integers();
    booked.reserved = row.integers();
    booked.suspense = row.integers();
    booked.settled = row.integers();
    return booked;
}

Accounts accounts_of(const std::vector<Booked>& movements, const OpenAccounts& open) {
    Accounts accounts;
    const auto at = [](const std::vector<std::int64_t>& amounts, std::size_t place) {
        return domain::MicroUsd{amounts.empty() ? 0 : amounts.at(place)};
    };
    for (const auto& each : movements) {
        auto& account = accounts[each.attempt];
        for (std::size_t n = 0; each.kind && n < each.accounts.size(); ++n) {
            auto entry = open.entry(each.accounts[n]);
            entry.change = {at(each.settled, n), at(each.reserved, n), at(each.suspense, n)};
            account.book(*each.kind, each.ordinal, entry);
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

/// The accounts that this thread has booked in lately: what to ask for together with what names them. Only a hint: what
/// is used comes from the tables.
class RecentAccounts {
  public:
    void used(const std::set<std::int64_t>& accounts) {
        if (++times_ % kTimes == 0) older_ = std::exchange(newer_, {});
        if (newer_.size() < kMost) newer_.insert(accounts.begin(), accounts.end());
    }
    std::set<std::int64_t> all() const {
        auto all = newer_;
        all.insert(older_.begin(), older_.end());
        return all;
    }

  private:
    /// After so many times the others have gone.
    static constexpr int kTimes = 16;
    static constexpr std::size_t kMost = 256;
    std::set<std::int64_t> newer_;
    std::set<std::int64_t> older_;
    int times_ = 0;
};
thread_local RecentAccounts recent_accounts;

std::function<Rows()> ask_accounts(Tx& tx, const std::set<std::int64_t>& ids) {
    SqlArray asked;
    for (const auto id : ids) asked.add_bigint(id);
    return tx.ask(sql::ledger_accounts, Params().add(std::move(asked)));
}

/// Budgets by `which` statement; `counting_at`: what is booked, too.
Known look(Tx& tx, const platform::Statement& which, const Concerns& concerns, std::optional<TimePoint> counting_at) {
    Known known;
    const auto asked = tx.ask(which, concerns.params());
    std::function<Rows()> balances;
    if (counting_at) balances = tx.ask(sql::counted_balances, concerns.params().add(*counting_at));
    if (!concerns.attempts.empty()) {
        const auto recent = ask_accounts(tx, recent_accounts.all());
        const auto rows = tx.exec(sql::movements_of_attempts, Params().add(SqlArray::of(concerns.attempts)));
        const auto movements = platform::read_rows(rows, read_booked);
        known.open.read_asked(recent());
        std::set<std::int64_t> used;
        std::set<std::int64_t> missing;
        for (const auto& each : movements) used.insert(each.accounts.begin(), each.accounts.end());
        std::copy_if(used.begin(), used.end(), std::inserter(missing, missing.end()),
                     [&](std::int64_t account) { return !known.open.has(account); });
        if (!missing.empty()) known.open.read_asked(ask_accounts(tx, missing)());
        recent_accounts.used(used);
        known.accounts = accounts_of(movements, known.open);
    }
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

/// What many movements of a batch have in common: kind, accounts and amounts.
class Shapes {
  public:
    using Postings = std::vector<Posting>::const_iterator;
    /// Its number, counted from 1. The postings of one movement, which follow those of the one before and stay there.
    std::int64_t add(Postings first, Postings last) {
        // Neighbours are mostly alike.
        if (latest_ == 0 || !same(latest_first_, first, first, last)) latest_ = look_up(first, last);
        latest_first_ = first;
        return latest_;
    }
    /// $5 to $12 of post_movements.sql.
    void add_to(Params& params) && { params.add(std::move(columns_)).add(std::move(lists_)); }

  private:
    static bool same(Postings first, Postings last, Postings other, Postings other_last) {
        if (first->movement->kind != other->movement->kind || first->movement->estimated != other->movement->estimated)
            return false;
        return std::equal(first, last, other, other_last, [](const Posting& a, const Posting& b) {
            return a.account == b.account && a.entry.change == b.entry.change;
        });
    }
    std::int64_t look_up(Postings first, Postings last) {
        const auto list = [&](auto value) {
            std::vector<std::int64_t> values;
            values.reserve(static_cast<std::size_t>(last - first));
            for (auto each = first; each != last; ++each) values.push_back(value(*each));
            return place(std::move(values));
        };
        const Shape shape{first->movement->kind,
                          first->movement->estimated,
                          last - first,
                          {list([](const Posting& each) { return each.account; }),
                           list([](const Posting& each) { return each.entry.change.reserved.value; }),
                           list([](const Posting& each) { return each.entry.change.suspense.value; }),
                           list([](const Posting& each) { return each.entry.change.settled.value; })}};
        const auto [at, added] = shapes_.try_emplace(shape, static_cast<std::int64_t>(shapes_.size()) + 1);
        if (!added) return at->second;
        columns_[0].add(name(shape.kind));
        columns_[1].add(shape.estimated);
        columns_[2].add(shape.count);
        for (std::size_t i = 0; i < shape.places.size(); ++i) columns_[3 + i].add(shape.places[i]);
        return at->second;
    }
    /// Where its lists begin, counted from 1; nullopt: all are zero, and there is none.
    using Places = std::array<std::optional<std::int64_t>, 4>;
    struct Shape {
        MovementKind kind;
        bool estimated;
        std::int64_t count;
        Places places;
        friend auto operator<=>(const Shape&, const Shape&) = default;
    };
    std::optional<std::int64_t> place(std::vector<std::int64_t> list) {
        if (std::all_of(list.begin(), list.end(), [](std::int64_t each) { return each == 0; })) return std::nullopt;
        const auto [at, added] = places_.try_emplace(std::move(list), static_cast<std::int64_t>(lists_.size()) + 1);
        if (added)
            for (const auto each : at->first) lists_.add_bigint(each);
        return at->second;
    }

    std::map<Shape, std::int64_t> shapes_;
    std::map<std::vector<std::int64_t>, std::int64_t> places_;
    std::array<SqlArray, 7> columns_;
    SqlArray lists_;
    std::int64_t latest_ = 0;
    Postings latest_first_;
};

/// Those of a movement stand together, and none was booked before. Their budgets are locked.
void post(Tx& tx, std::vector<Posting> postings, OpenAccounts& open) {
    if (postings.empty()) return;
    open.open(tx, postings);
    std::map<std::int64_t, Moved> moved;
    std::array<SqlArray, 4> a;
    Shapes shapes;
    for (auto first = postings.begin(); first != postings.end();) {
        const auto& movement = *first->movement;
        const auto last =
            std::find_if(first, postings.end(), [&](const Posting& each) { return each.movement != &movement; });
        for (auto each = first; each != last; ++each) moved[each->account].add(each->entry.change);
        a[0].add(movement.execution);
        a[1].add(movement.attempt);
        a[2].add(movement.ordinal);
        a[3].add_bigint(shapes.add(first, last));
        first = last;
    }
    std::array<SqlArray, 4> b;
    for (const auto& [account, change] : moved) {
        b[0].add(account);
        b[1].add_number(text(change.reserved));
        b[2].add_number(text(change.suspense));
        b[3].add_number(text(change.settled));
    }
    Params params;
    params.add(std::move(a));
    std::move(shapes).add_to(params);
    tx.send(sql::post_movements, params.add(std::move(b)));
}

}

std::vector<std::size_t> LedgerStore::reserve(Tx& tx, const std::vector<Movement>& reservations, TimePoint now) const {
    std::vector<std::size_t> dropped;
    if (reservations.empty()) return dropped;
    Concerns concerns;
    for (const auto& each : reservations) concerns.add(each);
    auto locked = look(tx, sql::lock_concerned_budgets, concerns, now);
    auto rooms = rooms_of(locked.budgets, now);
    std::vector<Posting> postings;
    postings.reserve(reservations.size() * rooms.size());
    const AttemptAccount nothing;
    for (std::size_t i = 0; i < reservations.size(); ++i) {
        const auto& movement = reservations[i];
        const auto known = locked.accounts.find(movement.attempt);
        const auto& account = known == locked.accounts.end() ? nothing : known->second;
        if (account.has(MovementKind::reserve, movement.ordinal)) continue;
        const auto parts = take(rooms, movement.demand);
        if (!parts) {
            dropped.push_back(i);
            continue;
        }
        for (auto& entry : entries_of(movement, account, *parts)) postings.push_back({&movement, std::move(entry)});
    }
    post(tx, std::move(postings), locked.open);
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
    postings.reserve(movements.size() * known.budgets.size());
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
    post(tx, std::move(postings), known.open);
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
