#include "orchestrator/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace impresario::orchestrator {
namespace plan_test {

using domain::ExecutionId;
using domain::Lane;
using domain::TimePoint;
using priority_queue::Entry;
using priority_queue::Order;
using std::chrono::hours;

const TimePoint kNow{hours{500000}};

ExecutionId id_of(std::uint32_t n) {
    ExecutionId id;
    for (int i = 0; i < 4; ++i) id.value[static_cast<std::size_t>(15 - i)] = static_cast<std::uint8_t>(n >> (8 * i));
    return id;
}

resource_manager::Endpoints endpoints(int window) {
    resource_manager::Endpoints made;
    resource_manager::EndpointLoad load;
    load.window = window;
    made.endpoints = {load};
    return made;
}

struct World {
    std::map<Lane, Order> orders;
    std::map<Lane, int> limit;
    std::map<Lane, int> in_use;
    std::set<Lane> paused;

    PlanInput input(int most = 100) {
        PlanInput made;
        made.most = most;
        for (auto& [lane, order] : orders) {
            LaneView view{lane, &order, hours{4}, {}};
            if (paused.contains(lane))
                view.limiters.push_back(
                    made.admission.add(resource_manager::Pause{lane.workflow_type, "test", "", std::nullopt}));
            view.limiters.push_back(made.admission.add(resource_manager::Concurrency{
                lane.workflow_type, limit.contains(lane) ? limit[lane] : 1000000, in_use[lane]}));
            view.limiters.push_back(made.admission.add(endpoints(1000000)));
            made.lanes.push_back(view);
        }
        return made;
    }
};

const Lane kA{"default", "a"};
const Lane kB{"default", "b"};

Entry entry(std::uint32_t n, int priority, domain::Duration age = {}) {
    return {id_of(n), priority, kNow - age, kNow - age, "", 0, false};
}

std::vector<ExecutionId> ids(const Plan& plan) {
    std::vector<ExecutionId> found;
    for (const auto& grant : plan.grants) found.push_back(grant.execution);
    return found;
}

TEST(Plan, TheBestHeadOverAllLanesGoesNext) {
    World world;
    world.orders[kA].insert(entry(1, 50));
    world.orders[kA].insert(entry(2, 90));
    world.orders[kB].insert(entry(3, 70));
    world.orders[kB].insert(entry(4, 50, std::chrono::minutes{40}));
    EXPECT_EQ(ids(plan(world.input(), kNow)), (std::vector<ExecutionId>{id_of(2), id_of(3), id_of(4), id_of(1)}));
}

TEST(Plan, StarvingHeadsOfAnyLaneGoBeforeEverything) {
    World world;
    world.orders[kA].insert(entry(1, 100));
    world.orders[kB].insert(entry(2, 0, hours{6}));
    world.orders[kA].insert(entry(3, 0, hours{5}));
    EXPECT_EQ(ids(plan(world.input(), kNow)), (std::vector<ExecutionId>{id_of(2), id_of(3), id_of(1)}));
}

TEST(Plan, R15AClosedLaneHoldsNobodyElseUpHoweverDeep) {
    World world;
    for (std::uint32_t n = 0; n < 100000; ++n) world.orders[kA].insert(entry(n, 100));
    world.orders[kB].insert(entry(200000, 0));
    world.paused.insert(kA);
    const auto planned = plan(world.input(), kNow);
    EXPECT_EQ(ids(planned), std::vector<ExecutionId>{id_of(200000)});
    ASSERT_TRUE(planned.gates.at(kA));
    EXPECT_EQ(planned.gates.at(kA)->kind, domain::GateKind::paused);
    EXPECT_FALSE(planned.gates.at(kB));
}

TEST(Plan, GrantsNoMoreThanASlotsWorth) {
    World world;
    for (std::uint32_t n = 0; n < 10; ++n) world.orders[kA].insert(entry(n, 50));
    world.limit[kA] = 3;
    world.in_use[kA] = 1;
    const auto planned = plan(world.input(), kNow);
    EXPECT_EQ(planned.grants.size(), 2U);
    EXPECT_EQ(planned.gates.at(kA)->kind, domain::GateKind::concurrency);
    EXPECT_FALSE(planned.more);
}

TEST(Plan, StopsAtItsMostAndSaysThatThereIsMore) {
    World world;
    for (std::uint32_t n = 0; n < 10; ++n) world.orders[kA].insert(entry(n, 50));
    const auto planned = plan(world.input(4), kNow);
    EXPECT_EQ(planned.grants.size(), 4U);
    EXPECT_TRUE(planned.more);
}

// P6 and slot conservation on random worlds, against a model that knows nothing of heaps and cursors.
TEST(Plan, AgreesWithTheDefinition) {
    for (std::uint32_t seed = 1; seed <= 300; ++seed) {
        std::mt19937 dice(seed);
        World world;
        struct Item {
            Lane lane;
            Entry entry;
        };
        std::vector<Item> items;
        const auto lanes = 1 + dice() % 6;
        for (std::uint32_t n = 0; n < dice() % 200; ++n) {
            const Lane lane{"default", "lane" + std::to_string(dice() % lanes)};
            auto made = entry(n, static_cast<int>(dice() % 101), std::chrono::seconds{dice() % 20000});
            items.push_back({lane, made});
            world.orders[lane].insert(made);
        }
        for (std::uint32_t l = 0; l < lanes; ++l) {
            const Lane lane{"default", "lane" + std::to_string(l)};
            if (dice() % 4 == 0) world.paused.insert(lane);
            if (dice() % 2 == 0) world.limit[lane] = static_cast<int>(dice() % 20);
            world.in_use[lane] = static_cast<int>(dice() % 5);
        }
        const int most = 1 + static_cast<int>(dice() % 120);
        std::sort(items.begin(), items.end(), [&](const Item& a, const Item& b) {
            const bool as = a.entry.ready_at < kNow - hours{4};
            const bool bs = b.entry.ready_at < kNow - hours{4};
            if (as != bs) return as;
            if (as) return std::tie(a.entry.ready_at, a.entry.id) < std::tie(b.entry.ready_at, b.entry.id);
            const auto sa = priority_queue::score(a.entry.priority, a.entry.created_at, kNow);
            const auto sb = priority_queue::score(b.entry.priority, b.entry.created_at, kNow);
            if (sa != sb) return sa > sb;
            return std::tie(a.entry.created_at, a.entry.id) < std::tie(b.entry.created_at, b.entry.id);
        });
        std::vector<ExecutionId> expected;
        auto used = world.in_use;
        for (const auto& item : items) {
            if (static_cast<int>(expected.size()) == most) break;
            if (world.paused.contains(item.lane)) continue;
            if (world.limit.contains(item.lane) && used[item.lane] >= world.limit[item.lane]) continue;
            ++used[item.lane];
            expected.push_back(item.entry.id);
        }
        const auto first = plan(world.input(most), kNow);
        EXPECT_EQ(ids(first), expected) << "seed " << seed;
        EXPECT_EQ(ids(plan(world.input(most), kNow)), expected)
            << "the same inputs give the same plan (P11), seed " << seed;
    }
}

TEST(Plan, AProviderThatHasRefusedIsTriedByWhatAsksLeastOfIt) {
    using resource_manager::ProviderWeather;
    ProviderWeather weather(std::chrono::minutes{1}, std::nullopt);
    resource_manager::ProviderNews refusal;
    refusal.retry_after = std::chrono::seconds{30};
    weather.hear(refusal, kNow - std::chrono::seconds{30});
    std::map<Lane, Order> orders;
    orders[kA].insert(entry(1, 90));
    orders[kB].insert(entry(2, 10));
    const auto planned = [&](domain::TimePoint now, bool cheap_is_paused = false) {
        PlanInput input;
        const auto cooling = input.admission.add(resource_manager::ProviderCooling{"p", &weather, 0, std::nullopt});
        const auto free = input.admission.add(endpoints(100));
        LaneView a{kA, &orders[kA]};
        a.prices = resource_manager::PriceList({{"p", 5, 0, 0, {}}});
        LaneView b{kB, &orders[kB]};
        b.prices = resource_manager::PriceList({{"p", 1, 0, 0, {}}});
        a.limiters = b.limiters = {cooling, free};
        if (cheap_is_paused)
            b.limiters.insert(b.limiters.begin(),
                              input.admission.add(resource_manager::Pause{"b", "test", "", std::nullopt}));
        input.lanes = {a, b};
        return plan(std::move(input), now);
    };
    const auto cools = planned(kNow - std::chrono::seconds{1});
    EXPECT_TRUE(cools.grants.empty());
    EXPECT_TRUE(cools.gates.at(kA)->cooling);
    EXPECT_EQ(cools.next_opening, kNow);

    const auto probed = planned(kNow);
    EXPECT_EQ(ids(probed), std::vector{id_of(2)}) << "one alone, and not the best of all";
    EXPECT_EQ(probed.gates.at(kA)->kind, domain::GateKind::provider);
    EXPECT_FALSE(probed.gates.at(kA)->cooling);
    EXPECT_EQ(ids(planned(kNow, true)), std::vector{id_of(1)}) << "a closed gate never delays what is ready (P6)";
    EXPECT_EQ(ids(planned(kNow + ProviderWeather::kCheapestFirst)), std::vector{id_of(1)});

    weather.charge({"p", 1, 0, 0, {}}, kNow);
    EXPECT_TRUE(planned(kNow).grants.empty()) << "its answer is waited for";
}

TEST(Plan, WhatOneInputNeedsIsTakenTogetherOrNotAtAll) {
    using namespace resource_manager;
    ProviderLimit requests{"calls", Measure::requests, 12};
    ProviderLimit tokens{"tokens", Measure::tokens, 1000};
    const auto grants = [&](const std::string& first, const std::string& second) {
        Meter calls_meter(requests);
        Meter tokens_meter(tokens);
        std::map<Lane, Order> orders;
        auto a = entry(1, 90);
        a.need_amounts = first;
        auto b = entry(2, 50);
        b.need_amounts = second;
        orders[kA].insert(a);
        orders[kB].insert(b);
        PlanInput input;
        const auto shared = {input.admission.add(ProviderRate{"p", &calls_meter}),
                             input.admission.add(ProviderRate{"p", &tokens_meter}),
                             input.admission.add(endpoints(100))};
        for (auto& [lane, order] : orders) {
            LaneView view{lane, &order};
            view.prices = PriceList({{"p", 1, 1, 0, {}}});
            view.limiters = shared;
            input.lanes.push_back(view);
        }
        return plan(std::move(input), kNow);
    };
    const auto both = std::vector{id_of(1), id_of(2)};
    EXPECT_EQ(ids(grants("", "")), both);
    const auto planned = grants("9 calls p\n1000 tokens p", "3 calls p\n0 tokens p");
    EXPECT_EQ(ids(planned), both);
    EXPECT_EQ(planned.grants[0].demand.needs[0].calls, 9);
    EXPECT_EQ(planned.grants[0].demand.needs[0].tokens, 1000);
    EXPECT_EQ(planned.grants[1].demand.needs[0].calls, 3);
    const auto one = grants("9 calls p", "4 calls p");
    EXPECT_EQ(ids(one), std::vector{id_of(1)});
    EXPECT_EQ(one.gates.at(kB)->numbers[0], (std::pair<std::string, std::string>{"asks", "4"}));
    EXPECT_EQ(one.gates.at(kB)->numbers[1], (std::pair<std::string, std::string>{"used", "9"}));
    // Its calls would fit, its tokens do not: nothing is taken of either, so the other goes.
    EXPECT_EQ(ids(grants("12 calls p\n1001 tokens p", "12 calls p\n1000 tokens p")), std::vector{id_of(2)});
    EXPECT_TRUE(grants("13 calls p", "13 calls p").grants.empty());
}

}
}
