#include <gtest/gtest.h>

#include <random>

#include "resource_manager/admission.h"

namespace impresario::resource_manager {
namespace budget_limit_test {

using domain::Demand;
using domain::GateKind;
using domain::Importance;
using domain::MicroUsd;
using domain::TimePoint;

TimePoint at(const char* text) { return *domain::parse_time(text); }
const TimePoint kNow = at("2026-11-28T12:00:00Z");
MicroUsd usd(std::int64_t dollars) { return {dollars * 1000000}; }

BudgetState hundred(Balance balance, std::vector<BudgetStep> steps = {}) {
    BudgetState state;
    state.budget.name = "daily";
    state.budget.limit = usd(100);
    state.budget.steps = std::move(steps);
    state.windows = {{window_at(state.budget.window, kNow), balance}};
    move_steps(state, kNow);
    return state;
}

Demand demand(MicroUsd cost, Importance importance = Importance::normal) {
    Demand one;
    one.lane = {"default", "content_pipeline"};
    one.cost = cost;
    one.importance = importance;
    return one;
}

BudgetStep step(int at_percent, BudgetAction action) {
    BudgetStep one;
    one.at_percent = at_percent;
    one.undone_below_percent = at_percent;
    one.action = action;
    return one;
}

TEST(BudgetLimit, GrantsUpToTheLimitAndNotBeyond) {
    const auto state = hundred({usd(60), usd(20), usd(10)});
    BudgetLimit limit{&state, {}};
    EXPECT_FALSE(limit.check(demand(usd(10)), kNow));
    const auto gate = limit.check(demand(usd(10) + MicroUsd{1}), kNow);
    ASSERT_TRUE(gate);
    EXPECT_EQ(gate->kind, GateKind::budget);
    EXPECT_EQ(gate->subject, "daily");
    EXPECT_EQ(gate->opens_at, at("2026-11-29T00:00:00Z"));
    EXPECT_EQ(gate->detail,
              "90.000000 of 100.000000 USD are spent or reserved and 10.000001 more asked; its window turns at "
              "2026-11-29T00:00:00.000000Z");
    const std::vector<std::pair<std::string, std::string>> numbers{{"asks", "10.000001"},
                                                                   {"settled", "60.000000"},
                                                                   {"reserved", "20.000000"},
                                                                   {"suspense", "10.000000"},
                                                                   {"limit", "100.000000"}};
    EXPECT_EQ(gate->numbers, numbers);
}

TEST(BudgetLimit, CountsWhatItGrantsInOneTurn) {
    const auto state = hundred({});
    Admission admission;
    const std::vector<std::size_t> named{admission.add(BudgetLimit{&state, {}})};
    int granted = 0;
    for (int i = 0; i < 1000; ++i)
        granted += std::holds_alternative<Granted>(admission.admit(demand(usd(3)), named, kNow));
    EXPECT_EQ(granted, 33);
    EXPECT_TRUE(std::holds_alternative<Granted>(admission.admit(demand(usd(1)), named, kNow)));
    EXPECT_TRUE(std::holds_alternative<Deferred>(admission.admit(demand(MicroUsd{1}), named, kNow)));
    EXPECT_TRUE(std::holds_alternative<Granted>(admission.admit(demand({}), named, kNow)));
}

TEST(BudgetLimit, SeveralBudgetsAreChargedTogetherOrNotAtAll) {
    auto wide = hundred({});
    auto narrow = hundred({usd(95), {}, {}});
    Admission admission;
    const std::vector<std::size_t> both{admission.add(BudgetLimit{&wide, {}}), admission.add(BudgetLimit{&narrow, {}})};
    const std::vector<std::size_t> one{both[0]};
    EXPECT_TRUE(std::holds_alternative<Deferred>(admission.admit(demand(usd(6)), both, kNow)));
    EXPECT_TRUE(std::holds_alternative<Granted>(admission.admit(demand(usd(100)), one, kNow)))
        << "what the second refused was not taken from the first";
}

/// What another lane is answered after one that has waited too long was asked about and stopped.
Verdict after_one_that_starves(const BudgetState& state, MicroUsd asks, Demand other) {
    Demand large = demand(asks);
    large.lane.workflow_type = "large";
    large.starving = true;
    Admission admission;
    const std::vector<std::size_t> named{admission.add(BudgetLimit{&state, {}})};
    EXPECT_TRUE(std::holds_alternative<Deferred>(admission.admit(large, named, kNow)));
    return admission.admit(other, named, kNow);
}

TEST(BudgetLimit, WhatComesFreeIsKeptForOneThatHasWaitedTooLong) {
    const auto reserved = hundred({usd(10), usd(50), usd(0)});
    const auto kept = after_one_that_starves(reserved, usd(80), demand(usd(5)));
    const auto* stopped = std::get_if<Deferred>(&kept);
    ASSERT_TRUE(stopped);
    EXPECT_TRUE(stopped->gate.detail.ends_with("what comes free is kept for one that has waited beyond its max_wait"))
        << stopped->gate.detail;
    EXPECT_FALSE(std::holds_alternative<Granted>(
        after_one_that_starves(hundred({usd(10), usd(0), usd(50)}), usd(80), demand(usd(5)))))
        << "what is in suspense may come back as well";
    EXPECT_TRUE(std::holds_alternative<Granted>(after_one_that_starves(reserved, usd(80), demand(usd(0)))))
        << "what costs nothing takes nothing";

    const auto granted = [](const BudgetState& state, MicroUsd asks, Importance importance = Importance::normal) {
        return std::holds_alternative<Granted>(after_one_that_starves(state, asks, demand(usd(5), importance)));
    };
    EXPECT_TRUE(granted(hundred({usd(30), usd(50), usd(0)}), usd(80))) << "nothing but the window's turn helps it";
    EXPECT_TRUE(granted(reserved, usd(101))) << "it never fits";
    const auto paused = hundred({usd(10), usd(50), usd(0)}, {step(50, BudgetAction::pause_non_critical)});
    EXPECT_TRUE(granted(paused, usd(80), Importance::critical)) << "a step stops it, and not what others hold";
}

TEST(BudgetLimit, OfWhatOneThatHasWaitedTooLongDoesNotLackItsPartIsSetAside) {
    const auto state = hundred({usd(40), usd(0), usd(0)});
    Demand large = demand(usd(50));
    large.memory_mb = 800;
    large.starving = true;
    const auto granted = [&](MicroUsd asks) {
        Admission admission;
        const std::vector<std::size_t> named{admission.add(Memory{1000, 500}), admission.add(BudgetLimit{&state, {}})};
        EXPECT_TRUE(std::holds_alternative<Deferred>(admission.admit(large, named, kNow)));
        return std::holds_alternative<Granted>(admission.admit(demand(asks), named, kNow));
    };
    EXPECT_TRUE(granted(usd(10)));
    EXPECT_FALSE(granted(usd(11))) << "or the money is gone when there is memory";
}

TEST(BudgetLimit, NothingIsKeptForOneThatSomethingElseKeepsFromStarting) {
    const auto reserved = hundred({usd(10), usd(50), usd(0)});
    const auto paused = hundred({usd(60), usd(0), usd(0)}, {step(50, BudgetAction::pause_non_critical)});
    Demand large = demand(usd(80));
    large.starving = true;
    const auto granted = [&](Limiter other) {
        Admission admission;
        const auto budget = admission.add(BudgetLimit{&reserved, {}});
        const auto more = admission.add(std::move(other));
        EXPECT_TRUE(std::holds_alternative<Deferred>(admission.admit(large, {budget, more}, kNow)));
        return std::holds_alternative<Granted>(admission.admit(demand(usd(5)), {budget}, kNow));
    };
    EXPECT_TRUE(granted(Closed{{}})) << "its hours have not come";
    EXPECT_TRUE(granted(BudgetLimit{&paused, {}})) << "another budget's step stops it";
    EXPECT_FALSE(granted(Memory{1000, 500})) << "nothing else does";
}

TEST(BudgetLimit, ASoftBudgetThatIsSmallerThanAStartKeepsNothingFromIt) {
    auto soft = hundred({usd(0), usd(0), usd(0)});
    soft.budget.hard = false;
    soft.budget.limit = usd(1);
    Demand large = demand(usd(2));
    large.memory_mb = 800;
    large.starving = true;
    Demand small = demand(usd(0));
    small.memory_mb = 100;
    Admission admission;
    const std::vector<std::size_t> named{admission.add(Memory{1000, 500}), admission.add(BudgetLimit{&soft, {}})};
    EXPECT_TRUE(std::holds_alternative<Deferred>(admission.admit(large, named, kNow)));
    EXPECT_TRUE(std::holds_alternative<Deferred>(admission.admit(small, named, kNow))) << "memory is kept for it";
}

TEST(BudgetLimit, ClosesWhenMoreWasSpentThanItAllows) {
    const auto state = hundred({usd(101), {}, {}});
    const BudgetLimit limit{&state, {}};
    EXPECT_TRUE(limit.check(demand({}), kNow)) << "nothing more on money that is spent already";
    EXPECT_FALSE(limit.check(demand(usd(100)), at("2026-11-29T00:00:00Z"))) << "until the window turns";
}

TEST(BudgetLimit, SaysWhatCanNeverFit) {
    const auto state = hundred({});
    const auto gate = BudgetLimit{&state, {}}.check(demand(usd(101)), kNow);
    ASSERT_TRUE(gate);
    EXPECT_FALSE(gate->opens_at);
    EXPECT_NE(gate->detail.find("raise the limit"), std::string::npos) << gate->detail;
}

TEST(BudgetLimit, ASoftBudgetHasOnlyItsSteps) {
    auto state = hundred({usd(150), {}, {}}, {step(120, BudgetAction::pause_non_critical)});
    state.budget.hard = false;
    EXPECT_TRUE((BudgetLimit{&state, {}}.check(demand(usd(1)), kNow)));
    EXPECT_FALSE((BudgetLimit{&state, {}}.check(demand(usd(1), Importance::critical), kNow)));
}

TEST(BudgetLimit, HasNothingToSayOutsideItsScope) {
    auto state = hundred({usd(200), {}, {}});
    const auto closed = [&](const Demand& asked) { return BudgetLimit{&state, {}}.check(asked, kNow).has_value(); };
    auto asked = demand(usd(1));
    asked.needs = {{"gemini", 1, 0, 0, usd(1)}};
    EXPECT_TRUE(closed(asked));
    state.budget.scope = {"default", "gemini", "content_pipeline", std::nullopt};
    EXPECT_TRUE(closed(asked));
    for (const BudgetScope& scope :
         {BudgetScope{"other", "", "", {}}, BudgetScope{"", "openai", "", {}}, BudgetScope{"", "", "seo_monitor", {}},
          BudgetScope{"", "", "", domain::BatchId{}}}) {
        state.budget.scope = scope;
        EXPECT_FALSE(closed(asked));
    }
    asked.batch = domain::BatchId{};
    EXPECT_TRUE(closed(asked));
}

TEST(BudgetLimit, AProvidersBudgetCountsWhatIsNeededOfIt) {
    auto state = hundred({usd(90), {}, {}});
    state.budget.scope.provider = "gemini";
    auto asked = demand(usd(50));
    asked.needs = {{"gemini", 1, 0, 0, usd(10)}, {"openai", 1, 0, 0, usd(40)}};
    BudgetLimit limit{&state, {}};
    EXPECT_FALSE(limit.check(asked, kNow));
    Granted granted;
    limit.take(asked, granted, kNow);
    EXPECT_EQ(limit.taken, usd(10));
}

TEST(BudgetSteps, AtNinetyPercentOnlyCriticalWorkGoesOn) {
    const auto state = hundred({usd(90), {}, {}}, Budget{}.steps);
    const BudgetLimit limit{&state, {}};
    const auto gate = limit.check(demand(usd(1), Importance::high), kNow);
    ASSERT_TRUE(gate);
    EXPECT_NE(gate->detail.find("at 90 % pause_non_critical until less than 85 % counts"), std::string::npos)
        << gate->detail;
    EXPECT_EQ(gate->opens_at, at("2026-11-29T00:00:00Z"));
    EXPECT_FALSE(limit.check(demand(usd(10), Importance::critical), kNow));
    EXPECT_TRUE(limit.check(demand(usd(11), Importance::critical), kNow)) << "the limit holds for all";
}

// Thirty that are not critical, of 1 USD each, in one turn: what they are granted begins the step, as it would from
// turn to turn.
TEST(BudgetSteps, WhatOneTurnGrantsBeginsTheStep) {
    auto state = hundred({}, Budget{}.steps);
    state.budget.limit = usd(20);
    Admission admission;
    const std::vector<std::size_t> named{admission.add(BudgetLimit{&state, {}})};
    const auto granted = [&](Importance importance) {
        int count = 0;
        for (int i = 0; i < 30; ++i)
            count += std::holds_alternative<Granted>(admission.admit(demand(usd(1), importance), named, kNow));
        return count;
    };
    EXPECT_EQ(granted(Importance::normal), 18) << "90 % of 20";
    EXPECT_EQ(granted(Importance::critical), 2);
    const auto verdict = admission.admit(demand(usd(1)), named, kNow);
    ASSERT_TRUE(std::holds_alternative<Deferred>(verdict));
    EXPECT_NE(std::get<Deferred>(verdict).gate.detail.find("at 90 % pause_non_critical"), std::string::npos);
}

TEST(BudgetSteps, WhatOneTurnGrantsLetsLittlePriorityWait) {
    const auto state = hundred({usd(70), {}, {}}, {step(80, BudgetAction::defer_low_priority)});
    Admission admission;
    const auto limit = admission.add(BudgetLimit{&state, {}});
    const auto priority = admission.add(BudgetPriority{&state});
    auto low = demand(usd(1));
    low.priority = 49;
    const auto critical = demand(usd(4), Importance::critical);
    EXPECT_TRUE(std::holds_alternative<Granted>(admission.admit(critical, {limit, priority}, kNow)));
    int count = 0;
    for (int i = 0; i < 10; ++i)
        count += std::holds_alternative<Granted>(admission.admit(low, {limit, priority}, kNow));
    EXPECT_EQ(count, 6) << "critical work spends of it, too";
    EXPECT_TRUE(std::holds_alternative<Granted>(admission.admit(demand(usd(1)), {limit, priority}, kNow)));
}

TEST(BudgetSteps, StopStopsCriticalWorkToo) {
    const auto state = hundred({usd(95), {}, {}}, {step(95, BudgetAction::stop)});
    EXPECT_TRUE((BudgetLimit{&state, {}}.check(demand(usd(1), Importance::critical), kNow)));
}

TEST(BudgetSteps, AHumanMayApproveGoingOn) {
    auto state = hundred({usd(95), {}, {}}, {step(90, BudgetAction::ask_human)});
    EXPECT_TRUE((BudgetLimit{&state, {}}.check(demand(usd(1)), kNow)));
    state.approved_until = at("2026-11-29T00:00:00Z");
    EXPECT_FALSE((BudgetLimit{&state, {}}.check(demand(usd(1)), kNow)));
    EXPECT_TRUE((BudgetLimit{&state, {}}.check(demand(usd(6)), kNow))) << "the limit is not what was approved";
}

TEST(BudgetSteps, OffPeakHoursOpenByThemselves) {
    const auto state = hundred({usd(95), {}, {}}, {step(90, BudgetAction::off_peak_hours)});
    const auto gate = BudgetLimit{&state, {}}.check(demand(usd(1)), kNow);
    ASSERT_TRUE(gate);
    EXPECT_EQ(gate->opens_at, at("2026-11-28T22:00:00Z"));
    EXPECT_FALSE((BudgetLimit{&state, {}}.check(demand(usd(1)), at("2026-11-28T23:00:00Z"))));
}

TEST(BudgetSteps, LowPriorityWaitsAndTheRestOfItsLaneGoesOn) {
    const auto state = hundred({usd(80), {}, {}}, {step(80, BudgetAction::defer_low_priority)});
    Admission admission;
    const std::vector<std::size_t> named{admission.add(BudgetLimit{&state, {}}), admission.add(BudgetPriority{&state})};
    auto low = demand(usd(1));
    low.priority = 49;
    const auto verdict = admission.admit(low, named, kNow);
    ASSERT_TRUE(std::holds_alternative<Deferred>(verdict));
    EXPECT_FALSE(std::get<Deferred>(verdict).whole_lane);
    EXPECT_FALSE(admission.closed(low, named, kNow));
    EXPECT_TRUE(std::holds_alternative<Granted>(admission.admit(demand(usd(1)), named, kNow)));
    low.importance = Importance::critical;
    EXPECT_TRUE(std::holds_alternative<Granted>(admission.admit(low, named, kNow)));
}

// Whatever is asked in whatever order: what counts never passes a hard limit, over several budgets at once.
TEST(BudgetLimit, NothingPassesAnyLimitInAnyOrder) {
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    for (int round = 0; round < 200; ++round) {
        std::vector<BudgetState> states;
        for (int i = 0; i < 4; ++i) {
            auto state = hundred({{static_cast<std::int64_t>(random() % 100'000'000)}, {}, {}});
            if (i == 1) state.budget.scope.provider = "gemini";
            if (i == 2) state.budget.scope.workflow_type = "content_pipeline";
            states.push_back(std::move(state));
        }
        Admission admission;
        std::vector<std::size_t> named;
        for (const auto& state : states) named.push_back(admission.add(BudgetLimit{&state, {}}));
        std::vector<std::int64_t> booked;
        for (const auto& state : states) booked.push_back(state.counted(kNow).counted().value);
        for (int i = 0; i < 50; ++i) {
            auto asked = demand({static_cast<std::int64_t>(random() % 20'000'000)});
            if (random() % 2) asked.lane.workflow_type = "seo_monitor";
            if (random() % 2) asked.needs = {{"gemini", 1, 0, 0, {asked.cost.value / 2}}};
            if (!std::holds_alternative<Granted>(admission.admit(asked, named, kNow))) continue;
            for (std::size_t b = 0; b < states.size(); ++b) {
                if (const auto share = states[b].budget.scope.share(asked)) booked[b] += share->value;
                ASSERT_LE(booked[b], usd(100).value) << b;
            }
        }
    }
}

}
}
