#include "resource_manager/budget_state.h"

#include <gtest/gtest.h>

#include <random>

namespace impresario::resource_manager {
namespace budget_state_test {

using domain::MicroUsd;
using domain::TimePoint;
using std::chrono::hours;
using std::chrono::minutes;

TimePoint at(const char* text) { return *domain::parse_time(text); }
MicroUsd usd(std::int64_t dollars) { return {dollars * 1000000}; }

/// 100 USD, a day in UTC.
BudgetState state_of(std::vector<BudgetStep> steps = {}) {
    BudgetState state;
    state.budget.limit = usd(100);
    state.budget.steps = std::move(steps);
    return state;
}
void book(BudgetState& state, TimePoint now, Balance balance) {
    const auto window = window_at(state.budget.window, now);
    for (auto& each : state.windows)
        if (each.window == window) {
            each.balance += balance;
            return;
        }
    state.windows.push_back({window, balance});
}

BudgetStep step(int at_percent, int undone_below, BudgetAction action) {
    BudgetStep one;
    one.at_percent = at_percent;
    one.undone_below_percent = undone_below;
    one.action = action;
    return one;
}

const TimePoint kNoon = at("2026-11-28T12:00:00Z");

TEST(BudgetState, StepsBeginAtTheirThresholdAndEndBelowTheOther) {
    auto state = state_of({step(70, 65, BudgetAction::defer_low_priority), step(90, 80, BudgetAction::ask_human)});
    book(state, kNoon, {usd(69), {}, {}});
    EXPECT_FALSE(move_steps(state, kNoon));
    book(state, kNoon, {{}, usd(1), {}});
    EXPECT_TRUE(move_steps(state, kNoon));
    EXPECT_EQ(state.steps_on, 1U);
    book(state, kNoon, {{}, {}, usd(20)});
    EXPECT_TRUE(move_steps(state, kNoon));
    EXPECT_EQ(state.steps_on, 2U);
    // What hovers between the two thresholds changes nothing.
    for (const auto reserved : {-5, 3, -7, 8, -9}) {
        state.windows[0].balance.reserved = state.windows[0].balance.reserved + usd(reserved);
        EXPECT_FALSE(move_steps(state, kNoon)) << reserved;
    }
    state.windows[0].balance = {usd(79), {}, {}};
    EXPECT_TRUE(move_steps(state, kNoon));
    EXPECT_EQ(state.steps_on, 1U);
    EXPECT_TRUE(state.on(BudgetAction::defer_low_priority));
    EXPECT_FALSE(state.on(BudgetAction::ask_human));
    state.windows[0].balance = {usd(65), {}, {}};
    EXPECT_FALSE(move_steps(state, kNoon)) << "65 % is not below 65 %";
    state.windows[0].balance = {usd(10), {}, {}};
    EXPECT_TRUE(move_steps(state, kNoon));
    EXPECT_EQ(state.steps_on, 0U);
}

TEST(BudgetState, IsAmpleFarFromWhateverHappensNext) {
    auto state = state_of();
    EXPECT_TRUE(state.ample(kNoon));
    book(state, kNoon, {usd(20), usd(20), usd(9)});
    EXPECT_TRUE(state.ample(kNoon));
    book(state, kNoon, {{}, usd(1), {}});
    EXPECT_FALSE(state.ample(kNoon)) << "half of the limit";
    EXPECT_TRUE(state.ample(at("2026-11-29T12:00:00Z"))) << "another day";

    auto stepped = state_of({step(40, 30, BudgetAction::alert)});
    stepped.budget.hard = false;
    book(stepped, kNoon, {usd(19), {}, {}});
    EXPECT_TRUE(stepped.ample(kNoon));
    book(stepped, kNoon, {usd(1), {}, {}});
    EXPECT_FALSE(stepped.ample(kNoon)) << "half of what begins its first step";
    stepped.windows.clear();
    stepped.steps_on = 1;
    EXPECT_FALSE(stepped.ample(kNoon)) << "the step is to end";

    auto soft = state_of();
    soft.budget.hard = false;
    book(soft, kNoon, {usd(1000), {}, {}});
    EXPECT_TRUE(soft.ample(kNoon)) << "nothing ever comes of it";
}

TEST(BudgetState, StepsAreUndoneWhenTheWindowTurns) {
    auto state = state_of({step(90, 10, BudgetAction::pause_non_critical)});
    book(state, kNoon, {usd(95), {}, {}});
    EXPECT_TRUE(move_steps(state, kNoon));
    const auto tomorrow = at("2026-11-29T00:00:00Z");
    book(state, tomorrow, {usd(50), {}, {}});
    EXPECT_FALSE(move_steps(state, tomorrow - std::chrono::microseconds{1}));
    EXPECT_TRUE(move_steps(state, tomorrow)) << "50 % is not below 10 %, but this is another day";
    EXPECT_EQ(state.steps_on, 0U);
}

TEST(BudgetState, ThriftIsWhatTheStepsAsk) {
    auto state = state_of({step(50, 40, BudgetAction::smaller_batches), step(60, 50, BudgetAction::cheaper_variant)});
    EXPECT_EQ(thrift(state).batch_percent, 100);
    state.steps_on = 1;
    EXPECT_EQ(thrift(state).batch_percent, 50);
    EXPECT_FALSE(thrift(state).cheaper_variant);
    state.steps_on = 2;
    EXPECT_TRUE(thrift(state).cheaper_variant);
}

TEST(BudgetState, ARollingWindowForgetsSliceBySlice) {
    auto state = state_of();
    state.budget.window = {WindowUnit::rolling, "UTC", 0, 1, 24};
    const auto first = at("2026-11-28T00:00:00Z");
    book(state, first, {usd(30), {}, {}});
    book(state, first + hours{1}, {usd(50), {}, {}});
    const auto now = first + hours{2};
    EXPECT_EQ(state.counted(now).counted(), usd(80));
    EXPECT_EQ(state.falls_to(usd(80), now), now);
    // Slices of 24 minutes.
    EXPECT_EQ(state.falls_to(usd(79), now), first + hours{24} + minutes{24});
    EXPECT_EQ(state.falls_to(usd(0), now), first + hours{25} + minutes{24} - minutes{60 % 24});
    EXPECT_EQ(state.counted(first + hours{24}).counted(), usd(80)) << "24 hours ago still count";
    EXPECT_EQ(state.counted(first + hours{24} + minutes{24}).counted(), usd(50));
}

// No span of the window's length ever holds more than what counts at its end.
TEST(BudgetState, NoSpanOfARollingWindowHoldsMoreThanWhatCounts) {
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    auto state = state_of();
    state.budget.window = {WindowUnit::rolling, "UTC", 0, 1, 3};
    std::vector<std::pair<TimePoint, std::int64_t>> spent;
    TimePoint now = kNoon;
    for (int i = 0; i < 2000; ++i) {
        now += std::chrono::seconds{random() % 600};
        const auto amount = static_cast<std::int64_t>(random() % 1000);
        spent.emplace_back(now, amount);
        book(state, now, {{amount}, {}, {}});
        std::int64_t in_span = 0;
        for (const auto& [when, each] : spent)
            if (when > now - hours{3}) in_span += each;
        ASSERT_GE(state.counted(now).counted().value, in_span);
    }
}

TEST(BudgetState, ABatchNeverTurns) {
    auto state = state_of();
    state.budget.window.unit = WindowUnit::batch;
    book(state, kNoon, {usd(30), {}, {}});
    EXPECT_EQ(state.counted(kNoon + hours{100000}).counted(), usd(30));
    EXPECT_FALSE(state.turns_at(kNoon));
    EXPECT_FALSE(state.falls_to(usd(10), kNoon));
    EXPECT_EQ(forecast(state, kNoon).at_end, usd(30));
}

TEST(Forecast, GoesOnAsUntilNow) {
    auto state = state_of();
    book(state, kNoon, {usd(30), usd(4), {}});
    auto seen = forecast(state, kNoon);
    EXPECT_EQ(seen.at_end, usd(64)) << "half a day has passed; what is reserved is spent once";
    EXPECT_FALSE(seen.reached_at);
    book(state, kNoon, {{}, {}, usd(30)});
    seen = forecast(state, kNoon);
    EXPECT_EQ(seen.at_end, usd(124));
    // 36 USD more at 5 USD an hour.
    EXPECT_EQ(seen.reached_at, kNoon + minutes{432});
    book(state, kNoon, {usd(36), {}, {}});
    EXPECT_EQ(forecast(state, kNoon).reached_at, kNoon);
}

TEST(Forecast, DoesNotBelieveAFirstMinute) {
    auto state = state_of();
    const auto now = at("2026-11-28T00:00:01Z");
    book(state, now, {usd(1), {}, {}});
    EXPECT_LE(forecast(state, now).at_end, usd(101));
    EXPECT_EQ(forecast(state_of(), now).at_end, usd(0));
}

TEST(Forecast, StaysAtTheMostThatFits) {
    auto state = state_of();
    state.budget.limit = domain::kMostMoney;
    const auto now = at("2026-11-28T00:10:00Z");
    book(state, now, {domain::kMostMoney, domain::kMostMoney, {}});
    EXPECT_GE(forecast(state, now).at_end, domain::kMostMoney);
}

TEST(BudgetState, PartsOfALimitAreExact) {
    EXPECT_EQ(most_below(usd(100), 90), MicroUsd{89'999'999});
    EXPECT_EQ(most_below({1}, 90), MicroUsd{0});
    EXPECT_EQ(most_below({3}, 50), MicroUsd{1});
    EXPECT_GT(most_below(domain::kMostMoney, 1000), domain::kMostMoney);
}

}
}
