// Faults at one place of one process: what the hub answers and what it does about them.
#include <gtest/gtest.h>

#include <csignal>
#include <future>

#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

/// A second hub on the same database, with faults planted in it.
struct Planted {
    explicit Planted(const std::string& failpoints)
        : second(hub.database, hub.key_file(), "", 0, true, "", failpoints) {}

    Reply ask(const std::string& method, const std::string& path, const std::string& body,
              const std::string& key = "") const {
        std::vector<std::pair<std::string, std::string>> headers{{"authorization", "Bearer " + hub.key}};
        if (!key.empty()) headers.emplace_back("idempotency-key", key);
        return request(second.port(), method, path, headers, body);
    }

    HubFixture hub;
    HubProcess second;
};

constexpr const char* kWork = R"({"workflow_type":"work"})";

TEST(Failpoint, ACrashOfTheDatabaseIsNoRefusal) {
    Planted planted("sql.insert_executions=error@1");
    Peer peer([](const Asked&) { return Behaviour{200, R"({"status":"completed","result_data":1})"}; });
    planted.hub.register_type("work", peer.url());
    const auto refused = planted.ask("POST", "/v1/executions", kWork, "k");
    EXPECT_EQ(refused.status, 503) << refused.body;
    EXPECT_NE(refused.body.find("database-unavailable"), std::string::npos) << refused.body;
    const auto again = planted.ask("POST", "/v1/executions", kWork, "k");
    ASSERT_EQ(again.status, 201) << again.body;
    EXPECT_EQ(planted.hub.await_end(again.json()["execution_id"])["status"], "completed");
    EXPECT_EQ(planted.hub.database.value("select count(*) from executions"), "1");
}

TEST(Failpoint, ACrashDuringTheCommitIsInDoubt) {
    for (const bool done : {false, true}) {
        Planted planted(std::string("sql.commit.append_events=") + (done ? "done_then_error@1" : "error@1"));
        Peer peer([](const Asked&) { return Behaviour{200, R"({"status":"completed","result_data":1})"}; });
        planted.hub.register_type("work", peer.url());
        const auto doubtful = planted.ask("POST", "/v1/executions", kWork, "k");
        EXPECT_EQ(doubtful.status, 503) << doubtful.body;
        EXPECT_NE(doubtful.body.find("in-doubt"), std::string::npos) << doubtful.body;
        EXPECT_EQ(planted.hub.database.value("select count(*) from executions"), done ? "1" : "0");
        const auto again = planted.ask("POST", "/v1/executions", kWork, "k");
        ASSERT_EQ(again.status, 201) << again.body;
        EXPECT_EQ(again.headers.contains("idempotent-replayed"), done);
        EXPECT_EQ(planted.hub.await_end(again.json()["execution_id"])["status"], "completed");
        EXPECT_EQ(planted.hub.database.value("select count(*) from executions"), "1");
    }
}

/// R5: by then it counts as nobody's request any more, neither for a limit nor for money.
TEST(Failpoint, WhatWasGrantedBeforeItStoodStillForTooLongIsNotSentAfterwards) {
    const std::string quick = "[hub]\nlease_seconds = 2\nheartbeat_ms = 500\n";
    HubFixture hub(quick);
    Peer peer([](const Asked&) { return Behaviour{200, R"({"status":"completed","result_data":1})"}; });
    ASSERT_EQ(hub.api("PUT", "/v1/providers/test",
                      {{"limits", {{{"name", "rate"}, {"of", "requests"}, {"limit", 100}, {"per", "second"}}}}})
                  .status,
              201);
    hub.register_type("work", peer.url(),
                      {{"call_estimates", {{{"provider", "test"}, {"calls", 1}}}},
                       {"timeout_seconds", 5},
                       {"retry_policy", quick_retries(3)}});
    hub.hub->terminate();
    hub.start("", "sql.commit.charge_permits=done_then_stop@1");
    ASSERT_TRUE(eventually([&] { return hub.database.value("select node is not null from scheduler") == "t"; }));
    auto asked = std::async(std::launch::async, [&] { return hub.api("POST", "/v1/executions", Json::parse(kWork)); });
    ASSERT_TRUE(eventually([&] { return hub.database.value("select count(*) from executions") == "1"; }));
    HubProcess other(hub.database, hub.key_file(), quick);
    ASSERT_TRUE(eventually(
        [&] { return hub.database.value("select count(*) from events where type = 'execution.unknown'") == "1"; }));
    hub.hub->signal(SIGCONT);
    ASSERT_EQ(asked.get().status, 201);
    ASSERT_TRUE(eventually([&] { return hub.database.value("select status from executions") == "completed"; }));
    ASSERT_EQ(peer.count(), 1U);
    EXPECT_EQ(peer.asked().front().json["attempt"], 2) << "the first is not known not to have been sent";
}

TEST(Failpoint, ASessionThatEndedWhileNobodyUsedItIsNoFailure) {
    Planted planted("sql.begin=error%30;seed=3");
    Peer peer([](const Asked&) { return Behaviour{200, R"({"status":"completed","result_data":1})"}; });
    planted.hub.register_type("work", peer.url());
    int created = 0;
    for (int i = 0; i < 20; ++i) created += planted.ask("POST", "/v1/executions", kWork).status == 201 ? 1 : 0;
    // Twice in a row, in the old session and in the new one, is bad luck.
    EXPECT_GE(created, 14);
}

TEST(Failpoint, ATypeThatAnotherNodeHasJustRegisteredIsKnown) {
    Planted planted("sql.catalogue_version=delay(400)");
    Peer peer([](const Asked&) { return Behaviour{200, R"({"status":"completed","result_data":1})"}; });
    for (const auto& [path, body, status] : std::vector<std::tuple<std::string, std::string, int>>{
             {"/v1/executions", R"({"workflow_type":"one"})", 201},
             {"/v1/executions/batch", R"({"executions":[{"workflow_type":"two"},{"workflow_type":"two"}]})", 201}}) {
        planted.hub.register_type(body.find("one") != std::string::npos ? "one" : "two", peer.url());
        const auto reply = planted.ask("POST", path, body);
        EXPECT_EQ(reply.status, status) << reply.body;
    }
    planted.hub.register_type("three", peer.url());
    EXPECT_EQ(planted.ask("GET", "/v1/workflow-types/three", "").status, 200);
    EXPECT_EQ(planted.ask("POST", "/v1/executions", R"({"workflow_type":"none"})").status, 422);
}

}
}
