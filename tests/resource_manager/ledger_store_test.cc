// The ledger on a real PostgreSQL.
#include "resource_manager/ledger_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <thread>

#include "platform/database.h"
#include "platform/id_source.h"
#include "platform/memory.h"
#include "resource_manager/budget_json.h"
#include "resource_manager/budget_store.h"
#include "tests/support/database.h"

namespace impresario::resource_manager {
namespace ledger_store_test {

using domain::MicroUsd;
using domain::TimePoint;
using platform::Connection;
using platform::Tx;
using std::chrono::hours;
using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const TimePoint kNow = *domain::parse_time("2026-11-28T12:00:00Z");
constexpr std::int64_t kUsd = 1'000'000;

class LedgerTest : public ::testing::Test {
  protected:
    LedgerTest() { settings_.url = database_.url(); }

    std::unique_ptr<Connection> session() const { return std::make_unique<Connection>(settings_, nullptr); }

    /// A hard budget of the organization, without steps.
    Budget budget(const std::string& name, std::int64_t dollars, const WindowRule& window = {}) {
        Budget made;
        made.id = ids_.make<domain::BudgetId>(kNow);
        made.name = name;
        made.scope.organization_id = "default";
        made.window = window;
        made.limit = {dollars * kUsd};
        made.steps.clear();
        made.updated_by = "ann";
        made.reason = "a test";
        return made;
    }
    Budget put(const Budget& made) {
        database_.transact([&](Tx& tx) { EXPECT_TRUE(BudgetStore().put(tx, made)); });
        return made;
    }
    Movement movement(MovementKind kind, const domain::AttemptId& attempt, std::int64_t cost, int ordinal = 0) {
        Movement made;
        made.kind = kind;
        made.attempt = attempt;
        made.execution = {attempt.value};
        made.ordinal = ordinal;
        made.demand.lane = {"default", "content_pipeline"};
        made.demand.cost = {cost};
        return made;
    }
    domain::AttemptId attempt() { return ids_.make<domain::AttemptId>(kNow); }

    bool reserve(const domain::AttemptId& id, std::int64_t cost, TimePoint now = kNow, int ordinal = 1) {
        std::vector<std::size_t> dropped;
        database_.transact([&](Tx& tx) {
            dropped = LedgerStore().reserve(tx, {movement(MovementKind::reserve, id, cost, ordinal)}, now);
        });
        return dropped.empty();
    }
    void record(const Movement& made, TimePoint pinned_at = kNow) {
        database_.transact([&](Tx& tx) { LedgerStore().record(tx, {{made, pinned_at}}); });
    }
    BudgetState state(const Budget& of, TimePoint now = kNow) {
        std::vector<BudgetState> states;
        database_.transact([&](Tx& tx) { states = BudgetStore().load(tx, now); });
        for (auto& each : states)
            if (each.budget.id == of.id) return each;
        ADD_FAILURE() << "no budget " << of.name;
        return {};
    }
    Balance balance(const Budget& of, TimePoint now = kNow) { return state(of, now).counted(now); }
    std::vector<LedgerStore::Mismatch> mismatches() {
        std::vector<LedgerStore::Mismatch> found;
        database_.transact([&](Tx& tx) { found = LedgerStore().mismatches(tx); });
        return found;
    }

