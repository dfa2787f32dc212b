// Providers that refuse, on the running program: who waits, for how long, and what it costs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <mutex>

#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;

const std::string kDone = R"({"status":"completed","result_data":1})";

/// Takes so many in any window and refuses the others with the whole seconds after which one more fits.
class HiddenLimit {
  public:
    HiddenLimit(std::size_t limit, steady_clock::duration window) : limit_(limit), window_(window) {}

    Behaviour answer() {
        const std::lock_guard lock(mutex_);
        const auto now = steady_clock::now();
        while (!counted_.empty() && now - counted_.front() >= window_) counted_.pop_front();
        if (counted_.size() < limit_) {
            counted_.push_back(now);
            taken_.push_back(now);
            return Behaviour{200, kDone};
        }
        refused_.push_back(now);
        const auto wait = counted_[counted_.size() - limit_] + window_ - now;
        const auto whole = std::max<std::int64_t>(1, std::chrono::ceil<seconds>(wait).count());
        return Behaviour{429, "{}", {{"retry-after", std::to_string(whole)}}};
    }
    void move(std::size_t limit) {
        const std::lock_guard lock(mutex_);
        limit_ = limit;
    }
    std::size_t taken(steady_clock::time_point from, steady_clock::time_point until) const {
        return count(taken_, from, until);
    }
    std::size_t refused(steady_clock::time_point from, steady_clock::time_point until) const {
        return count(refused_, from, until);
    }

  private:
    std::size_t count(const std::vector<steady_clock::time_point>& all, steady_clock::time_point from,
                      steady_clock::time_point until) const {
        const std::lock_guard lock(mutex_);
        return static_cast<std::size_t>(
            std::count_if(all.begin(), all.end(), [&](auto at) { return at >= from && at < until; }));
    }

    mutable std::mutex mutex_;
    std::size_t limit_;
    steady_clock::duration window_;
    std::deque<steady_clock::time_point> counted_;
    std::vector<steady_clock::time_point> taken_;
    std::vector<steady_clock::time_point> refused_;
};

Json declared(int limit, double per) {
    return {{"limits", {{{"name", "rate"}, {"of", "requests"}, {"limit", limit}, {"per", per}}}}};
}

Json calling(const std::string& provider, int calls = 1) {
    return {{"call_estimates", {{{"provider", provider}, {"calls", calls}}}}};
}

void enqueue_many(const HubFixture& hub, const std::string& type, int count) {
    Json batch = Json::array();
    for (int i = 0; i < count; ++i) batch.push_back({{"workflow_type", type}, {"input", {{"n", i}}}});
    ASSERT_EQ(hub.api("POST", "/v1/executions/batch", {{"executions", batch}}).status, 201);
}

Json gate_of(const HubFixture& hub, const std::string& type) {
    for (const auto state = hub.get("/v1/state"); const auto& lane : state["lanes"])
        if (lane["workflow_type"] == type) return lane["gate"];
    return nullptr;
}
bool cools(const HubFixture& hub, const std::string& type, const std::string& provider) {
    return eventually(
        [&] {
            const auto gate = gate_of(hub, type);
            return gate.is_object() && gate["kind"] == "provider" && gate["subject"] == provider &&
                   gate["detail"].get<std::string>().starts_with("cooling until ");
        },
        30);
}
Json weather_of(const HubFixture& hub, const std::string& provider) {
    return hub.get("/v1/providers/" + provider)["weather"];
}

