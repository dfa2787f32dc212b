#include "resource_manager/ledger_store.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <tuple>
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

/// Attempts whose first few movements were the same share one; null where nothing was booked.
using Accounts = std::unordered_map<AttemptId, std::shared_ptr<const AttemptAccount>>;

/// Movements to be booked. Most of a batch are alike: what they book stands there once, as a shape.
class Postings {
  public:
    struct Shape {
        MovementKind kind;
        bool estimated;
        std::vector<LedgerEntry> entries;
        std::int64_t movements = 0;
        /// Of each entry, once it is known to be open.
        std::vector<std::int64_t> accounts = {};
    };
    struct Posting {
        const Movement* movement;
        std::size_t shape;
    };
    /// What this one books, and others like it: a place in shapes().
    std::size_t shape(const Movement& movement, std::vector<LedgerEntry> entries) {
        // A few types mostly take turns.
        constexpr std::size_t kLatest = 8;
        for (auto i = shapes_.size(); i > 0 && i + kLatest > shapes_.size(); --i) {
            const auto& known = shapes_[i - 1];
            if (known.kind == movement.kind && known.estimated == movement.estimated && known.entries == entries)
                return i - 1;
        }
        shapes_.push_back({movement.kind, movement.estimated, std::move(entries)});
        return shapes_.size() - 1;
    }
    /// One that books nothing is not posted. Borrows the movement.
    void add(const Movement& movement, std::size_t shape) {
        if (shapes_[shape].entries.empty()) return;
        ++shapes_[shape].movements;
        postings_.push_back({&movement, shape});
    }
    bool empty() const { return postings_.empty(); }
    const std::vector<Posting>& all() const { return postings_; }
    std::vector<Shape>& shapes() { return shapes_; }

