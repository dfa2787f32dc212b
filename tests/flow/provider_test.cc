// Provider limits on the running program: counted at the peer, never passed, whatever dies.
#include <gtest/gtest.h>

#include "tests/support/arrivals.h"
#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

using std::chrono::steady_clock;

Json per_second(int limit, double seconds) {
    return {{"limits", {{{"name", "rate"}, {"of", "requests"}, {"limit", limit}, {"per", seconds}}}}};
}

Json needing(const std::string& provider) { return {{"call_estimates", {{{"provider", provider}, {"calls", 1}}}}}; }

Json batch_of(const std::string& type, int count) {
    Json executions = Json::array();
    for (int i = 0; i < count; ++i) executions.push_back({{"workflow_type", type}, {"input", {{"n", i}}}});
    return {{"executions", executions}};
}

std::string ended(const HubFixture& hub) {
    return hub.database.value("select count(*) from executions where status = 'completed'");
}

bool waits_for_provider(const HubFixture& hub) {
    return hub.database.value("select count(*) from lane_gates where gate = 'provider' and ended_at is null") == "1";
}

TEST(Provider, R19ARateIsNeverPassedByTwoNodesOfWhichTheSchedulerIsKilled) {
    HubFixture hub;
    Arrivals arrivals;
    Peer peer([&](const Asked&) {
        arrivals.note();
        return Behaviour{200, R"({"status":"completed","result_data":1})"};
    });
    ASSERT_EQ(hub.api("PUT", "/v1/providers/test", per_second(10, 2)).status, 201);
    // What the killed node had under way is not known to have begun: it is tried anew after its deadline.
    auto type = needing("test");
    type.update({{"timeout_seconds", 5}, {"retry_policy", quick_retries(6, 0.2)}});
    hub.register_type("calls", peer.url(), type);
    HubProcess second(hub.database, hub.key_file(), hub.config());
    ASSERT_TRUE(second.wait_ready());
    ASSERT_EQ(hub.api("POST", "/v1/executions/batch", batch_of("calls", 60)).status, 201);
    ASSERT_TRUE(eventually([&] { return arrivals.count() >= 15; }));
    hub.hub->kill();
    ASSERT_TRUE(eventually([&] { return ended(hub) == "60"; }, 90));
    EXPECT_LE(arrivals.most_within(std::chrono::seconds{2}), 10U);
    EXPECT_GE(arrivals.count(), 60U);
}