    testing::TestDatabase database_;
    platform::DatabaseSettings settings_;
    platform::IdSource ids_;
};

TEST_F(LedgerTest, BudgetsComeBackAsTheyWerePut) {
    auto week = budget("week", 5, {WindowUnit::week, "Europe/Berlin", 6, 7});
    week.scope = {"", "gemini", "seo_monitor", ids_.make<domain::BatchId>(kNow)};
    week.hard = false;
    week.steps = {{50, 40, BudgetAction::off_peak_hours, true, 50, 50, 20, 5}, {99, 90, BudgetAction::stop}};
    put(week);
    const auto rolling = put(budget("rolling", 7, {WindowUnit::rolling, "UTC", 0, 1, 5}));
    const auto back = state(week).budget;
    EXPECT_EQ(definition_json(back), definition_json(week));
    EXPECT_EQ(back.updated_by, "ann");
    EXPECT_EQ(back.reason, "a test");
    EXPECT_EQ(state(rolling).budget.window, rolling.window);
}

TEST_F(LedgerTest, EveryVersionOfABudgetIsKept) {
    auto daily = put(budget("daily", 5));
    daily.limit = {6 * kUsd};
    daily.reason = "more";
    database_.transact([&](Tx& tx) {
        EXPECT_EQ(BudgetStore().put(tx, daily), 2);
        EXPECT_TRUE(BudgetStore().retire(tx, daily.id, "bob", "over"));
        EXPECT_FALSE(BudgetStore().retire(tx, daily.id, "bob", "again"));
        EXPECT_EQ(BudgetStore().put(tx, daily), std::nullopt) << "it is retired";
        const auto versions = BudgetStore().versions(tx, "daily", "default", true);
        ASSERT_EQ(versions.size(), 3U);
        EXPECT_EQ(versions[0].definition, "");
        EXPECT_EQ(versions[0].by, "bob");
        EXPECT_NE(versions[1].definition.find("6.000000"), std::string::npos);
        EXPECT_EQ(versions[1].reason, "more");
        EXPECT_NE(versions[2].definition.find("5.000000"), std::string::npos);
        EXPECT_THAT(BudgetStore().load(tx, kNow), IsEmpty());
    });
    put(budget("daily", 9));
    database_.transact([&](Tx& tx) {
        const auto versions = BudgetStore().versions(tx, "daily", "default", false);
        ASSERT_EQ(versions.size(), 4U) << "what was retired stays in the history of its name";
        for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(versions[i].version, 4 - static_cast<int>(i)) << "they go on";
        EXPECT_NE(versions[0].definition.find("9.000000"), std::string::npos);
        EXPECT_EQ(versions[1].by, "bob");
        EXPECT_THAT(BudgetStore().versions(tx, "daily", "acme", true), IsEmpty());
    });
    EXPECT_THROW(database_.transact([&](Tx& tx) { BudgetStore().put(tx, budget("daily", 1)); }),
                 platform::StatementRefused);
}

TEST_F(LedgerTest, StepsAndApprovalsAreRemembered) {
    const auto daily = put(budget("daily", 5));
    auto standing = state(daily);
    standing.steps_on = 2;
    standing.steps_window = window_at({}, kNow);
    database_.transact([&](Tx& tx) {
        BudgetStore().remember_steps(tx, {standing});
        EXPECT_TRUE(BudgetStore().approve(tx, daily.id, kNow + hours{1}, "ann"));
    });
    EXPECT_EQ(state(daily).steps_on, 2U);
    EXPECT_EQ(state(daily).steps_window, standing.steps_window);
    EXPECT_EQ(state(daily).approved_until, kNow + hours{1});
}

TEST_F(LedgerTest, ReservesUpToTheLimitAndDropsTheRest) {
    const auto daily = put(budget("daily", 100));
    std::vector<Movement> reservations;
    for (const std::int64_t dollars : {60, 50, 30, 11, 10})
        reservations.push_back(movement(MovementKind::reserve, attempt(), dollars * kUsd, 1));
    database_.transact([&](Tx& tx) {
        EXPECT_THAT(LedgerStore().reserve(tx, reservations, kNow), ElementsAre(1U, 3U));
        EXPECT_THAT(LedgerStore().reserve(tx, reservations, kNow), ElementsAre(1U, 3U)) << "what is booked stays";
    });
    EXPECT_EQ(balance(daily), (Balance{{}, {100 * kUsd}, {}}));
    EXPECT_EQ(database_.value("select count(*) from ledger_entries"), "3");
    EXPECT_THAT(mismatches(), IsEmpty());
}

TEST_F(LedgerTest, AllBudgetsOrNone) {
    const auto wide = put(budget("wide", 100));
    auto of_type = budget("narrow", 10);
    of_type.scope.workflow_type = "content_pipeline";
    const auto narrow = put(of_type);
    auto soft = budget("soft", 1);
    soft.hard = false;
    put(soft);
    auto elsewhere = budget("elsewhere", 1);
    elsewhere.scope.workflow_type = "seo_monitor";
    put(elsewhere);
    EXPECT_TRUE(reserve(attempt(), 9 * kUsd));
    EXPECT_FALSE(reserve(attempt(), 2 * kUsd));
    EXPECT_EQ(balance(wide).reserved, MicroUsd{9 * kUsd});
    EXPECT_EQ(balance(narrow).reserved, MicroUsd{9 * kUsd});
    EXPECT_EQ(balance(soft).reserved, MicroUsd{9 * kUsd});
    EXPECT_EQ(balance(elsewhere), Balance{});
}

TEST_F(LedgerTest, AMovementTwiceIsBookedOnce) {
    const auto daily = put(budget("daily", 100));
    const auto id = attempt();
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(reserve(id, 100 * kUsd)) << "the second does not count the first again";
    EXPECT_EQ(balance(daily).reserved, MicroUsd{100 * kUsd});
    for (int i = 0; i < 3; ++i) record(movement(MovementKind::suspend, id, 0, 1));
    EXPECT_EQ(balance(daily), (Balance{{}, {}, {100 * kUsd}}));
    for (int i = 0; i < 3; ++i) record(movement(MovementKind::settle, id, 70 * kUsd + i));
    EXPECT_EQ(balance(daily), (Balance{{70 * kUsd}, {}, {}}));
    database_.transact([&](Tx& tx) {
        // Twice in one call, too.
        const LedgerStore::Recorded correction{movement(MovementKind::correct, id, 75 * kUsd, 1), kNow};
        LedgerStore().record(tx, {correction, correction});
    });
    EXPECT_EQ(balance(daily), (Balance{{75 * kUsd}, {}, {}}));
    EXPECT_EQ(database_.value("select count(*) from ledger_entries"), "4");
    EXPECT_THAT(mismatches(), IsEmpty());
}

TEST_F(LedgerTest, WhatIsAlikeIsBookedForEach) {
    const auto daily = put(budget("daily", 100));
    auto of_type = budget("narrow", 100);
    of_type.scope.workflow_type = "content_pipeline";
    put(of_type);
    std::vector<Movement> reservations;
    std::vector<LedgerStore::Recorded> ends;
    for (const std::int64_t dollars : {2, 2, 2, 3, 0}) {
        reservations.push_back(movement(MovementKind::reserve, attempt(), dollars * kUsd, 1));
        reservations.back().first = true;
    }
    database_.transact([&](Tx& tx) { EXPECT_THAT(LedgerStore().reserve(tx, reservations, kNow), IsEmpty()); });
    const auto ended = [&](std::size_t which, MovementKind kind, std::int64_t dollars, bool estimated = false) {
        auto made =
            movement(kind, reservations.at(which).attempt, dollars * kUsd, kind == MovementKind::settle ? 0 : 1);
        made.estimated = estimated;
        ends.push_back({made, kNow});
    };
    ended(0, MovementKind::settle, 1);
    ended(1, MovementKind::settle, 1);
    ended(2, MovementKind::settle, 1, true);
    ended(3, MovementKind::suspend, 0);
    ended(4, MovementKind::settle, 4);
    ended(3, MovementKind::settle, 5);
    database_.transact([&](Tx& tx) { LedgerStore().record(tx, ends); });
    std::vector<std::string> rows;
    for (const auto& each : reservations)
        rows.push_back(database_.value(
            "select string_agg(movement || ' ' || ordinal || ' ' || reserved / 1000000 || ' ' || suspense / 1000000 || "
            "' ' "
            "|| settled / 1000000 || case when estimated then ' estimated' else '' end, ', ' order by entry_id) "
            "from ledger_entries where budget_id = '" +
            daily.id.text() + "' and attempt_id = '" + each.attempt.text() + "'"));
    EXPECT_THAT(rows,
                ElementsAre("reserve 1 2 0 0, settle 0 -2 0 1", "reserve 1 2 0 0, settle 0 -2 0 1",
                            "reserve 1 2 0 0, settle 0 -2 0 2 estimated",
                            "reserve 1 3 0 0, suspend 1 -3 3 0, settle 0 0 -3 5", "reserve 1 0 0 0, settle 0 0 0 4"));
    EXPECT_EQ(balance(daily), (Balance{{13 * kUsd}, {}, {}}));
    EXPECT_EQ(database_.value("select count(*) from ledger_movements where cardinality(accounts) <> 2"), "0");
    EXPECT_THAT(mismatches(), IsEmpty());
}

TEST_F(LedgerTest, WhatIsBookedHidesNothingThatIsAlikeButForItsNumber) {
    const auto daily = put(budget("daily", 100));
    const auto one = attempt();
    const auto other = attempt();
    const auto record_both = [&](int ordinal_of_other, std::int64_t dollars) {
        database_.transact([&](Tx& tx) {
            LedgerStore().record(tx, {{movement(MovementKind::top_up, one, dollars * kUsd, 1), kNow},
                                      {movement(MovementKind::top_up, other, dollars * kUsd, ordinal_of_other), kNow}});
        });
    };
    record_both(1, 3);
    record_both(2, 5);
    EXPECT_EQ(balance(daily).reserved, MicroUsd{8 * kUsd});
    EXPECT_THAT(mismatches(), IsEmpty());
}

// What is alike is worked out once for a whole batch: the ledger is what it would be had each come alone.
// A run of hours that tells its cost every few seconds.
TEST_F(LedgerTest, AnAttemptOfThousandsOfMovementsIsReadAtTheCostOfItsLast) {
    constexpr int kMovements = 4000;
    const auto day = put(budget("day", kMovements));
    const auto id = attempt();
    ASSERT_TRUE(reserve(id, 1));
    std::vector<LedgerStore::Recorded> reports;
    for (int i = 1; i <= kMovements; ++i) reports.push_back({movement(MovementKind::top_up, id, 1 + i, i), kNow});
    database_.transact([&](Tx& tx) { LedgerStore().record(tx, reports); });
    EXPECT_EQ(balance(day).reserved, MicroUsd{1 + kMovements});
    const auto before = platform::resident_mb();
    record(movement(MovementKind::settle, id, 17));
    // A copy of the account for each movement is 60 MB.
    EXPECT_LT(platform::resident_mb(), before + 20);
    EXPECT_EQ(balance(day), (Balance{{17}, {}, {}}));
    record(movement(MovementKind::top_up, id, 5 + kMovements, kMovements));
    EXPECT_EQ(balance(day), (Balance{{17}, {}, {}})) << "it was booked before";
    EXPECT_THAT(mismatches(), IsEmpty());
}

TEST_F(LedgerTest, ABatchBooksWhatOneAfterTheOtherBooks) {
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const testing::TestDatabase singly;
    const auto batches = session();
    auto settings = settings_;
    settings.url = singly.url();
    Connection singles(settings, nullptr);
    std::vector<Budget> budgets{budget("daily", 90), budget("rolling", 120, {WindowUnit::rolling, "UTC", 0, 1, 3}),
                                budget("gemini", 60), budget("type", 70)};
    budgets[2].scope.provider = "gemini";
    budgets[3].scope.workflow_type = "seo_monitor";
    for (const auto* database : std::array<const testing::TestDatabase*, 2>{&database_, &singly})
        database->transact([&](Tx& tx) {
            for (const auto& each : budgets) BudgetStore().put(tx, each);
        });
    std::vector<LedgerStore::Recorded> alive;
    TimePoint now = kNow;
    for (int i = 0; i < 40; ++i) {
        now += minutes{40};
        std::vector<Movement> reservations;
        for (auto n = random() % 8; n > 0; --n) {
            auto one = movement(MovementKind::reserve, attempt(), random() % 4 ? kUsd : 0, 1);
            one.first = true;
            if (random() % 4 == 0) one.demand.lane.workflow_type = "seo_monitor";
            if (random() % 4 == 0) one.demand.needs = {{"gemini", 1, 0, 0, {one.demand.cost.value / 2}}};
            reservations.push_back(one);
        }
        // A delivery that is repeated reserves anew.
        for (const auto& each : alive)
            if (each.movement.kind == MovementKind::reserve && random() % 4 == 0) {
                reservations.push_back(each.movement);
                reservations.back().ordinal = 2;
            }
        std::vector<std::size_t> dropped;
        std::vector<std::size_t> dropped_singly;
        batches->transact([&](Tx& tx) { dropped = LedgerStore().reserve(tx, reservations, now); });
        singles.transact([&](Tx& tx) {
            for (std::size_t n = 0; n < reservations.size(); ++n)
                if (!LedgerStore().reserve(tx, {reservations[n]}, now).empty()) dropped_singly.push_back(n);
        });
        ASSERT_EQ(dropped, dropped_singly);
        for (std::size_t n = 0; n < reservations.size(); ++n) {
            if (std::find(dropped.begin(), dropped.end(), n) != dropped.end()) continue;
            auto known = reservations[n];
            known.first = false;
            alive.push_back({known, now});
        }

        // Of others nothing was reserved.
        for (auto n = random() % 4; n > 0; --n)
            alive.push_back({movement(MovementKind::settle, attempt(), kUsd), now - hours{24 * (random() % 2)}});
        // Some are heard of no more.
        std::erase_if(alive, [&](const auto&) { return random() % 4 == 0; });
        std::vector<LedgerStore::Recorded> recorded;
        for (const auto& each : alive) {
            constexpr std::array kKinds{MovementKind::settle, MovementKind::settle,  MovementKind::settle,
                                        MovementKind::top_up, MovementKind::suspend, MovementKind::release,
                                        MovementKind::correct};
            const auto what = random() % (2 * kKinds.size());
            if (what >= kKinds.size()) continue;
            auto ending = each;
            ending.movement.kind = kKinds.at(what);
            ending.movement.ordinal = what < 3 ? 0 : static_cast<int>(1 + random() % 2);
            ending.movement.estimated = what == 2;
            ending.movement.demand.cost = {kUsd * static_cast<std::int64_t>(random() % 2)};
            for (auto& need : ending.movement.demand.needs) need.cost = ending.movement.demand.cost;
            recorded.push_back(ending);
        }
        batches->transact([&](Tx& tx) { LedgerStore().record(tx, recorded); });
        for (const auto& each : recorded) singles.transact([&](Tx& tx) { LedgerStore().record(tx, {each}); });
    }
    constexpr auto kEntries =
        "select string_agg(concat_ws(' ', attempt_id, movement, ordinal, budget_id, execution_id, window_start, "
        "window_end, available, reserved, suspense, settled, estimated), E'\n' order by attempt_id, movement, ordinal, "
        "budget_id, window_start) from ledger_entries";
    EXPECT_EQ(database_.value(kEntries), singly.value(kEntries));
    constexpr auto kBalances =
        "select string_agg(concat_ws(' ', budget_id, window_start, window_end, reserved, suspense, settled), E'\n' "
        "order by budget_id, window_start) from budget_balances";
    EXPECT_EQ(database_.value(kBalances), singly.value(kBalances));
    EXPECT_THAT(mismatches(), IsEmpty());
}

// A thread asks for the accounts it has booked in lately: here is one that has booked in none, then in some of them,
// and then in others.
TEST_F(LedgerTest, AccountsOfAllAgesAreFound) {
    std::vector<Budget> many;
    for (int i = 0; i < 70; ++i) many.push_back(put(budget("b" + std::to_string(i), 100)));
    const auto id = attempt();
    const auto later = attempt();
    EXPECT_TRUE(reserve(id, 3 * kUsd));
    EXPECT_TRUE(reserve(later, 4 * kUsd, kNow + hours{24}));
    std::thread([&] {
        record(movement(MovementKind::suspend, id, 0, 1));
        record(movement(MovementKind::settle, id, 2 * kUsd));
        record(movement(MovementKind::settle, later, 5 * kUsd));
    }).join();
    EXPECT_EQ(balance(many.front()), (Balance{{2 * kUsd}, {}, {}}));
    EXPECT_EQ(balance(many.back(), kNow + hours{24}), (Balance{{5 * kUsd}, {}, {}}));
    EXPECT_EQ(database_.value("select count(*) from ledger_accounts"), "140");
    EXPECT_THAT(mismatches(), IsEmpty());
}

// An entry by hand opens its account, and no balance: nobody else's money may be lost in it.
TEST_F(LedgerTest, AnAccountThatWasOpenedByHandGetsItsBalance) {
    const auto daily = put(budget("daily", 100));
    const auto by_hand = attempt();
    const auto window = window_at(daily.window, kNow);
    database_.run(
        "insert into ledger_entries (attempt_id, movement, ordinal, budget_id, execution_id, window_start, window_end, "
        "available, reserved, suspense, settled) values ('" +
        by_hand.text() + "', 'correct', 9, '" + daily.id.text() + "', '" + by_hand.text() + "', '" +
        domain::rfc3339(window.start) + "', '" + domain::rfc3339(window.end) + "', -1, 0, 0, 1)");
    for (int i = 1; i < 3; ++i) record(movement(MovementKind::correct, by_hand, 3 * kUsd, i));
    record(movement(MovementKind::settle, attempt(), 4 * kUsd));
    EXPECT_EQ(balance(daily).settled, (MicroUsd{7 * kUsd - 1})) << "all but what was written by hand";
    EXPECT_EQ(mismatches().size(), 1U);
}

// A delivery that is repeated beside a first one, of the same turn.
TEST_F(LedgerTest, WhatWasReservedBeforeIsLookedForWhereThereMayBeSomething) {
    const auto daily = put(budget("daily", 100));
    const auto again = attempt();
    EXPECT_TRUE(reserve(again, 10 * kUsd));
    auto first = movement(MovementKind::reserve, attempt(), 20 * kUsd, 1);
    first.first = true;
    database_.transact([&](Tx& tx) {
        EXPECT_THAT(LedgerStore().reserve(tx, {movement(MovementKind::reserve, again, 10 * kUsd, 1), first}, kNow),
                    IsEmpty());
    });
    EXPECT_EQ(balance(daily).reserved, (MicroUsd{30 * kUsd})) << "one of them had been booked before";
    EXPECT_THAT(mismatches(), IsEmpty());
}

TEST_F(LedgerTest, R18LateMoneyLandsInTheWindowThatItWasReservedIn) {
    const auto daily = put(budget("daily", 100));
    const auto tomorrow = kNow + hours{24};
    const auto id = attempt();
    EXPECT_TRUE(reserve(id, 10 * kUsd));
    auto estimated = movement(MovementKind::settle, id, 10 * kUsd);
    estimated.estimated = true;
    record(estimated, tomorrow);
    record(movement(MovementKind::correct, id, 95 * kUsd, 1), tomorrow);
    EXPECT_EQ(balance(daily), (Balance{{95 * kUsd}, {}, {}}));
    EXPECT_EQ(balance(daily, tomorrow), Balance{});
    EXPECT_TRUE(reserve(attempt(), 100 * kUsd, tomorrow));
    EXPECT_EQ(database_.value("select count(*) from ledger_entries where estimated"), "1");
}

TEST_F(LedgerTest, AnOverrunIsRecordedInFullAndClosesAdmission) {
    const auto daily = put(budget("daily", 100));
    const auto id = attempt();
    EXPECT_TRUE(reserve(id, 10 * kUsd));
    record(movement(MovementKind::settle, id, 150 * kUsd));
    EXPECT_EQ(balance(daily).settled, MicroUsd{150 * kUsd});
    EXPECT_FALSE(reserve(attempt(), 1));
    EXPECT_FALSE(reserve(attempt(), 0)) << "nothing more on money that is spent already";
    EXPECT_TRUE(reserve(attempt(), 1, kNow + hours{12})) << "until the window turns";
}

TEST_F(LedgerTest, SumsBeyondAnyAmountAreBooked) {
    const auto daily = put(budget("daily", 100));
    for (int i = 0; i < 12; ++i) record(movement(MovementKind::settle, attempt(), domain::kMostMoney.value));
    EXPECT_EQ(balance(daily).settled.value, std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(database_.value("select settled from budget_balances"), "11999999999999999988");
    std::vector<LedgerStore::Recorded> together;
    for (int i = 0; i < 12; ++i)
        together.push_back({movement(MovementKind::settle, attempt(), domain::kMostMoney.value), kNow});
    database_.transact([&](Tx& tx) { LedgerStore().record(tx, together); });
    EXPECT_EQ(database_.value("select settled from budget_balances"), "23999999999999999976");
    EXPECT_THAT(mismatches(), IsEmpty());
}

TEST_F(LedgerTest, ARetiredBudgetIsSettledAndLimitsNothing) {
    const auto daily = put(budget("daily", 100));
    const auto id = attempt();
    EXPECT_TRUE(reserve(id, 90 * kUsd));
    database_.transact([&](Tx& tx) { BudgetStore().retire(tx, daily.id, "ann", ""); });
    EXPECT_TRUE(reserve(attempt(), 90 * kUsd));
    record(movement(MovementKind::settle, id, 0));
    EXPECT_EQ(database_.value("select settled, reserved from budget_balances"), "0");
    EXPECT_EQ(database_.value("select reserved from budget_balances"), "0");
    EXPECT_THAT(mismatches(), IsEmpty());
}

TEST_F(LedgerTest, AWindowThatWasChangedStillCountsWhatIsInIt) {
    auto daily = put(budget("daily", 100));
    EXPECT_TRUE(reserve(attempt(), 60 * kUsd, kNow - hours{24}));
    EXPECT_TRUE(reserve(attempt(), 30 * kUsd));
    daily.window.unit = WindowUnit::month;
    put(daily);
    EXPECT_EQ(balance(daily).reserved, MicroUsd{90 * kUsd});
    EXPECT_FALSE(reserve(attempt(), 11 * kUsd));
    EXPECT_TRUE(reserve(attempt(), 10 * kUsd));
}

TEST_F(LedgerTest, EntriesAreOnlyAppended) {
    put(budget("daily", 100));
    EXPECT_TRUE(reserve(attempt(), kUsd));
    for (const auto* change :
         {"update ledger_movements set settled = '{0}'", "delete from ledger_movements", "truncate ledger_movements",
          "update ledger_accounts set window_end = now()", "delete from ledger_accounts",
          "update ledger_entries set settled = 0", "delete from ledger_entries"})
        EXPECT_THROW(database_.run(change), platform::StatementRefused) << change;
    EXPECT_THROW(
        database_.run("insert into ledger_entries (attempt_id, movement, ordinal, budget_id, execution_id, "
                      "window_start, window_end, available, reserved, suspense, settled) select "
                      "gen_random_uuid(), 'reserve', 0, budget_id, execution_id, window_start, window_end, -5, "
                      "4, 0, 0 from ledger_entries"),
        platform::StatementRefused)
        << "the four sum to zero";
}

TEST_F(LedgerTest, AMovementIsOneRowOverAllItsBudgets) {
    std::vector<Budget> budgets;
    for (const auto* name : {"a", "b", "c"}) budgets.push_back(put(budget(name, 100)));
    const auto id = attempt();
    EXPECT_TRUE(reserve(id, 5 * kUsd));
    record(movement(MovementKind::settle, id, 7 * kUsd));
    EXPECT_EQ(database_.value("select count(*) from ledger_movements"), "2");
    EXPECT_EQ(database_.value("select count(*) from ledger_entries"), "6");
    EXPECT_EQ(database_.value("select count(*) from ledger_accounts"), "3");
    for (const auto& each : budgets) EXPECT_EQ(balance(each), (Balance{{7 * kUsd}, {}, {}}));
    EXPECT_THAT(mismatches(), IsEmpty());
}

TEST_F(LedgerTest, ACorrectionByHandIsAnEntry) {
    const auto daily = put(budget("daily", 100));
    const auto id = attempt();
    EXPECT_TRUE(reserve(id, 5 * kUsd));
    database_.run(
        "insert into ledger_entries (attempt_id, movement, ordinal, budget_id, execution_id, window_start, window_end, "
        "available, reserved, suspense, settled) select attempt_id, 'release', 9, budget_id, execution_id, "
        "window_start, "
        "window_end, 5000000, -5000000, 0, 0 from ledger_entries");
    ASSERT_EQ(mismatches().size(), 1U);
    database_.transact([&](Tx& tx) { LedgerStore().repair(tx); });
    EXPECT_EQ(balance(daily), Balance{});
    record(movement(MovementKind::settle, id, 3 * kUsd));
    EXPECT_EQ(balance(daily), (Balance{{3 * kUsd}, {}, {}})) << "what is held is what the entries say";
}

TEST_F(LedgerTest, WrongBalancesAreFoundAndRepairedFromTheEntries) {
    const auto daily = put(budget("daily", 100));
    const auto other = put(budget("other", 100));
    EXPECT_TRUE(reserve(attempt(), 5 * kUsd));
    EXPECT_THAT(mismatches(), IsEmpty());
    database_.run("update budget_balances set reserved = 7 where budget_id = '" + daily.id.text() + "'");
    database_.run("delete from budget_balances where budget_id = '" + other.id.text() + "'");
    database_.run("insert into budget_balances values ('" + daily.id.text() +
                  "', '2020-01-01T00:00:00Z', '2020-01-02T00:00:00Z', 3, 0, 0)");
    const auto found = mismatches();
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].entries, "0.000000, 0.000000, 0.000000");
    EXPECT_EQ(found[0].balance, "0.000003, 0.000000, 0.000000");
    EXPECT_EQ(found[1].entries, "0.000000, 5.000000, 0.000000");
    EXPECT_EQ(found[1].balance, "0.000000, 0.000007, 0.000000");
    EXPECT_EQ(found[2].budget, other.id);
    EXPECT_EQ(found[2].balance, "");
    database_.transact([&](Tx& tx) { EXPECT_EQ(LedgerStore().repair(tx).size(), 3U); });
    EXPECT_THAT(mismatches(), IsEmpty());
    EXPECT_EQ(balance(daily).reserved, MicroUsd{5 * kUsd});
    EXPECT_EQ(balance(other).reserved, MicroUsd{5 * kUsd});
    database_.transact([&](Tx& tx) { EXPECT_THAT(LedgerStore().repair(tx), IsEmpty()); });
}

// Four sessions in each other's way, each transaction committed by itself. Of a rolling window each books in another
// slice.
TEST_F(LedgerTest, R17SeveralAtOnceNeverPassAHardLimit) {
    for (const auto& rule : {WindowRule{}, WindowRule{WindowUnit::rolling, "UTC", 0, 1, 5}}) {
        const auto limited = put(budget("limited", 100, rule));
        std::atomic<int> granted = 0;
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([&, i] {
                const auto connection = session();
                for (int n = 0; n < 40; ++n)
                    connection->transact([&](Tx& tx) {
                        const auto one = movement(MovementKind::reserve, attempt(), kUsd, 1);
                        if (LedgerStore().reserve(tx, {one}, kNow + i * minutes{5}).empty()) ++granted;
                    });
            });
        for (auto& thread : threads) thread.join();
        EXPECT_EQ(granted, 100);
        EXPECT_EQ(balance(limited, kNow + minutes{20}).reserved, MicroUsd{100 * kUsd});
        EXPECT_THAT(mismatches(), IsEmpty());
        database_.transact([&](Tx& tx) { BudgetStore().retire(tx, limited.id, "", ""); });
    }
}

TEST_F(LedgerTest, WhatAnotherNodeSettlesMeanwhileCounts) {
    put(budget("daily", 100));
    const auto id = attempt();
    EXPECT_TRUE(reserve(id, 10 * kUsd));
    const auto other = session();
    std::vector<std::size_t> dropped;
    std::thread waiting;
    database_.transact([&](Tx& tx) {
        LedgerStore().record(tx, {{movement(MovementKind::settle, id, 95 * kUsd), kNow}});
        // What was sent has been run, its locks are held.
        tx.run("select 1");
        waiting = std::thread([&] {
            other->transact([&](Tx& theirs) {
                dropped =
                    LedgerStore().reserve(theirs, {movement(MovementKind::reserve, attempt(), 10 * kUsd, 1)}, kNow);
            });
        });
        // The other waits for the budget before this commits.
        for (int i = 0; i < 3000; ++i) {
            if (database_.value("select count(*) from pg_locks where not granted") != "0") break;
            std::this_thread::sleep_for(std::chrono::milliseconds{10});
        }
    });
    waiting.join();
    EXPECT_THAT(dropped, ElementsAre(0U)) << "it saw the overrun that it waited for";
}

// Random lives of attempts over several budgets, in several sessions: the balances are the sums of the entries, and no
// reservation is left of what has ended.
TEST_F(LedgerTest, BalancesAreTheSumsOfEntriesWhateverHappens) {
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    put(budget("daily", 400));
    put(budget("rolling", 500, {WindowUnit::rolling, "UTC", 0, 1, 3}));
    auto gemini = budget("gemini", 300, {WindowUnit::week, "America/New_York", 6, 3});
    gemini.scope.provider = "gemini";
    put(gemini);
    auto type = budget("type", 300, {WindowUnit::month, "Europe/Berlin", 3});
    type.scope.workflow_type = "seo_monitor";
    put(type);

    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 3; ++t)
        threads.emplace_back([&, t] {
            std::mt19937_64 random(seed + t);
            const auto connection = session();
            struct Alive {
                Movement movement;
                TimePoint granted;
            };
            std::vector<Alive> alive;
            TimePoint now = kNow;
            const auto some = [&](std::int64_t most) { return static_cast<std::int64_t>(random() % most) * 1000; };
            const auto end = [&](Alive& each, MovementKind kind) {
                auto ending = each.movement;
                ending.kind = kind;
                ending.ordinal = 0;
                ending.demand.cost = {some(20'000)};
                for (auto& need : ending.demand.needs) need.cost = {ending.demand.cost.value / 2};
                return LedgerStore::Recorded{ending, each.granted};
            };
            for (int i = 0; i < 60; ++i) {
                now += minutes{random() % 60};
                connection->transact([&](Tx& tx) {
                    std::vector<Movement> reservations;
                    for (std::uint64_t n = random() % 5; n > 0; --n) {
                        auto one = movement(MovementKind::reserve, attempt(), some(15'000), 1);
                        if (random() % 2) one.demand.lane.workflow_type = "seo_monitor";
                        if (random() % 2) one.demand.needs = {{"gemini", 1, 0, 0, {one.demand.cost.value / 2}}};
                        reservations.push_back(one);
                    }
                    const auto dropped = LedgerStore().reserve(tx, reservations, now);
                    for (std::size_t n = 0; n < reservations.size(); ++n)
                        if (std::find(dropped.begin(), dropped.end(), n) == dropped.end())
                            alive.push_back({reservations[n], now});
                    std::vector<LedgerStore::Recorded> recorded;
                    for (auto& each : alive) {
                        const auto what = random() % 8;
                        if (what > 4) continue;
                        recorded.push_back(end(each, static_cast<MovementKind>(1 + what)));
                    }
                    LedgerStore().record(tx, recorded);
                });
            }
            connection->transact([&](Tx& tx) {
                std::vector<LedgerStore::Recorded> recorded;
                for (auto& each : alive) {
                    recorded.push_back(end(each, MovementKind::settle));
                    recorded.back().movement.ordinal = 7;
                }
                LedgerStore().record(tx, recorded);
            });
        });
    for (auto& thread : threads) thread.join();
    EXPECT_THAT(mismatches(), IsEmpty());
    EXPECT_NE(database_.value("select count(*) from ledger_entries where movement = 'suspend'"), "0");
    EXPECT_EQ(database_.value("select sum(reserved + suspense) from budget_balances"), "0");
    EXPECT_EQ(database_.value("select count(*) from (select from ledger_entries group by attempt_id, budget_id, "
                              "window_start having sum(reserved) < 0 or sum(suspense) < 0 or sum(settled) < 0) x"),
              "0");
}

}
}