  private:
    std::vector<Shape> shapes_;
    std::vector<Posting> postings_;
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
    void read(const Rows& rows, std::size_t skipping = 0) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
            RowReader row(rows, i);
            const auto place = place_in(row);
            row.skip(skipping);
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
    /// Of each entry the account, which it opens where there is none. Their budgets are locked: nobody else opens one
    /// of these meanwhile.
    void open(Tx& tx, std::vector<Postings::Shape>& shapes) {
        std::set<Place> missing;
        for (const auto& shape : shapes)
            for (const auto& each : shape.entries)
                if (!of(each)) missing.insert({each.budget, each.window.start, each.window.end});
        if (!missing.empty()) {
            std::array<SqlArray, 3> a;
            for (const auto& each : missing) {
                a[0].add(each.budget);
                a[1].add(each.start);
                a[2].add(each.end);
            }
            read(tx.exec(sql::open_accounts, Params().add(std::move(a))));
        }
        for (auto& shape : shapes) {
            shape.accounts.reserve(shape.entries.size());
            for (const auto& each : shape.entries) shape.accounts.push_back(of(each).value());
        }
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

/// What a movement has booked; the lists go by `accounts`, or are empty where all are zero.
struct Lines {
    std::vector<std::int64_t> accounts;
    std::vector<std::int64_t> reserved;
    std::vector<std::int64_t> suspense;
    std::vector<std::int64_t> settled;
};

/// A movement as it stands in the table. Neighbours that have booked the same share their lines.
struct Booked {
    AttemptId attempt;
    std::optional<MovementKind> kind;
    int ordinal = 0;
    std::shared_ptr<const Lines> lines;
};

std::vector<Booked> read_booked(const Rows& rows) {
    std::vector<Booked> movements;
    movements.reserve(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RowReader row(rows, i);
        Booked booked;
        booked.attempt = row.id<AttemptId>();
        booked.kind = parse_movement_kind(row.view());
        booked.ordinal = row.small();
        if (row.repeats(4)) {
            booked.lines = movements.back().lines;
        } else {
            Lines lines;
            lines.accounts = row.integers();
            lines.reserved = row.integers();
            lines.suspense = row.integers();
            lines.settled = row.integers();
            booked.lines = std::make_shared<const Lines>(std::move(lines));
        }
        movements.push_back(std::move(booked));
    }
    return movements;
}

std::vector<LedgerEntry> entries_in(const Lines& lines, const OpenAccounts& open) {
    std::vector<LedgerEntry> entries;
    entries.reserve(lines.accounts.size());
    const auto at = [](const std::vector<std::int64_t>& amounts, std::size_t place) {
        return domain::MicroUsd{amounts.empty() ? 0 : amounts.at(place)};
    };
    for (std::size_t n = 0; n < lines.accounts.size(); ++n) {
        entries.push_back(open.entry(lines.accounts[n]));
        entries.back().change = {at(lines.settled, n), at(lines.reserved, n), at(lines.suspense, n)};
    }
    return entries;
}

/// The account with the entries booked.
std::shared_ptr<const AttemptAccount> booked_in(const std::shared_ptr<const AttemptAccount>& account, MovementKind kind,
                                                int ordinal, const std::vector<LedgerEntry>& entries) {
    auto after = account ? std::make_shared<AttemptAccount>(*account) : std::make_shared<AttemptAccount>();
    for (const auto& each : entries) after->book(kind, ordinal, each);
    return after;
}

/// Movements in the order in which they were written.
Accounts accounts_of(const std::vector<Booked>& movements, const OpenAccounts& open) {
    // Most attempts have two or three. A longer history is its own: a copy for each of its steps would be quadratic.
    constexpr int kShared = 4;
    struct Growing {
        int movements = 0;
        std::shared_ptr<AttemptAccount> own = {};
    };
    Accounts accounts;
    std::unordered_map<AttemptId, Growing> growing;
    // What the same movement makes of the same account.
    using Step = std::tuple<const AttemptAccount*, MovementKind, int, const Lines*>;
    std::map<Step, std::shared_ptr<const AttemptAccount>> after;
    for (const auto& each : movements) {
        if (!each.kind) continue;
        auto& account = accounts[each.attempt];
        auto& of_attempt = growing[each.attempt];
        if (++of_attempt.movements <= kShared) {
            auto& next = after[{account.get(), *each.kind, each.ordinal, each.lines.get()}];
            if (!next) next = booked_in(account, *each.kind, each.ordinal, entries_in(*each.lines, open));
            account = next;
            continue;
        }
        if (!of_attempt.own) account = of_attempt.own = std::make_shared<AttemptAccount>(*account);
        for (const auto& entry : entries_in(*each.lines, open)) of_attempt.own->book(*each.kind, each.ordinal, entry);
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
        const auto movements = read_booked(rows);
        known.open.read_asked(recent());
        std::set<std::int64_t> used;
        std::set<std::int64_t> missing;
        const Lines* before = nullptr;
        for (const auto& each : movements)
            if (const auto* lines = each.lines.get(); std::exchange(before, lines) != lines)
                used.insert(lines->accounts.begin(), lines->accounts.end());
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

/// What so many movements change an account by.
struct Moved {
    Wide reserved = 0;
    Wide suspense = 0;
    Wide settled = 0;
    void add(const Balance& change, std::int64_t movements) {
        reserved += Wide{change.reserved.value} * movements;
        suspense += Wide{change.suspense.value} * movements;
        settled += Wide{change.settled.value} * movements;
    }
};

/// The shapes as parameters $5 to $12 of post_movements.sql: of each which kind and how many accounts, and where its
/// lists begin in the last. Lists that are the same stand there once.
class ShapeColumns {
  public:
    void add(const Postings::Shape& shape) {
        columns_[0].add(name(shape.kind));
        columns_[1].add(shape.estimated);
        columns_[2].add(static_cast<std::int64_t>(shape.accounts.size()));
        columns_[3].add(place(shape.accounts));
        columns_[4].add(place(amounts(shape, [](const Balance& change) { return change.reserved; })));
        columns_[5].add(place(amounts(shape, [](const Balance& change) { return change.suspense; })));
        columns_[6].add(place(amounts(shape, [](const Balance& change) { return change.settled; })));
    }
    void add_to(Params& params) && { params.add(std::move(columns_)).add(std::move(lists_)); }

  private:
    template <class Of>
    static std::vector<std::int64_t> amounts(const Postings::Shape& shape, Of of) {
        std::vector<std::int64_t> amounts;
        amounts.reserve(shape.entries.size());
        for (const auto& each : shape.entries) amounts.push_back(of(each.change).value);
        return amounts;
    }
    /// Counted from 1; nullopt: all are zero, and there is none.
    std::optional<std::int64_t> place(std::vector<std::int64_t> list) {
        if (std::all_of(list.begin(), list.end(), [](std::int64_t each) { return each == 0; })) return std::nullopt;
        const auto [at, added] = places_.try_emplace(std::move(list), static_cast<std::int64_t>(lists_.size()) + 1);
        if (added)
            for (const auto each : at->first) lists_.add_bigint(each);
        return at->second;
    }

    std::map<std::vector<std::int64_t>, std::int64_t> places_;
    std::array<SqlArray, 7> columns_;
    SqlArray lists_;
};

/// None was booked before. Their budgets are locked.
void post(Tx& tx, Postings postings, OpenAccounts& open) {
    if (postings.empty()) return;
    open.open(tx, postings.shapes());
    std::array<SqlArray, 4> a;
    for (const auto& [movement, shape] : postings.all()) {
        a[0].add(movement->execution);
        a[1].add(movement->attempt);
        a[2].add(movement->ordinal);
        a[3].add_bigint(static_cast<std::int64_t>(shape) + 1);
    }
    ShapeColumns columns;
    std::map<std::int64_t, Moved> moved;
    for (const auto& shape : postings.shapes()) {
        columns.add(shape);
        for (std::size_t i = 0; i < shape.entries.size(); ++i)
            moved[shape.accounts[i]].add(shape.entries[i].change, shape.movements);
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
    std::move(columns).add_to(params);
    tx.send(sql::post_movements, params.add(std::move(b)));
}

/// What a demand falls on, whatever the limits say. Borrows the budgets.
class Asked {
  public:
    explicit Asked(const std::vector<BudgetState>& budgets) : budgets_(budgets) {}
    /// True: the parts are still those of the call before. Borrows the demand until the next call.
    bool ask(const domain::Demand& demand, TimePoint pinned_at) {
        const auto* before = std::exchange(demand_, &demand);
        if (before && same_money(*before, demand) && covers(pinned_at)) return true;
        parts_ = resource_manager::parts(budgets_, demand, pinned_at);
        return false;
    }
    const std::vector<Part>& parts() const { return parts_; }

  private:
    bool covers(TimePoint at) const {
        return std::all_of(parts_.begin(), parts_.end(), [&](const Part& part) { return part.window.contains(at); });
    }
    const std::vector<BudgetState>& budgets_;
    const domain::Demand* demand_ = nullptr;
    std::vector<Part> parts_;
};

}

std::vector<std::size_t> LedgerStore::reserve(Tx& tx, const std::vector<Movement>& reservations, TimePoint now) const {
    std::vector<std::size_t> dropped;
    if (reservations.empty()) return dropped;
    Concerns concerns;
    for (const auto& each : reservations) concerns.add(each);
    auto locked = look(tx, sql::lock_concerned_budgets, concerns, now);
    auto rooms = rooms_of(locked.budgets, now);
    Postings postings;
    std::vector<Part> asked;
    const Movement* before = nullptr;
    std::optional<std::size_t> shape;
    for (std::size_t i = 0; i < reservations.size(); ++i) {
        const auto& movement = reservations[i];
        const auto known = locked.accounts.find(movement.attempt);
        if (known != locked.accounts.end() && known->second->has(MovementKind::reserve, movement.ordinal)) continue;
        if (!before || !same_money(before->demand, movement.demand)) {
            asked = parts(rooms, movement.demand);
            shape = std::nullopt;
        }
        before = &movement;
        if (!take(rooms, asked, movement.demand)) {
            dropped.push_back(i);
            continue;
        }
        if (!shape) shape = postings.shape(movement, entries_of(movement, {}, asked));
        postings.add(movement, *shape);
    }
    post(tx, std::move(postings), locked.open);
    return dropped;
}

void LedgerStore::record(Tx& tx, const std::vector<Recorded>& movements) const {
    if (movements.empty()) return;
    Concerns concerns;
    std::unordered_map<AttemptId, int> times;
    for (const auto& each : movements) {
        concerns.add(each.movement);
        ++times[each.movement.attempt];
    }
    // It books whatever the balances are, so they are locked at the last moment and for no round trip: others wait for
    // them. A budget that is changed meanwhile was changed afterwards.
    auto known = look(tx, sql::concerned_budgets, concerns, std::nullopt);
    Postings postings;
    std::set<domain::BudgetId> budgets;
    Asked asked(known.budgets);
    const Movement* before = nullptr;
    std::shared_ptr<const AttemptAccount> account_before;
    std::size_t shape = 0;
    for (const auto& [movement, pinned_at] : movements) {
        auto& account = known.accounts[movement.attempt];
        const bool same_parts = asked.ask(movement.demand, pinned_at);
        const bool alike = same_parts && before && account == account_before && before->kind == movement.kind &&
                           before->ordinal == movement.ordinal && before->estimated == movement.estimated;
        if (!alike) {
            static const AttemptAccount kNothing;
            auto entries = entries_of(movement, account ? *account : kNothing, asked.parts());
            for (const auto& each : entries) budgets.insert(each.budget);
            shape = postings.shape(movement, std::move(entries));
        }
        postings.add(movement, shape);
        before = &movement;
        account_before = account;
        // Only who comes again in this batch is asked about what it has booked.
        if (times[movement.attempt] > 1)
            account = booked_in(account, movement.kind, movement.ordinal, postings.shapes()[shape].entries);
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