TEST(Provider, TheGateIsTold) {
    HubFixture hub;
    Peer peer([](const Asked&) { return Behaviour{200, R"({"status":"completed","result_data":1})"}; });
    const auto put = hub.api("PUT", "/v1/providers/test", per_second(1, 3600));
    ASSERT_EQ(put.status, 201);
    EXPECT_EQ(put.json()["updated_at"], hub.get("/v1/providers/test")["updated_at"]);
    hub.register_type("calls", peer.url(), needing("test"));
    hub.await_end(hub.enqueue("calls"));
    const auto waits = hub.enqueue("calls");
    ASSERT_TRUE(eventually([&] { return waits_for_provider(hub); }));
    EXPECT_EQ(hub.status(waits), "queued");
    const auto use = hub.get("/v1/providers/test")["use"][0];
    EXPECT_EQ(use["used"], 1);
    EXPECT_EQ(use["headroom"], 0);
    EXPECT_TRUE(use["next_at"].is_string());
    const auto metrics = hub.api("GET", "/metrics").body;
    EXPECT_NE(metrics.find(R"(impresario_provider_used{limit="rate",provider="test",subject=""} 1)"),
              std::string::npos);
    EXPECT_NE(metrics.find(R"(impresario_provider_limit{limit="rate",provider="test",subject=""} 1)"),
              std::string::npos);
    EXPECT_EQ(hub.database.value("select available || ' ' || current_usage || ' ' || limit_value from "
                                 "check_resource_availability() where resource_type = 'provider:test:rate'"),
              "false 1 1");

    // What more would do is told before it is done.
    const auto preview = hub.api("POST", "/v1/providers/test/preview", per_second(2, 3600)).json();
    EXPECT_EQ(preview["limits_before"][0]["limit"], 1);
    EXPECT_EQ(preview["limits_after"][0]["limit"], 2);
    ASSERT_EQ(preview["lanes"].size(), 1U) << preview.dump();
    const auto& lane = preview["lanes"][0];
    EXPECT_EQ(lane["workflow_type"], "calls");
    EXPECT_EQ(lane["waiting"], 1);
    EXPECT_EQ(lane["gate_before"]["kind"], "provider");
    EXPECT_EQ(lane["fit_before"], 0);
    EXPECT_EQ(lane["last_in_seconds_before"], 3600.0);
    EXPECT_EQ(lane["gate_after"], nullptr);
    EXPECT_EQ(lane["fit_after"], 1);
    EXPECT_EQ(lane["last_in_seconds_after"], 0.0);
    EXPECT_EQ(hub.api("POST", "/v1/providers/test/preview", per_second(0, 3600)).status, 422);
    EXPECT_EQ(hub.get("/v1/providers/test")["version"], 1) << "a preview changes nothing";

    // More is allowed now: it goes at once, and what has gone counts.
    ASSERT_EQ(hub.api("PUT", "/v1/providers/test", per_second(2, 3600)).status, 200);
    EXPECT_EQ(hub.await_end(waits)["status"], "completed");
    const auto next = hub.enqueue("calls");
    ASSERT_TRUE(eventually([&] { return waits_for_provider(hub); }));
    EXPECT_EQ(hub.status(next), "queued");
    EXPECT_EQ(hub.get("/v1/providers/test/versions")["versions"].size(), 2U);
    ASSERT_EQ(hub.api("DELETE", "/v1/providers/test").status, 204);
    EXPECT_EQ(hub.await_end(next)["status"], "completed") << "without a provider there is no limit";
}

// Who declares a cent and is billed sixty: what the bill says counts.
TEST(Provider, WhatACallbackBillsBeyondItsGrantCounts) {
    HubFixture hub;
    Peer peer;
    const Json limits{{"limits",
                       {{{"name", "cost"}, {"of", "cost"}, {"limit", "1"}, {"per", "day"}, {"kind", "fixed_window"}},
                        {{"name", "tokens"}, {"of", "tokens"}, {"limit", 100000}, {"per", "hour"}}}}};
    ASSERT_EQ(hub.api("PUT", "/v1/providers/test", limits).status, 201);
    hub.register_type(
        "calls", peer.url(),
        {{"call_estimates", {{{"provider", "test"}, {"calls", 1}, {"tokens", 200}, {"cost_usd", "0.01"}}}}});
    ASSERT_EQ(hub.api("POST", "/v1/executions/batch", batch_of("calls", 5)).status, 201);
    ASSERT_TRUE(peer.wait_for(5));
    for (const auto& asked : peer.asked()) {
        const auto told = [&](const std::string& status, int tokens, const std::string& cost) {
            const Json usage{{"provider", "test"}, {"api_calls", 1}, {"tokens", tokens}, {"cost_usd", cost}};
            EXPECT_EQ(Peer::call_back(asked, {{"status", status}, {"result_data", 1}, {"usage", {usage}}}).status, 200);
        };
        told("running", 100, "0.2");
        told("running", 300, "0.4");
        told("completed", 700, "0.6");
    }
    ASSERT_TRUE(eventually([&] { return ended(hub) == "5"; }));
    const auto used = [&](int limit) { return hub.get("/v1/providers/test")["use"][limit]["used"]; };
    ASSERT_TRUE(eventually([&] { return used(0) == "3.000000"; })) << used(0);
    EXPECT_EQ(used(1), 3500);
    hub.enqueue("calls");
    ASSERT_TRUE(eventually([&] { return waits_for_provider(hub); }));
    // The next to lead knows it.
    hub.hub->kill();
    hub.start();
    ASSERT_TRUE(eventually([&] { return used(0) == "3.000000"; }));
    EXPECT_EQ(used(1), 3500);
    EXPECT_EQ(peer.count(), 5U);
}

