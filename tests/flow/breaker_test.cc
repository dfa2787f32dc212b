// Circuit breakers: an endpoint that mostly fails is left alone, tried by one, and set by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;

/// When each request came.
class Arrivals {
  public:
    /// Which one it is, from 1.
    std::size_t note() {
        const std::lock_guard lock(mutex_);
        at_.push_back(steady_clock::now());
        return at_.size();
    }
    milliseconds between(std::size_t earlier, std::size_t later) const {
        const std::lock_guard lock(mutex_);
        return std::chrono::duration_cast<milliseconds>(at_.at(later) - at_.at(earlier));
    }

  private:
    mutable std::mutex mutex_;
    std::vector<steady_clock::time_point> at_;
};

const std::string kDone = R"({"status":"completed","result_data":1})";

void enqueue_many(const HubFixture& hub, const std::string& type, int count) {
    Json batch = Json::array();
    for (int i = 0; i < count; ++i) batch.push_back({{"workflow_type", type}, {"input", {{"i", i}}}});
    ASSERT_EQ(hub.api("POST", "/v1/executions/batch", {{"executions", batch}}).status, 201);
}

Json endpoint_of(const HubFixture& hub, const std::string& type, std::size_t place = 0) {
    return hub.get("/v1/workflow-types/" + type)["endpoints"][place];
}
std::string state_of(const HubFixture& hub, const std::string& type, std::size_t place = 0) {
    return endpoint_of(hub, type, place)["breaker"]["state"];
}
std::string path_of(const HubFixture& hub, const std::string& type, const std::string& what, std::size_t place = 0) {
    return "/v1/workflow-types/" + type + "/endpoints/" +
           endpoint_of(hub, type, place)["endpoint_id"].get<std::string>() + "/" + what;
}
Json gate_of(const HubFixture& hub, const std::string& type) {
    for (const auto state = hub.get("/v1/state"); const auto& lane : state["lanes"])
        if (lane["workflow_type"] == type) return lane["gate"];
    return nullptr;
}
bool await_gate(const HubFixture& hub, const std::string& type, const std::string& kind) {
    return eventually([&] {
        const auto gate = gate_of(hub, type);
        return gate.is_object() && gate["kind"] == kind;
    });
}
std::size_t completed(const HubFixture& hub) {
    return hub.get("/v1/executions?status=completed&limit=500")["executions"].size();
}
/// Once more as often as it needs, and hardly later.
Json patient() { return {{"max_retries", 900}, {"base_seconds", 0.02}, {"factor", 1.0}, {"jitter", {0.0, 0.0}}}; }

TEST(Breaker, AnEndpointThatMostlyFailsIsLeftAloneThenTriedByOne) {
    HubFixture hub("[breaker]\nopen_ms = 1500\n");
    Arrivals arrivals;
    Peer peer([&](const Asked&) {
        const bool well = arrivals.note() > 12;
        Behaviour behaviour{well ? 200 : 500, well ? kDone : "broken"};
        behaviour.delay = milliseconds{well ? 400 : 0};
        return behaviour;
    });
    hub.register_type("broken", peer.url(), {{"retry_policy", patient()}});
    enqueue_many(hub, "broken", 40);
    Json gate;
    ASSERT_TRUE(eventually([&] {
        gate = gate_of(hub, "broken");
        return gate.is_object() && gate["kind"] == "breaker";
    }));
    EXPECT_THAT(gate["detail"].get<std::string>(),
                HasSubstr("10 of 10 answers in the last 60 s were failures, the last: status 500"));
    EXPECT_THAT(gate["detail"].get<std::string>(), HasSubstr("open until"));
    EXPECT_TRUE(gate["opens_at"].is_string());

    ASSERT_TRUE(eventually([&] { return completed(hub) == 40U; }, 60));
    // After the first troubles one goes at a time, so that nothing is under way beside the tenth. Two probes fail: each
    // is alone, and the second comes twice as late.
    const std::size_t burst = 10;
    EXPECT_GE(arrivals.between(burst - 1, burst), milliseconds{1400});
    EXPECT_GE(arrivals.between(burst, burst + 1), milliseconds{2900});
    // The third is taken, and only then others go.
    EXPECT_GE(arrivals.between(burst + 1, burst + 2), milliseconds{5900});
    EXPECT_GE(arrivals.between(burst + 2, burst + 3), milliseconds{400});
    ASSERT_TRUE(eventually([&] { return state_of(hub, "broken") == "closed"; }));
    EXPECT_TRUE(endpoint_of(hub, "broken")["breaker"]["since"].is_string());
    EXPECT_EQ(peer.count(), burst + 2 + 40U);

    const auto told = [&](const std::string& type) {
        return hub.database.value("select count(*) from events where kind = 'lane' and type = 'lane.breaker_" + type +
                                  "'");
    };
    EXPECT_EQ(told("opened"), "3");
    EXPECT_EQ(told("half_open"), "3");
    EXPECT_EQ(told("closed"), "1");
    EXPECT_EQ(hub.database.value("select coalesce(sum(gap), 0) from (select count(*) - max(seq) as gap from events "
                                 "where kind = 'lane' group by stream_id) s"),
              "0")
        << "P8: no gaps";
    EXPECT_THAT(request(hub.hub->port(), "GET", "/metrics").body,
                ::testing::ContainsRegex("impresario_endpoint_breaker\\{[^}]*workflow_type=\"broken\"[^}]*\\} 0"));
}