/// Two minutes of a rate in real time say something only on a machine that does nothing else: scripts/cases-long. The
/// same bounds hold in simulated time whenever tests are run (resource_manager/provider_weather_test.cc).
TEST(ProviderWeather, AHiddenLimitThatMovesIsFoundAndKept) {
    if (!std::getenv("IMPRESARIO_CASES_LONG")) GTEST_SKIP() << "run by scripts/cases-long";
    HubFixture hub;
    const auto window = seconds{6};
    HiddenLimit provider(80, window);
    Peer peer([&](const Asked&) { return provider.answer(); });
    ASSERT_EQ(hub.api("PUT", "/v1/providers/test", declared(1000, 6)).status, 201);
    constexpr std::size_t kMostInFlight = 8;
    auto type = calling("test");
    type["endpoints"] = {{{"url", peer.url()}, {"max_in_flight", kMostInFlight}}};
    hub.register_type("calls", "", type);
    for (int i = 0; i < 4; ++i) enqueue_many(hub, "calls", 500);
    const auto phase = [&](std::size_t limit, int windows) {
        const auto begins = steady_clock::now();
        // It is refused once, with what is under way; a few windows later it is known.
        const auto settled = begins + windows * window;
        const auto ends = settled + 5 * window;
        std::this_thread::sleep_until(ends);
        // A try that fails costs the whole second for which the provider asks: of a minute little, of six seconds much.
        const auto tries = provider.refused(settled, ends);
        const double windows_open = 5 - static_cast<double>(tries) / std::chrono::duration<double>(window).count();
        const double rate =
            static_cast<double>(provider.taken(settled, ends)) / (static_cast<double>(limit) * windows_open);
        std::printf("limit %zu: %zu refused until it was known, then %zu, at %.1f %% of its rate\n", limit,
                    provider.refused(begins, settled), provider.refused(settled, ends), rate * 100);
        EXPECT_LE(provider.refused(begins, begins + 2 * window), 1 + kMostInFlight);
        EXPECT_LE(provider.refused(settled, ends), 2U) << "only tries of a little more";
        EXPECT_GT(rate, 0.95);
    };
    phase(80, 3);
    provider.move(50);
    phase(50, 10);
    EXPECT_EQ(hub.database.value("select coalesce(max(retry_count), 0) from executions"), "0") << "no attempt is burnt";
    EXPECT_EQ(hub.database.value("select count(*) from executions where status in ('dead', 'failed')"), "0");
}

TEST(ProviderWeather, EverybodyWaitsForAProviderThatRefusesAndSeesWhy) {
    HubFixture hub;
    Peer refusing([](const Asked&) { return Behaviour{429, "{}", {{"retry-after", "600"}}}; });
    Peer other([](const Asked&) { return Behaviour{200, kDone}; });
    ASSERT_EQ(hub.api("PUT", "/v1/providers/test", declared(1000, 60)).status, 201);
    ASSERT_EQ(hub.api("PUT", "/v1/providers/well", declared(1000, 60)).status, 201);
    hub.register_type("refused", refusing.url(), calling("test"));
    hub.register_type("waits", other.url(), calling("test"));
    hub.register_type("goes_on", other.url(), calling("well"));
    const auto first = hub.enqueue("refused");
    ASSERT_TRUE(eventually([&] { return weather_of(hub, "test").is_object(); }));
    const auto waits = hub.enqueue("waits");
    ASSERT_TRUE(cools(hub, "waits", "test"));
    EXPECT_THAT(gate_of(hub, "waits")["detail"].get<std::string>(), HasSubstr("refused answered status 429"));
    EXPECT_EQ(hub.await_end(hub.enqueue("goes_on"))["status"], "completed");
    EXPECT_EQ(other.count(), 1U);
    EXPECT_EQ(hub.execution(first)["retry_count"], 0);
    const auto weather = weather_of(hub, "test");
    EXPECT_EQ(weather["state"], "cooling");
    EXPECT_TRUE(weather["cooling_until"].is_string());
    EXPECT_EQ(weather["learnt"], 500);
    ASSERT_TRUE(eventually([&] { return hub.get("/v1/state")["current_state"] == "COOLDOWN"; }))
        << hub.get("/v1/state").dump();
    const auto metrics = hub.api("GET", "/metrics").body;
    EXPECT_THAT(metrics,
                ::testing::ContainsRegex("impresario_provider_cooling_seconds\\{provider=\"test\"\\} 5[0-9][0-9]"));
    EXPECT_THAT(metrics, HasSubstr("impresario_provider_learnt_limit{provider=\"test\"} 500"));
    EXPECT_EQ(hub.database.value("select available from check_resource_availability() where resource_type = "
                                 "'provider:test:rate'"),
              "f");

    // It outlives the scheduler.
    hub.hub->kill();
    hub.start();
    ASSERT_TRUE(cools(hub, "waits", "test"));
    EXPECT_EQ(weather_of(hub, "test")["cooling_until"], weather["cooling_until"]);

    // By hand it is over, whoever is asked.
    const HubProcess second(hub.database, hub.key_file(), hub.config());
    ASSERT_TRUE(second.wait_ready());
    const auto reset = request(second.port(), "POST", "/v1/providers/test/reset",
                               {{"Authorization", "Bearer " + hub.key}}, Json({{"reason", "new plan"}}).dump());
    ASSERT_EQ(reset.status, 200) << reset.body;
    EXPECT_EQ(hub.await_end(waits)["status"], "completed");
    EXPECT_TRUE(weather_of(hub, "test").is_null() || weather_of(hub, "test")["state"] == "fair");
    EXPECT_EQ(hub.database.value("select string_agg(type, ' ' order by seq) from events where kind = 'provider' and "
                                 "type <> 'provider.changed'"),
              "provider.cooling provider.recovered");
    EXPECT_EQ(hub.database.value("select payload ->> 'by' from events where type = 'provider.recovered'"), "test");
    EXPECT_EQ(hub.database.value("select sum(gap) from (select count(*) - max(seq) as gap from events where kind = "
                                 "'provider' group by stream_id) s"),
              "0")
        << "P8: no gaps";
}

