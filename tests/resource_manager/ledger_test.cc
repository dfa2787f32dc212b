#include "resource_manager/ledger.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace impresario::resource_manager {
namespace ledger_test {

using domain::MicroUsd;
using domain::TimePoint;

const TimePoint kNow = *domain::parse_time("2026-11-28T12:00:00Z");
const BudgetWindow kToday = window_at({}, kNow);
const BudgetWindow kTomorrow = window_at({}, kToday.end);

domain::BudgetId budget(int n) {
    domain::BudgetId id;
    id.value[15] = static_cast<std::uint8_t>(n);
    return id;
}
Part part(int n, std::int64_t amount, const BudgetWindow& window = kToday) { return {budget(n), window, {amount}}; }

/// One attempt: books what is asked and checks each entry.
struct Story {
    AttemptAccount account;
    std::map<std::pair<domain::BudgetId, BudgetWindow>, Balance> balances;

    std::size_t move(MovementKind kind, int ordinal, const std::vector<Part>& parts, bool estimated = false) {
        Movement movement;
        movement.kind = kind;
        movement.ordinal = ordinal;
        movement.estimated = estimated;
        const auto entries = entries_of(movement, account, parts);
        for (const auto& entry : entries) {
            EXPECT_EQ(entry.available + entry.change.counted(), MicroUsd{0}) << "double entry";
            account.book(kind, ordinal, entry);
            balances[{entry.budget, entry.window}] += entry.change;
        }
        return entries.size();
    }
    Balance at(int n, const BudgetWindow& window = kToday) { return balances[{budget(n), window}]; }
};

TEST(Ledger, TheTruthReplacesWhatWasReserved) {
    Story story;
    EXPECT_EQ(story.move(MovementKind::reserve, 1, {part(1, 100), part(2, 40)}), 2U);
    EXPECT_EQ(story.at(1), (Balance{{}, {100}, {}}));
    EXPECT_EQ(story.move(MovementKind::settle, 0, {part(1, 130), part(2, 10)}), 2U);
    EXPECT_EQ(story.at(1), (Balance{{130}, {}, {}})) << "more than was reserved is booked in full";
    EXPECT_EQ(story.at(2), (Balance{{10}, {}, {}}));
}

TEST(Ledger, WhatWasReservedTodaySettlesToday) {
    Story story;
    story.move(MovementKind::reserve, 1, {part(1, 100), part(2, 0)});
    story.move(MovementKind::settle, 0, {part(1, 90, kTomorrow), part(2, 7, kTomorrow), part(3, 5, kTomorrow)});
    EXPECT_EQ(story.at(1), (Balance{{90}, {}, {}}));
    EXPECT_EQ(story.at(2), (Balance{{7}, {}, {}})) << "what seemed free has a window too";
    EXPECT_EQ(story.at(3, kTomorrow), (Balance{{5}, {}, {}})) << "nothing was reserved of it";
    story.move(MovementKind::correct, 1, {part(1, 120, kTomorrow), part(2, 7, kTomorrow), part(3, 2, kTomorrow)});
    EXPECT_EQ(story.at(1), (Balance{{120}, {}, {}}));
    EXPECT_EQ(story.at(3, kTomorrow), (Balance{{2}, {}, {}}));
    EXPECT_EQ(story.at(1, kTomorrow), Balance{});
}

/// SQL closes an attempt, its callback comes, and then what SQL said is booked.
TEST(Ledger, WhatIsKnownIsNotUndoneByASettlementThatComesLater) {
    for (const bool estimated : {true, false}) {
        Story story;
        story.move(MovementKind::reserve, 1, {part(1, 100)});
        story.move(MovementKind::correct, 7, {part(1, 120)});
        EXPECT_EQ(story.at(1), (Balance{{120}, {}, {}}));
        EXPECT_EQ(story.move(MovementKind::settle, 0, {part(1, 3)}, estimated), 0U);
        EXPECT_EQ(story.at(1), (Balance{{120}, {}, {}}));
    }
}

TEST(Ledger, TheSameMovementIsBookedOnce) {
    Story story;
    for (int i = 0; i < 3; ++i) story.move(MovementKind::reserve, 1, {part(1, 100)});
    EXPECT_EQ(story.at(1), (Balance{{}, {100}, {}}));
    for (int i = 0; i < 3; ++i) story.move(MovementKind::settle, 0, {part(1, 80 + i)});
    EXPECT_EQ(story.at(1), (Balance{{80}, {}, {}}));
}

TEST(Ledger, UnknownMoneyIsKeptApartUntilItIsKnown) {
    Story story;
    story.move(MovementKind::reserve, 1, {part(1, 100)});
    story.move(MovementKind::suspend, 1, {});
    EXPECT_EQ(story.at(1), (Balance{{}, {}, {100}}));
    EXPECT_EQ(story.at(1).counted(), MicroUsd{100}) << "it still counts";
    story.move(MovementKind::settle, 0, {part(1, 60)});
    EXPECT_EQ(story.at(1), (Balance{{60}, {}, {}}));
}

TEST(Ledger, WhatIsReleasedMayBeReservedAnewInALaterWindow) {
    Story story;
    story.move(MovementKind::reserve, 1, {part(1, 100)});
    story.move(MovementKind::release, 1, {});
    EXPECT_EQ(story.at(1), Balance{});
    story.move(MovementKind::reserve, 2, {part(1, 100, kTomorrow)});
    story.move(MovementKind::settle, 0, {part(1, 70, kToday)});
    EXPECT_EQ(story.at(1), Balance{});
    EXPECT_EQ(story.at(1, kTomorrow), (Balance{{70}, {}, {}}));
}

TEST(Ledger, ATopUpRaisesWhatIsHeldToWhatWasSpent) {
    Story story;
    story.move(MovementKind::reserve, 1, {part(1, 100)});
    EXPECT_EQ(story.move(MovementKind::top_up, 1, {part(1, 80)}), 0U) << "still within what was reserved";
    story.move(MovementKind::top_up, 2, {part(1, 150)});
    EXPECT_EQ(story.at(1), (Balance{{}, {150}, {}}));
    story.move(MovementKind::settle, 0, {part(1, 149)});
    EXPECT_EQ(story.at(1), (Balance{{149}, {}, {}}));
}

TEST(Ledger, ABudgetThatNothingWasSpentOfGetsItsMoneyBack) {
    Story story;
    story.move(MovementKind::reserve, 1, {part(1, 100), part(2, 50)});
    story.move(MovementKind::settle, 0, {part(1, 20)});
    EXPECT_EQ(story.at(2), Balance{});
}

TEST(Ledger, PartsAreWhatFallsOnEachBudget) {
    std::vector<BudgetState> budgets(3);
    for (int i = 0; i < 3; ++i) budgets[static_cast<std::size_t>(i)].budget.id = budget(i);
    budgets[1].budget.scope.provider = "gemini";
    budgets[2].budget.scope.provider = "openai";
    domain::Demand demand;
    demand.cost = {100};
    demand.needs = {{"gemini", 1, 0, 0, {30}}};
    const auto found = parts(budgets, demand, kNow);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].amount, MicroUsd{100});
    EXPECT_EQ(found[1].amount, MicroUsd{30});
    EXPECT_EQ(found[1].window, kToday);
}

