#include "orchestrator/run_forecast.h"

#include <gtest/gtest.h>

namespace impresario::orchestrator {
namespace run_forecast_test {

using domain::GateKind;
using std::chrono::hours;
const domain::TimePoint kMidnight = *domain::parse_time("2026-11-30T00:00:00Z");

struct World {
    subworkflows::WorkflowType type;
    std::vector<subworkflows::PauseRecord> pauses;
    std::vector<resource_manager::Provider> providers;
    resource_manager::WeatherRecords weather;
    std::vector<resource_manager::BudgetState> budgets;
    domain::Demand demand;

    World() {
        type.lane = {"default", "t"};
        demand.lane = type.lane;
        demand.cost = domain::MicroUsd{400'000};
    }
    RunForecast forecast(bool known = true) {
        return {known ? &type : nullptr, pauses, providers, weather, budgets, demand};
    }
    std::optional<GateKind> stops(domain::TimePoint at) {
        const auto gate = forecast().stops(at);
        return gate ? std::optional(gate->kind) : std::nullopt;
    }
};

TEST(RunForecast, NothingStopsWhatNothingIsSaidAbout) {
    World world;
    EXPECT_FALSE(world.stops(kMidnight));
    EXPECT_EQ(world.forecast(false).stops(kMidnight)->detail,
              "the workflow type is not registered; until it is resumed");
    world.type.enabled = false;
    EXPECT_EQ(world.stops(kMidnight), GateKind::paused);
}

TEST(RunForecast, PausesWindowsAndCoolingEnd) {
    World world;
    subworkflows::PauseRecord pause;
    pause.until = kMidnight + hours{2};
    world.pauses = {pause};
    EXPECT_EQ(world.stops(kMidnight + hours{1}), GateKind::paused);
    EXPECT_FALSE(world.stops(kMidnight + hours{2}));
    world.pauses.clear();
    subworkflows::RunWindow window;
    window.from = 22 * 60;
    window.to = 6 * 60;
    world.type.run_windows = subworkflows::RunWindows{"UTC", {window}};
    EXPECT_FALSE(world.stops(kMidnight + hours{5}));
    EXPECT_EQ(world.stops(kMidnight + hours{6}), GateKind::maintenance_window);
    world.type.run_windows.reset();
    world.demand.needs = {domain::Need{"gemini", 1, 0, 0, {}}};
    world.weather["gemini"].cooling_until = kMidnight + hours{3};
    EXPECT_EQ(world.stops(kMidnight + hours{2}), GateKind::provider);
    EXPECT_FALSE(world.stops(kMidnight + hours{3}));
}

TEST(RunForecast, EachRunCountsAgainstTheWindowItIsIn) {
    World world;
    resource_manager::BudgetState state;
    state.budget.name = "day";
    state.budget.limit = domain::MicroUsd{1'000'000};
    state.book(resource_manager::window_at(state.budget.window, kMidnight), {domain::MicroUsd{100'000}, {}, {}});
    world.budgets = {state};
    auto forecast = world.forecast();
    EXPECT_FALSE(forecast.stops(kMidnight + hours{9}));
    EXPECT_FALSE(forecast.stops(kMidnight + hours{12}));
    const auto third = forecast.stops(kMidnight + hours{15});
    ASSERT_TRUE(third) << "0.1 and two of 0.4 are spent by then";
    EXPECT_EQ(third->kind, GateKind::budget);
    EXPECT_EQ(third->subject, "day");
    EXPECT_EQ(third->opens_at, kMidnight + hours{24});
    EXPECT_FALSE(forecast.stops(kMidnight + hours{33})) << "another day";
}

}
}
