// Pauses on the running program: of a lane, of a provider, until something is so.
#include <gtest/gtest.h>

#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

Json calling(const std::string& provider) { return {{"call_estimates", {{{"provider", provider}, {"calls", 1}}}}}; }

/// Why nothing of it starts, once that is written down.
Json gate_of(const HubFixture& hub, const std::string& id) {
    if (!hub.await(id, [](const Json& e) { return e["waiting_for"].is_object(); })) return nullptr;
    return hub.execution(id)["waiting_for"];
}

std::size_t pauses(const HubFixture& hub) { return hub.get("/v1/pauses")["pauses"].size(); }

TEST(Pause, OfAProviderStopsWhatCallsItAndNothingElse) {
    Peer peer;
    HubFixture hub;
    hub.register_type("writer", peer.url(), calling("gemini"));
    hub.register_type("mapper", peer.url(), calling("maps"));
    hub.register_type("plain", peer.url());
    ASSERT_EQ(hub.api("POST", "/v1/pause", {{"provider", "gemini"}, {"reason", "the bill"}}).status, 200);
    const auto stopped = hub.enqueue("writer");
    hub.await_end(hub.enqueue("plain"), 1);
    hub.enqueue("mapper");
    ASSERT_TRUE(peer.wait_for(2));
    const auto gate = gate_of(hub, stopped);
    EXPECT_EQ(gate["kind"], "paused");
    EXPECT_EQ(gate["subject"], "gemini");
    EXPECT_NE(gate["detail"].get<std::string>().find("the bill (by "), std::string::npos);
    EXPECT_EQ(hub.get("/v1/pauses")["pauses"][0]["provider"], "gemini");
    // Kept over a restart, and the lane's stream has it.
    hub.hub->kill();
    hub.start();
    EXPECT_EQ(pauses(hub), 1U);
    EXPECT_EQ(hub.status(stopped), "queued");
    EXPECT_EQ(hub.database.value("select payload ->> 'provider' from events where type = 'lane.paused'"), "gemini");
    EXPECT_EQ(hub.api("POST", "/v1/resume", {{"provider", "gemini"}}).json()["was_paused"], true);
    ASSERT_TRUE(peer.wait_for(3));
    EXPECT_EQ(peer.asked()[2].execution_id(), stopped);
}

TEST(Pause, EndsOnceOtherQueuesAreShort) {
    Peer peer;
    HubFixture hub;
    hub.register_type("backfill", peer.url());
    hub.register_type("live", peer.url(), {{"enabled", false}});
    for (int i = 0; i < 5; ++i) hub.enqueue("live");
    ASSERT_EQ(hub.api("POST", "/v1/pause",
                      {{"workflow_type", "backfill"}, {"reason", "rush"}, {"until_condition", "queue_below:3"}})
                  .status,
              200);
    const auto waits = hub.enqueue("backfill");
    EXPECT_NE(gate_of(hub, waits)["detail"].get<std::string>().find("queue_below:3"), std::string::npos);
    EXPECT_EQ(peer.count(), 0U);
    EXPECT_EQ(pauses(hub), 1U);
    hub.register_type("live", peer.url());
    ASSERT_TRUE(peer.wait_for(6));
    hub.await(waits, [](const Json& e) { return e["status"] == "running"; });
    EXPECT_EQ(hub.status(waits), "running");
    EXPECT_EQ(pauses(hub), 0U);
    EXPECT_EQ(hub.database.value("select payload ->> 'by' || ' ' || (payload ->> 'reason') from events "
                                 "where type = 'lane.resumed'"),
              "hub queue_below:3");
}

TEST(Pause, EndsOnceItsEndpointsAreHealthy) {
    Peer peer;
    HubFixture hub;
    hub.register_type("ill", peer.url());
    const auto endpoint = hub.get("/v1/workflow-types/ill")["endpoints"][0]["endpoint_id"].get<std::string>();
    const auto at = "/v1/workflow-types/ill/endpoints/" + endpoint;
    ASSERT_EQ(hub.api("POST", at + "/trip", {{"reason", "moved"}}).status, 200);
    ASSERT_EQ(hub.api("POST", "/v1/pause", {{"workflow_type", "ill"}, {"until_condition", "endpoints_healthy"}}).status,
              200);
    const auto waits = hub.enqueue("ill");
    EXPECT_EQ(gate_of(hub, waits)["kind"], "paused");
    EXPECT_EQ(pauses(hub), 1U);
    ASSERT_EQ(hub.api("POST", at + "/reset", {{"reason", "there"}}).status, 200);
    ASSERT_TRUE(peer.wait_for(1));
    EXPECT_EQ(pauses(hub), 0U);
}

TEST(Pause, LastsUntilTheWindowOfABudgetTurns) {
    Peer peer;
    HubFixture hub;
    hub.register_type("mine", peer.url());
    const auto put = hub.api("PUT", "/v1/budgets/daily",
                             {{"window", {{"unit", "day"}}}, {"limit_usd", "10"}, {"reason", "as agreed"}});
    ASSERT_EQ(put.status, 201) << put.body;
    ASSERT_EQ(hub.api("POST", "/v1/pause", {{"workflow_type", "mine"}, {"until_budget", "daily"}}).status, 200);
    EXPECT_EQ(hub.get("/v1/pauses")["pauses"][0]["until"],
              hub.database.value("select to_char((date_trunc('day', now() at time zone 'UTC') + interval '1 day'), "
                                 "'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"));
}

TEST(Pause, WhatMakesNoSenseIsRefusedByName) {
    Peer peer;
    HubFixture hub;
    hub.register_type("mine", peer.url());
    const auto refused = [&](const Json& body) {
        const auto reply = hub.api("POST", "/v1/pause", body);
        return reply.status == 422 ? reply.json()["errors"][0]["pointer"].get<std::string>() : reply.body;
    };
    EXPECT_EQ(refused({{"provider", "nobody"}}), "/provider");
    EXPECT_EQ(refused({{"provider", "gemini"}, {"workflow_type", "mine"}}), "/provider");
    for (const auto* bad : {"queue_below", "queue_below:", "queue_below:0", "queue_below:-1", "queue_below:1e9",
                            "queue_below:99999999999999999999", "soon"})
        EXPECT_EQ(refused({{"workflow_type", "mine"}, {"until_condition", bad}}), "/until_condition") << bad;
    EXPECT_EQ(refused({{"until_condition", "queue_below:5"}}), "/until_condition") << "no other lane is left";
    EXPECT_EQ(refused({{"workflow_type", "mine"}, {"until_budget", "nothing"}}), "/until_budget");
    EXPECT_EQ(pauses(hub), 0U);
}

}
}