TEST(Ledger, RoomsGiveAllPartsOrNone) {
    std::vector<BudgetState> budgets(3);
    for (int i = 0; i < 3; ++i) budgets[static_cast<std::size_t>(i)].budget.id = budget(i);
    budgets[0].budget.limit = {100};
    budgets[1].budget.scope.provider = "gemini";
    budgets[2].budget.limit = {60};
    auto rooms = rooms_of(budgets, kNow);
    domain::Demand demand;
    demand.cost = {40};
    const auto asked = parts(rooms, demand);
    ASSERT_EQ(asked.size(), 2U);
    EXPECT_EQ(asked[1].budget, budget(2));
    EXPECT_EQ(asked[1].window, kToday);
    EXPECT_TRUE(take(rooms, asked, demand));
    EXPECT_FALSE(take(rooms, asked, demand)) << "the last has 20 left";
    EXPECT_TRUE(rooms[0].allows({60}, demand)) << "nothing was taken of the first";
    EXPECT_FALSE(rooms[0].allows({61}, demand));
    EXPECT_TRUE(take(rooms, {part(2, 20)}, demand));
}

// What memory planned may be older than the rows: its steps hold there, too.
TEST(Ledger, RoomsKeepWhatTheirStepsKeep) {
    std::vector<BudgetState> budgets(1);
    budgets[0].budget.id = budget(0);
    budgets[0].budget.limit = {20};
    const auto taken_of_thirty = [&](const domain::Demand& demand) {
        auto rooms = rooms_of(budgets, kNow);
        int count = 0;
        for (int i = 0; i < 30; ++i) count += take(rooms, {part(0, 1)}, demand);
        return count;
    };
    domain::Demand demand;
    EXPECT_EQ(taken_of_thirty(demand), 18) << "at 90 % only what is critical goes on";
    domain::Demand critical;
    critical.importance = domain::Importance::critical;
    EXPECT_EQ(taken_of_thirty(critical), 20);
    budgets[0].budget.steps = {{.at_percent = 50, .action = BudgetAction::defer_low_priority}};
    demand.priority = 49;
    EXPECT_EQ(taken_of_thirty(demand), 10);
    demand.priority = 50;
    EXPECT_EQ(taken_of_thirty(demand), 20);
    budgets[0].budget.steps = {{.at_percent = 50, .action = BudgetAction::ask_human}};
    EXPECT_EQ(taken_of_thirty(demand), 10);
    budgets[0].approved_until = kNow + std::chrono::hours{1};
    EXPECT_EQ(taken_of_thirty(demand), 20);
}