TEST(Breaker, TheOtherEndpointsGoOn) {
    HubFixture hub("[breaker]\nopen_ms = 600000\n");
    Peer broken([](const Asked&) { return Behaviour{500, "broken"}; });
    Peer well([](const Asked&) { return Behaviour{200, kDone}; });
    hub.register_type("two", "", {{"endpoints", {broken.url(), well.url()}}, {"retry_policy", patient()}});
    const auto opened = [&] { return state_of(hub, "two", 0) == "open" || state_of(hub, "two", 1) == "open"; };
    std::size_t asked = 0;
    ASSERT_TRUE(eventually([&] { return opened() || (enqueue_many(hub, "two", 10), asked += 10, false); }, 40));
    const auto count = broken.count();
    EXPECT_GE(count, 10U);
    enqueue_many(hub, "two", 100);
    ASSERT_TRUE(eventually([&] { return completed(hub) == asked + 100U; }, 40));
    EXPECT_EQ(broken.count(), count);
    EXPECT_TRUE(gate_of(hub, "two").is_null());
}

TEST(Breaker, WhatThePeerRefusesIsNotItsFailure) {
    for (const bool retry_rejected : {false, true}) {
        HubFixture hub;
        Peer peer([](const Asked&) { return Behaviour{422, "no such field"}; });
        hub.register_type(
            "choosy", peer.url(),
            {{"retry_rejected", retry_rejected}, {"retry_policy", quick_retries(retry_rejected ? 1 : 0)}});
        enqueue_many(hub, "choosy", 20);
        ASSERT_TRUE(
            eventually([&] { return hub.get("/v1/dead-letters?limit=100")["dead_letters"].size() == 20U; }, 40));
        EXPECT_EQ(state_of(hub, "choosy"), "closed");
    }
}

TEST(Breaker, SetByHandItIsObeyedAtOnceWhoeverLeads) {
    HubFixture hub;
    Peer first([](const Asked&) { return Behaviour{200, kDone}; });
    Peer second([](const Asked&) { return Behaviour{200, kDone}; });
    hub.register_type("steered", "", {{"endpoints", {first.url(), second.url()}}});
    // Asked at a node that does not lead.
    const HubProcess other(hub.database, hub.key_file(), hub.config());
    const auto ask = [&](const std::string& what, const Json& body, std::size_t place) {
        return request(other.port(), "POST", path_of(hub, "steered", what, place),
                       {{"Authorization", "Bearer " + hub.key}}, body.dump());
    };
    ASSERT_TRUE(eventually([&] { return hub.get("/v1/nodes")["nodes"].size() == 2U; }));

    auto answer = ask("trip", {{"reason", "being moved"}}, 0);
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.json()["breaker"]["state"], "open");
    EXPECT_EQ(answer.json()["breaker"]["by"], "test");
    EXPECT_EQ(answer.json()["breaker"]["detail"], "being moved");
    ASSERT_TRUE(eventually([&] { return state_of(hub, "steered", 0) == "open"; }));
    const bool first_is_tripped = endpoint_of(hub, "steered", 0)["url"] == first.url();
    auto& tripped = first_is_tripped ? first : second;
    auto& open = first_is_tripped ? second : first;
    for (int i = 0; i < 5; ++i) EXPECT_EQ(hub.await_end(hub.enqueue("steered"))["status"], "completed");
    EXPECT_EQ(tripped.count(), 0U);
    EXPECT_EQ(open.count(), 5U);

    ASSERT_EQ(ask("trip", {{"reason", "all of it"}}, 1).status, 200);
    ASSERT_TRUE(eventually([&] { return state_of(hub, "steered", 1) == "open"; }));
    const auto id = hub.enqueue("steered");
    ASSERT_TRUE(await_gate(hub, "steered", "breaker"));
    const auto gate = gate_of(hub, "steered");
    EXPECT_THAT(gate["detail"].get<std::string>(), HasSubstr("tripped by test ("));
    EXPECT_THAT(gate["detail"].get<std::string>(), HasSubstr("open until it is reset"));
    EXPECT_TRUE(gate["opens_at"].is_null());
    // A new definition forgets what opened by itself, not what somebody has said.
    hub.register_type("steered", "", {{"endpoints", {first.url(), second.url()}}, {"max_concurrency", 9}});
    EXPECT_EQ(state_of(hub, "steered", 0), "open");
    EXPECT_EQ(hub.status(id), "queued");

    ASSERT_EQ(ask("reset", {{"reason", "moved"}}, 0).status, 200);
    EXPECT_EQ(hub.await_end(id)["status"], "completed");
    EXPECT_EQ(tripped.count(), 1U);
    // Who and why is in the lane's stream.
    EXPECT_EQ(hub.database.value("select string_agg((payload::json->>'by') || ': ' || (payload::json->>'detail'), '; ' "
                                 "order by seq) from events where type like 'lane.breaker%'"),
              "test: being moved; test: all of it; test: moved");
}