TEST(ProviderWeather, ACallbackToAnotherNodeTeachesTheScheduler) {
    HubFixture hub;
    ASSERT_EQ(hub.api("PUT", "/v1/providers/test", declared(1000, 60)).status, 201);
    Peer peer([](const Asked&) { return Behaviour{}; });
    hub.register_type("throttled", peer.url(), calling("test"));
    hub.register_type("waits", peer.url(), calling("test"));
    const HubProcess other(hub.database, hub.key_file(), hub.config());
    ASSERT_TRUE(other.wait_ready());
    const auto id = hub.enqueue("throttled");
    ASSERT_TRUE(eventually([&] { return peer.count() == 1; }));
    const auto token = peer.asked().front().json["authentication"]["token"].get<std::string>();
    const Json body{{"status", "failed"},
                    {"error_data", {{"message", "the provider is busy"}}},
                    {"usage", {{{"provider", "test"}, {"api_calls", 1}, {"retry_after_seconds", 6}}}}};
    const auto reply =
        request(other.port(), "POST", "/v1/callbacks/" + id, {{"Authorization", "Bearer " + token}}, body.dump());
    ASSERT_EQ(reply.status, 200) << reply.body;
    ASSERT_TRUE(eventually([&] { return weather_of(hub, "test").is_object(); }));
    hub.enqueue("waits");
    ASSERT_TRUE(cools(hub, "waits", "test"));
    EXPECT_THAT(gate_of(hub, "waits")["detail"].get<std::string>(), HasSubstr("a callback of execution " + id));
    const auto view = hub.execution(id);
    EXPECT_EQ(view["status"], "retrying");
    EXPECT_EQ(view["retry_count"], 0) << "it is not its fault";
    // Then one tries it, and the other follows.
    ASSERT_TRUE(eventually([&] { return peer.count() == 3; }, 40));
    ASSERT_TRUE(eventually([&] { return hub.status(id) == "running"; }));
    EXPECT_EQ(hub.execution(id)["retry_count"], 0);
}