TEST(Ledger, SameMoneyIsWhatFallsOnTheSameBudgets) {
    domain::Demand demand;
    demand.lane = {"default", "seo_monitor"};
    demand.cost = {100};
    demand.needs = {{"gemini", 1, 0, 0, {30}}};
    auto other = demand;
    other.priority = 90;
    other.memory_mb = 512;
    other.concurrency_key = "a";
    EXPECT_TRUE(same_money(demand, other)) << "these are not asked of budgets";
    const auto differs = [&](auto change) {
        auto changed = demand;
        change(changed);
        return !same_money(demand, changed);
    };
    EXPECT_TRUE(differs([](domain::Demand& each) { each.cost = {101}; }));
    EXPECT_TRUE(differs([](domain::Demand& each) { each.guessed = true; }));
    EXPECT_TRUE(differs([](domain::Demand& each) { each.lane.organization_id = "acme"; }));
    EXPECT_TRUE(differs([](domain::Demand& each) { each.lane.workflow_type = "content_pipeline"; }));
    EXPECT_TRUE(differs([](domain::Demand& each) { each.needs[0].cost = {31}; }));
    EXPECT_TRUE(differs([](domain::Demand& each) { each.needs[0].provider = "openai"; }));
    EXPECT_TRUE(differs([](domain::Demand& each) { each.batch = domain::BatchId(); }));
}

// Whatever happens in whatever order, twice or not: nothing is ever below zero, and what an end leaves behind is only
// what was settled.
TEST(Ledger, NoOrderOfMovementsLosesOrInventsMoney) {
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    for (int round = 0; round < 2000; ++round) {
        Story story;
        for (int i = 0; i < 12; ++i) {
            std::vector<Part> parts;
            for (int b = 1; b <= 3; ++b)
                if (random() % 3)
                    parts.push_back(
                        part(b, static_cast<std::int64_t>(random() % 100), random() % 2 ? kToday : kTomorrow));
            const auto kind = static_cast<MovementKind>(random() % 6);
            story.move(kind, static_cast<int>(random() % 4), parts);
            for (const auto& [place, balance] : story.balances) {
                ASSERT_GE(balance.settled, MicroUsd{0});
                ASSERT_GE(balance.reserved, MicroUsd{0});
                ASSERT_GE(balance.suspense, MicroUsd{0});
            }
        }
        story.move(MovementKind::settle, 99, {part(1, 5), part(2, 6), part(3, 7)});
        MicroUsd settled;
        for (const auto& [place, balance] : story.balances) settled = settled + balance.settled;
        for (const auto& holding : story.account.holdings())
            ASSERT_EQ(story.balances.at({holding.budget, holding.window}), holding.balance);
    }
}

}
}