TEST(Breaker, TrippedForAWhileItIsTriedByOneThen) {
    HubFixture hub;
    Peer peer([](const Asked&) { return Behaviour{200, kDone}; });
    hub.register_type("resting", peer.url());
    const std::string until = hub.database.value(
        "select to_char((now() + interval '2 s') at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')");
    ASSERT_EQ(hub.api("POST", path_of(hub, "resting", "trip"), {{"reason", "a rest"}, {"until", until}}).status, 200);
    const auto id = hub.enqueue("resting");
    ASSERT_TRUE(await_gate(hub, "resting", "breaker"));
    EXPECT_EQ(gate_of(hub, "resting")["opens_at"], until);
    EXPECT_EQ(hub.await_end(id)["status"], "completed");
    EXPECT_EQ(hub.database.value("select bool_and(at >= '" + until + "'::timestamptz) from deliveries"), "t");
    ASSERT_TRUE(eventually([&] { return state_of(hub, "resting") == "closed"; }));
}

TEST(Breaker, ItStaysOpenOverARestart) {
    HubFixture hub("[breaker]\nopen_ms = 600000\n");
    std::atomic<bool> well{false};
    Peer peer([&](const Asked&) { return well ? Behaviour{200, kDone} : Behaviour{500, "broken"}; });
    hub.register_type("broken", peer.url(), {{"retry_policy", patient()}});
    enqueue_many(hub, "broken", 20);
    ASSERT_TRUE(eventually([&] { return state_of(hub, "broken") == "open"; }));
    const auto before = endpoint_of(hub, "broken")["breaker"];
    // Their answers are recorded, so that nothing else is under way.
    ASSERT_TRUE(eventually([&] {
        return hub.database.value("select count(*) from executions where attempt_state in ('granted', 'sending')") ==
               "0";
    }));
    const auto granted = [&] {
        return hub.database.value(
            "select count(*) from events join executions on execution_id = stream_id where workflow_type = 'broken' "
            "and "
            "type = 'execution.dispatched'");
    };
    const auto count = granted();
    hub.hub->kill();
    well = true;
    hub.start();
    ASSERT_TRUE(await_gate(hub, "broken", "breaker"));
    EXPECT_EQ(endpoint_of(hub, "broken")["breaker"], before);
    EXPECT_EQ(gate_of(hub, "broken")["opens_at"], before["until"]);
    // Somebody new leads and starts what comes behind it, but not this.
    Peer beside([](const Asked&) { return Behaviour{200, kDone}; });
    hub.register_type("beside", beside.url());
    EXPECT_EQ(hub.await_end(hub.enqueue("beside", {{"n", 1}}, {{"priority", 0}}))["status"], "completed");
    EXPECT_EQ(granted(), count);
    EXPECT_EQ(gate_of(hub, "broken")["kind"], "breaker");
    // A new definition wants it tried at once.
    hub.register_type("broken", peer.url(), {{"retry_policy", patient()}});
    ASSERT_TRUE(eventually([&] { return completed(hub) == 21U; }, 40));
}

TEST(Breaker, WhatIsAskedWronglyIsSaid) {
    HubFixture hub;
    Peer peer;
    hub.register_type("one", peer.url());
    hub.register_type("two", peer.url("/other"));
    const std::string path = path_of(hub, "one", "trip");
    EXPECT_EQ(hub.api("POST", "/v1/workflow-types/one/endpoints/nonsense/trip").status, 404);
    EXPECT_EQ(hub.api("POST", "/v1/workflow-types/one/endpoints/018f3c1e-7b2a-7def-8123-456789abcdef/trip").status,
              404);
    const auto elsewhere = path_of(hub, "two", "reset");
    EXPECT_EQ(hub.api("POST", "/v1/workflow-types/one" + elsewhere.substr(elsewhere.find("/endpoints"))).status, 404)
        << "another type's endpoint";
    for (const Json& until : {Json("soon"), Json(7), Json("2020-01-01T00:00:00Z")}) {
        const auto refused = hub.api("POST", path, {{"until", until}});
        EXPECT_EQ(refused.status, 422) << refused.body;
        EXPECT_EQ(refused.json()["errors"][0]["pointer"], "/until") << refused.body;
    }
    EXPECT_EQ(hub.api("POST", path, {{"cause", "?"}}).status, 422);
    EXPECT_EQ(hub.api("POST", path_of(hub, "one", "reset"), {{"until", "2099-01-01T00:00:00Z"}}).status, 422);
    EXPECT_EQ(
        request(hub.hub->port(), "POST", path, {{"Authorization", "Bearer " + hub.make_key("submitter", "s")}}).status,
        403);
    EXPECT_EQ(state_of(hub, "one"), "closed");
    EXPECT_EQ(hub.api("POST", path).status, 200) << "neither a reason nor a time is required";
    EXPECT_EQ(hub.database.value("select count(*) from events where type like 'lane.breaker%'"), "1");
}

}
}
