#include "resource_manager/admission.h"

#include <gtest/gtest.h>

namespace impresario::resource_manager {
namespace admission_test {

using domain::GateKind;
using domain::TimePoint;
const TimePoint kNow{std::chrono::hours{500000}};

EndpointLoad endpoint(int n, int in_flight, int window, int weight = 1) {
    EndpointLoad load;
    load.id.value[15] = static_cast<std::uint8_t>(n);
    load.url = "http://e" + std::to_string(n);
    load.in_flight = in_flight;
    load.window = window;
    load.weight = weight;
    return load;
}

Admission one(Limiter limiter) {
    Admission admission;
    admission.add(std::move(limiter));
    return admission;
}

TEST(Admission, ChargesAllLimitersOrNone) {
    Admission admission;
    Endpoints endpoints;
    endpoints.endpoints = {endpoint(1, 0, 10)};
    const std::vector<std::size_t> named{admission.add(Concurrency{"lane", 2, 1}), admission.add(endpoints)};
    EXPECT_TRUE(std::holds_alternative<Granted>(admission.admit({}, named, kNow)));
    const auto second = admission.admit({}, named, kNow);
    ASSERT_TRUE(std::holds_alternative<Deferred>(second));
    const auto& deferred = std::get<Deferred>(second);
    EXPECT_EQ(deferred.gate.kind, GateKind::concurrency);
    EXPECT_TRUE(deferred.whole_lane);
    EXPECT_EQ(deferred.gate.numbers[0].second, "2");
}

TEST(Admission, APauseEndsByItself) {
    auto admission = one(Pause{"lane", "deploy", "ann", kNow + std::chrono::minutes{5}});
    const auto closed = admission.closed({}, {0}, kNow);
    ASSERT_TRUE(closed);
    EXPECT_EQ(closed->kind, GateKind::paused);
    EXPECT_EQ(closed->opens_at, kNow + std::chrono::minutes{5});
    EXPECT_NE(closed->detail.find("deploy"), std::string::npos);
    EXPECT_FALSE(admission.closed({}, {0}, kNow + std::chrono::minutes{5}));
}

TEST(LanePace, KeepsStartsApartAndCoolsDownAfterAnEnd) {
    using std::chrono::seconds;
    auto admission = one(LanePace{"lane", seconds{60}, seconds{30}, std::nullopt, std::nullopt});
    EXPECT_TRUE(std::holds_alternative<Granted>(admission.admit({}, {0}, kNow))) << "nothing has run yet";
    const auto second = std::get<Deferred>(admission.admit({}, {0}, kNow));
    EXPECT_EQ(second.gate.kind, GateKind::execution_interval);
    EXPECT_TRUE(second.whole_lane);
    EXPECT_EQ(second.gate.opens_at, kNow + seconds{60});
    EXPECT_EQ(second.gate.numbers[0], (std::pair<std::string, std::string>{"seconds", "60"}));
    EXPECT_TRUE(admission.closed({}, {0}, kNow + seconds{60} - domain::Duration{1}));
    EXPECT_FALSE(admission.closed({}, {0}, kNow + seconds{60}));

    auto cooling = one(LanePace{"lane", std::nullopt, seconds{30}, kNow, kNow});
    const auto gate = cooling.closed({}, {0}, kNow + seconds{29});
    ASSERT_TRUE(gate);
    EXPECT_EQ(gate->kind, GateKind::cool_down);
    EXPECT_EQ(gate->opens_at, kNow + seconds{30});
    EXPECT_FALSE(cooling.closed({}, {0}, kNow + seconds{30}));
}

TEST(Lock, IsTakenByOneAtATime) {
    auto held = one(Lock{"l", "a host", kNow + std::chrono::seconds{5}});
    const auto gate = std::get<Deferred>(held.admit({}, {0}, kNow)).gate;
    EXPECT_EQ(gate.kind, GateKind::lock);
    EXPECT_EQ(gate.opens_at, kNow + std::chrono::seconds{5});
    // Its time is over: one takes it, and the next one of the same turn does not.
    EXPECT_TRUE(std::holds_alternative<Granted>(held.admit({}, {0}, kNow + std::chrono::seconds{5})));
    const auto next = std::get<Deferred>(held.admit({}, {0}, kNow + std::chrono::seconds{5}));
    EXPECT_TRUE(next.whole_lane);
    EXPECT_FALSE(next.gate.opens_at);
}

TEST(Memory, IsReservedUntilItIsFull) {
    auto admission = one(Memory{2048, 512});
    domain::Demand demand{{"o", "t"}, ""};
    demand.memory_mb = 512;
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(std::holds_alternative<Granted>(admission.admit(demand, {0}, kNow)));
    const auto verdict = admission.admit(demand, {0}, kNow);
    ASSERT_TRUE(std::holds_alternative<Deferred>(verdict));
    const auto& gate = std::get<Deferred>(verdict).gate;
    EXPECT_TRUE(std::get<Deferred>(verdict).whole_lane);
    EXPECT_EQ(gate.kind, GateKind::memory);
    EXPECT_EQ(gate.numbers, (std::vector<std::pair<std::string, std::string>>{
                                {"asks_mb", "512"}, {"reserved_mb", "2048"}, {"limit_mb", "2048"}}));
    demand.memory_mb = 0;
    EXPECT_TRUE(std::holds_alternative<Granted>(admission.admit(demand, {0}, kNow))) << "asks for none";
}

TEST(Memory, IsKeptForOneThatHasWaitedTooLong) {
    auto admission = one(Memory{1000, 700});
    domain::Demand large{{"o", "large"}, ""};
    large.memory_mb = 500;
    domain::Demand small{{"o", "small"}, ""};
    small.memory_mb = 100;
    EXPECT_FALSE(std::holds_alternative<Granted>(admission.admit(large, {0}, kNow)));
    EXPECT_TRUE(std::holds_alternative<Granted>(admission.admit(small, {0}, kNow)));
    large.starving = true;
    EXPECT_FALSE(std::holds_alternative<Granted>(admission.admit(large, {0}, kNow)));
    EXPECT_FALSE(std::holds_alternative<Granted>(admission.admit(small, {0}, kNow)));
}

TEST(Admission, WhatOneThatHasWaitedTooLongDoesNotLackIsSetAside) {
    ProviderLimit calls;
    calls.name = "calls";
    calls.limit = 2;
    ProviderLimit tokens = calls;
    tokens.name = "tokens";
    tokens.of = Measure::tokens;
    tokens.limit = 1000;
    Meter calls_used(calls);
    Meter tokens_used(tokens);
    calls_used.charge(2);
    domain::Demand large{{"o", "large"}, ""};
    large.needs = {{"p", 1, 800}};
    large.starving = true;
    domain::Demand other{{"o", "other"}, ""};
    other.needs = {{"p", 0, 300}};
    const auto asked = [&](const domain::Demand& first) {
        Admission admission;
        const std::vector<std::size_t> named{admission.add(ProviderRate{"p", &calls_used}),
                                             admission.add(ProviderRate{"p", &tokens_used})};
        EXPECT_FALSE(std::holds_alternative<Granted>(admission.admit(first, named, kNow))) << "two calls are under way";
        return admission.admit(other, named, kNow);
    };
    const auto stopped = asked(large);
    ASSERT_TRUE(std::holds_alternative<Deferred>(stopped)) << "or the tokens are gone when a call comes free";
    other.needs = {{"p", 0, 200}};
    EXPECT_TRUE(std::holds_alternative<Granted>(asked(large))) << "there is enough for both";
    large.starving = false;
    other.needs = {{"p", 0, 300}};
    EXPECT_TRUE(std::holds_alternative<Granted>(asked(large)));
    // The limit was lowered since it was enqueued.
    large.starving = true;
    large.needs = {{"p", 3, 800}};
    EXPECT_TRUE(std::holds_alternative<Granted>(asked(large))) << "what never fits keeps nothing from the others";
}

TEST(Memory, WhatNeverFitsSaysSoAndKeepsNothing) {
    auto admission = one(Memory{1000, 0});
    domain::Demand giant{{"o", "giant"}, ""};
    giant.memory_mb = 1001;
    giant.starving = true;
    const auto verdict = admission.admit(giant, {0}, kNow);
    ASSERT_TRUE(std::holds_alternative<Deferred>(verdict));
    EXPECT_NE(std::get<Deferred>(verdict).gate.detail.find("raise memory.total_mb"), std::string::npos);
    domain::Demand other{{"o", "other"}, ""};
    other.memory_mb = 1000;
    EXPECT_TRUE(std::holds_alternative<Granted>(admission.admit(other, {0}, kNow)));
    // Lowered below what runs.
    EXPECT_FALSE(std::holds_alternative<Granted>(one(Memory{100, 2048}).admit(other, {0}, kNow)));
}

TEST(Admission, AKeyStopsOnlyItsOwn) {
    std::unordered_map<std::string, int> in_use{{"a", 1}};
    auto admission = one(KeyConcurrency{"/customer", 2, &in_use, {}});
    EXPECT_FALSE(admission.closed({{}, "a"}, {0}, kNow)) << "a key never closes its lane";
    EXPECT_TRUE(std::holds_alternative<Granted>(admission.admit({{}, "a"}, {0}, kNow)));
    const auto verdict = admission.admit({{}, "a"}, {0}, kNow);
    ASSERT_TRUE(std::holds_alternative<Deferred>(verdict));
    EXPECT_FALSE(std::get<Deferred>(verdict).whole_lane);
    EXPECT_EQ(std::get<Deferred>(verdict).gate.subject, "a");
    EXPECT_TRUE(std::holds_alternative<Granted>(admission.admit({{}, "b"}, {0}, kNow)));
    EXPECT_TRUE(std::holds_alternative<Granted>(admission.admit({{}, ""}, {0}, kNow)));
}

TEST(Admission, TheLeastLoadedHealthyEndpointIsTaken) {
    Endpoints endpoints;
    endpoints.endpoints = {endpoint(1, 4, 10), endpoint(2, 1, 10), endpoint(3, 0, 10)};
    endpoints.endpoints[2].held_until = kNow + std::chrono::seconds{5};
    auto admission = one(endpoints);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(std::get<Granted>(admission.admit({}, {0}, kNow)).endpoint.value[15], 2);
    // Now 4 and 4; the third's hold is over a moment later.
    EXPECT_EQ(std::get<Granted>(admission.admit({}, {0}, kNow + std::chrono::seconds{6})).endpoint.value[15], 3);
}

TEST(Admission, AnOpenBreakerIsPassedOverAndAHalfOpenOneTakesOne) {
    Endpoints endpoints;
    endpoints.endpoints = {endpoint(1, 0, 10), endpoint(2, 0, 10)};
    auto& breaker = endpoints.endpoints[0].breaker;
    breaker = {domain::BreakerState::open, kNow, kNow + std::chrono::seconds{30}, 1, "12 of 15 answers", "", 0};
    auto open = one(endpoints);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(std::get<Granted>(open.admit({}, {0}, kNow)).endpoint.value[15], 2);
    // Its time has come, whether anybody has noticed or not.
    for (const auto state : {domain::BreakerState::open, domain::BreakerState::half_open}) {
        breaker.state = state;
        auto half = one(endpoints);
        int taken = 0;
        for (int i = 0; i < 8; ++i)
            if (std::get<Granted>(half.admit({}, {0}, kNow + std::chrono::seconds{30})).endpoint.value[15] == 1)
                ++taken;
        EXPECT_EQ(taken, 1);
    }
}

TEST(Admission, TheGateNamesWhatLastsOfTheEndpointThatIsFreeFirst) {
    const auto later = [](int n) { return kNow + std::chrono::seconds{n}; };
    Endpoints endpoints{"seo", {endpoint(1, 0, 10), endpoint(2, 0, 10)}};
    auto& first = endpoints.endpoints[0];
    auto& second = endpoints.endpoints[1];
    first.breaker = {
        domain::BreakerState::open, kNow, later(30), 2, "12 of 15 answers in the last 60 s were failures", "", 0};
    second.breaker = {domain::BreakerState::open, kNow, std::nullopt, 1, "being moved", "ann", 1};
    auto gate = one(endpoints).closed({}, {0}, kNow);
    ASSERT_TRUE(gate);
    EXPECT_EQ(gate->kind, GateKind::breaker);
    EXPECT_EQ(gate->subject, "http://e1");
    EXPECT_EQ(gate->opens_at, later(30));
    EXPECT_EQ(gate->detail, "12 of 15 answers in the last 60 s were failures: open until " +
                                domain::rfc3339(later(30)) + ", then one execution tries it");
    EXPECT_EQ(gate->numbers[0].second, "2");
    // Held longer than it is open: the hold is what one waits for.
    first.held_until = later(40);
    first.held_detail = "status 403";
    gate = one(endpoints).closed({}, {0}, kNow);
    EXPECT_EQ(gate->kind, GateKind::endpoint);
    EXPECT_EQ(gate->opens_at, later(40));
    first.breaker.until = std::nullopt;
    gate = one(endpoints).closed({}, {0}, kNow);
    EXPECT_EQ(gate->kind, GateKind::breaker);
    EXPECT_FALSE(gate->opens_at);
    // The first is being tried out.
    first = endpoint(1, 1, 10);
    first.breaker.state = domain::BreakerState::half_open;
    gate = one(endpoints).closed({}, {0}, kNow);
    EXPECT_EQ(gate->kind, GateKind::breaker);
    EXPECT_NE(gate->detail.find("half open"), std::string::npos);
    EXPECT_EQ(gate->numbers[1].second, "1");
}

TEST(Admission, WeightSharesTheLoad) {
    Endpoints endpoints;
    endpoints.endpoints = {endpoint(1, 0, 1000, 1), endpoint(2, 0, 1000, 3)};
    auto admission = one(endpoints);
    std::map<int, int> taken;
    for (int i = 0; i < 400; ++i) ++taken[std::get<Granted>(admission.admit({}, {0}, kNow)).endpoint.value[15]];
    EXPECT_EQ(taken[1], 100);
    EXPECT_EQ(taken[2], 300);
}

TEST(Admission, SaysWhyNoEndpointCanBeAsked) {
    EXPECT_NE(one(Endpoints{
                      "seo",
                      {},
                  })
                  .closed({}, {0}, kNow)
                  ->detail.find("no endpoint"),
              std::string::npos);
    Endpoints held{"seo", {endpoint(1, 0, 10)}};
    held.endpoints[0].held_until = kNow + std::chrono::seconds{9};
    held.endpoints[0].held_detail = "status 403";
    const auto gate = one(held).closed({}, {0}, kNow);
    EXPECT_EQ(gate->opens_at, kNow + std::chrono::seconds{9});
    EXPECT_NE(gate->detail.find("403"), std::string::npos);
    const auto busy = one(Endpoints{"seo", {endpoint(1, 10, 10)}}).closed({}, {0}, kNow);
    EXPECT_FALSE(busy->opens_at);
    EXPECT_EQ(busy->numbers[1].second, "10");
}

}
}