TEST(ProviderWeather, WhatACallbackSaysIsLeftHolds) {
    HubFixture hub;
    ASSERT_EQ(hub.api("PUT", "/v1/providers/test", declared(1000, 60)).status, 201);
    std::atomic<bool> told{false};
    Peer peer([&](const Asked&) {
        Json done{{"status", "completed"}, {"result_data", 1}};
        if (!told.exchange(true))
            done["usage"] = {
                {{"provider", "test"}, {"api_calls", 1}, {"remaining", 3}, {"reset_at", "2999-01-01T00:00:00Z"}}};
        return Behaviour{200, done.dump()};
    });
    hub.register_type("calls", peer.url(), calling("test"));
    hub.await_end(hub.enqueue("calls"));
    enqueue_many(hub, "calls", 10);
    ASSERT_TRUE(cools(hub, "calls", "test"));
    EXPECT_EQ(peer.count(), 4U);
    EXPECT_EQ(weather_of(hub, "test")["remaining"], 0);
    // A new scheduler does not allow the same again.
    hub.hub->kill();
    hub.start();
    ASSERT_TRUE(cools(hub, "calls", "test"));
    EXPECT_EQ(peer.count(), 4U);
    ASSERT_EQ(hub.api("POST", "/v1/providers/test/reset").status, 200);
    ASSERT_TRUE(eventually([&] { return peer.count() == 11U; }, 30));
}

TEST(ProviderWeather, OnlyWhoIsNamedIsAccused) {
    HubFixture hub;
    for (const auto* name : {"one", "two", "three"})
        ASSERT_EQ(hub.api("PUT", std::string("/v1/providers/") + name, declared(1000, 60)).status, 201);
    Peer vague([](const Asked&) { return Behaviour{429, "{}", {{"retry-after", "60"}}}; });
    Peer full([](const Asked&) { return Behaviour{503, R"({"provider":null})", {{"retry-after", "60"}}}; });
    Peer clear([](const Asked&) { return Behaviour{429, R"({"provider":"two"})", {{"retry-after", "60"}}}; });
    const Json both{{"call_estimates", {{{"provider", "one"}, {"calls", 1}}, {{"provider", "two"}, {"calls", 1}}}}};
    hub.register_type("vague", vague.url(), both);
    hub.register_type("clear", clear.url(), both);
    hub.register_type("full", full.url(), calling("three"));
    for (const auto* type : {"vague", "full", "clear"}) hub.enqueue(type);
    ASSERT_TRUE(eventually([&] { return weather_of(hub, "two").is_object(); }));
    ASSERT_TRUE(eventually(
        [&] { return hub.database.value("select count(*) from endpoints where held_until > now()") == "3"; }));
    EXPECT_TRUE(weather_of(hub, "one").is_null());
    EXPECT_TRUE(weather_of(hub, "three").is_null());
}

TEST(ProviderWeather, TheCheapestTriesItFirst) {
    HubFixture hub;
    ASSERT_EQ(hub.api("PUT", "/v1/providers/test", declared(1000, 60)).status, 201);
    Peer peer([](const Asked&) { return Behaviour{200, kDone}; });
    hub.register_type("large", peer.url(), calling("test", 50));
    hub.register_type("small", peer.url(), calling("test", 1));
    const auto soon = hub.database.value(
        "select to_char((now() + interval '3 seconds') at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')");
    ASSERT_EQ(hub.api("POST", "/v1/providers/test/cool", {{"until", soon}, {"reason", "they said so"}}).status, 200);
    hub.enqueue("large", {{"n", 1}}, {{"priority", 90}});
    hub.enqueue("small", {{"n", 1}}, {{"priority", 10}});
    ASSERT_TRUE(cools(hub, "large", "test"));
    EXPECT_THAT(gate_of(hub, "large")["detail"].get<std::string>(), HasSubstr("set by test: they said so"));
    ASSERT_TRUE(eventually([&] { return peer.count() == 2U; }, 30));
    std::vector<std::string> order;
    for (const auto all = peer.asked(); const auto& one : all) order.push_back(one.json["workflow_type"]);
    EXPECT_THAT(order, ::testing::ElementsAre("small", "large"));
    EXPECT_EQ(hub.api("POST", "/v1/providers/test/cool", {{"until", "2999-01-01T00:00:00Z"}}).status, 422);
    EXPECT_EQ(hub.api("POST", "/v1/providers/none/reset").status, 404);
}

}
}