TEST(Provider, WhatSqlRecordsCountsAgainstTheLimit) {
    HubFixture hub;
    Peer peer([](const Asked&) { return Behaviour{200, R"({"status":"completed","result_data":1})"}; });
    const Json limits{{"limits", {{{"name", "tokens"}, {"of", "tokens"}, {"limit", 1000}, {"per", "hour"}}}}};
    ASSERT_EQ(hub.api("PUT", "/v1/providers/test", limits).status, 201);
    hub.register_type("calls", peer.url(),
                      {{"call_estimates", {{{"provider", "test"}, {"calls", 1}, {"tokens", 200}}}}});
    const auto first = hub.enqueue("calls");
    hub.await_end(first);
    const auto used = [&] { return hub.get("/v1/providers/test")["use"][0]["used"]; };
    EXPECT_EQ(used(), 200);
    const auto record = [&](const std::string& tokens, const std::string& id) {
        hub.database.value("select record_resource_usage('" + first + "', 'tokens', 'test', " + tokens + ", null, '" +
                           id + "')");
    };
    record("150", "a");
    record("650", "b");
    record("650", "b");
    ASSERT_TRUE(eventually([&] { return used() == 800; })) << used();
    const auto fits = hub.enqueue("calls");
    EXPECT_EQ(hub.await_end(fits)["status"], "completed");
    hub.enqueue("calls");
    EXPECT_TRUE(eventually([&] { return waits_for_provider(hub); }));
}

TEST(Provider, ANewSchedulerCountsWhatTheOneBeforeGranted) {
    HubFixture hub;
    Peer peer([](const Asked&) { return Behaviour{200, R"({"status":"completed","result_data":1})"}; });
    ASSERT_EQ(hub.api("PUT", "/v1/providers/test", per_second(2, 3600)).status, 201);
    hub.register_type("calls", peer.url(), needing("test"));
    hub.await_end(hub.enqueue("calls"));
    hub.await_end(hub.enqueue("calls"));
    hub.hub->kill();
    hub.start();
    const auto waits = hub.enqueue("calls");
    ASSERT_TRUE(eventually([&] { return waits_for_provider(hub); }));
    EXPECT_EQ(hub.status(waits), "queued");
    EXPECT_EQ(peer.count(), 2U);
}

TEST(Provider, ARequestMayStillComeAfterItsExecutionWasCancelled) {
    HubFixture hub;
    Peer peer([](const Asked&) {
        Behaviour slow;
        slow.delay = std::chrono::seconds{3};
        return slow;
    });
    ASSERT_EQ(hub.api("PUT", "/v1/providers/test", per_second(1, 1)).status, 201);
    hub.register_type("calls", peer.url(), needing("test"));
    const auto first = hub.enqueue("calls");
    ASSERT_TRUE(eventually([&] { return peer.count() == 1; }));
    ASSERT_EQ(hub.api("POST", "/v1/executions/" + first + "/cancel").status, 200);
    const auto second = hub.enqueue("calls");
    const auto use = hub.get("/v1/providers/test")["use"][0];
    EXPECT_EQ(use["used"], 1) << "nobody knows yet that its request has ended";
    EXPECT_EQ(hub.status(second), "queued");
}

TEST(Provider, BadDefinitionsAreRefusedByName) {
    HubFixture hub;
    const auto refused = hub.api("PUT", "/v1/providers/test", per_second(0, 1));
    EXPECT_EQ(refused.status, 422);
    EXPECT_EQ(refused.json()["errors"][0]["pointer"], "/limits/0/limit");
    EXPECT_EQ(hub.api("GET", "/v1/providers/test").status, 404);
    EXPECT_EQ(hub.api("DELETE", "/v1/providers/test").status, 404);
    const auto seeded = hub.get("/v1/providers")["providers"];
    ASSERT_EQ(seeded.size(), 2U);
    EXPECT_EQ(seeded[0]["name"], "gemini");
    EXPECT_EQ(seeded[0]["limits"][0]["limit"], 60);
}

}
}
