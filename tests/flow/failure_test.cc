// Peers that refuse, reset, answer garbage, are slow or gone. Cases S04 and the design's outcomes.
#include <gtest/gtest.h>

#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

TEST(Failure, S04EveryAttemptCounts) {
    HubFixture hub;
    Peer peer([](const Asked&) { return Behaviour{500, std::string("broken \0 here", 13)}; });
    hub.register_type("refusing", peer.url(), {{"retry_policy", quick_retries(2)}});
    const auto id = hub.enqueue("refusing");
    const auto end = hub.await_end(id);
    EXPECT_EQ(end["status"], "dead");
    EXPECT_EQ(end["reason"], "attempts_exhausted");
    EXPECT_EQ(end["retry_count"], 3);
    ASSERT_EQ(peer.count(), 3U);
    std::set<std::string> ids;
    for (const auto& asked : peer.asked()) ids.insert(asked.webhook_id());
    EXPECT_EQ(ids.size(), 1U) << "a redelivery keeps its webhook-id";
    const auto deliveries = hub.get("/v1/executions/" + id + "/deliveries")["deliveries"];
    ASSERT_EQ(deliveries.size(), 3U);
    for (const auto& each : deliveries) {
        EXPECT_EQ(each["status"], 500);
        EXPECT_EQ(each["outcome"], "transient");
        EXPECT_EQ(each["answer"], "broken \xEF\xBF\xBD here") << "a byte 00 is no reason not to record it (S01)";
    }
    const auto letters = hub.get("/v1/dead-letters")["dead_letters"];
    ASSERT_EQ(letters.size(), 1U);
    EXPECT_EQ(letters[0]["execution_id"], id);
    EXPECT_EQ(letters[0]["reason"], "attempts_exhausted");
}

TEST(Failure, S04ARejectionGoesToTheDeadLettersAtOnce) {
    HubFixture hub;
    Peer peer([](const Asked&) { return Behaviour{422, "no such field"}; });
    hub.register_type("rejecting", peer.url());
    const auto id = hub.enqueue("rejecting", {{"n", 7}});
    const auto end = hub.await_end(id);
    EXPECT_EQ(end["status"], "dead");
    EXPECT_EQ(end["reason"], "rejected_by_peer");
    EXPECT_EQ(end["error_data"]["answer"], "no such field");
    EXPECT_EQ(peer.count(), 1U);
    // Mended by hand: retried with an edited input.
    peer.set_script([](const Asked&) { return Behaviour{200, R"({"status":"completed","result_data":{"ok":1}})"}; });
    EXPECT_EQ(hub.api("POST", "/v1/dead-letters/" + id + "/retry", {{"input", {{"n", 8}}}}).status, 200);
    EXPECT_EQ(hub.await_end(id)["status"], "completed");
    EXPECT_EQ(peer.asked()[1].json["input_data"]["n"], 8);
    EXPECT_NE(peer.asked()[1].webhook_id(), peer.asked()[0].webhook_id()) << "a replay is a new attempt";
    const auto letter = hub.get("/v1/dead-letters/" + id);
    EXPECT_EQ(letter["resolution"], "retried");
    EXPECT_EQ(letter["resolved_by"], "test");
    EXPECT_EQ(letter["original_input"]["n"], 7);
    EXPECT_EQ(hub.get("/v1/dead-letters")["dead_letters"].size(), 0U);
}

TEST(Failure, S04AnEndpointAtFaultHoldsTheLaneAndLosesNothing) {
    HubFixture hub;
    std::atomic<bool> open{false};
    Peer peer([&](const Asked&) {
        return open ? Behaviour{200, R"({"status":"completed","result_data":1})"} : Behaviour{403, "not yet"};
    });
    hub.register_type("locked", peer.url());
    Json batch = Json::array();
    for (int i = 0; i < 100; ++i) batch.push_back({{"workflow_type", "locked"}, {"input", {{"i", i}}}});
    const auto created = hub.api("POST", "/v1/executions/batch", {{"executions", batch}}).json();
    const std::string last = created["executions"][99]["execution_id"];
    ASSERT_TRUE(hub.await(last, [](const Json& e) { return e["waiting_for"].is_object(); }));
    const auto waiting = hub.execution(last);
    EXPECT_EQ(waiting["waiting_for"]["kind"], "endpoint");
    EXPECT_NE(waiting["waiting_for"]["detail"].get<std::string>().find("403"), std::string::npos);
    EXPECT_TRUE(waiting["waiting_for"]["opens_at"].is_string());
    ASSERT_TRUE(peer.wait_for(5, 20)) << "it is probed now and then";
    EXPECT_LE(peer.count(), 8U) << "a handful, not a hundred";
    EXPECT_EQ(hub.get("/v1/executions?status=queued,dispatching&limit=500")["executions"].size(), 100U);
    EXPECT_EQ(hub.get("/v1/dead-letters")["dead_letters"].size(), 0U);
    ASSERT_TRUE(eventually([&] { return hub.get("/v1/state")["current_state"] == "COOLDOWN"; }));
    open = true;
    ASSERT_TRUE(eventually(
        [&] { return hub.get("/v1/executions?status=completed&limit=500")["executions"].size() == 100U; }, 40));
    const auto executions_page = hub.get("/v1/executions?limit=500");
    for (const auto& each : executions_page["executions"]) EXPECT_EQ(each["retry_count"], 0) << "waiting was no try";
    // Somebody was told, in the lane's own stream.
    const auto stream = [&](const std::string& type) {
        return hub.database.value("select count(*) from events where kind = 'lane' and type = '" + type + "'");
    };
    EXPECT_NE(stream("lane.endpoint_held"), "0");
    EXPECT_EQ(stream("lane.endpoint_released"), "1");
    EXPECT_EQ(hub.database.value("select coalesce(sum(gap), 0) from (select count(*) - max(seq) as gap from events "
                                 "where kind = 'lane' group by stream_id) s"),
              "0")
        << "P8: no gaps";
}

TEST(Failure, S04OverloadIsNoTryAndEverybodyWaits) {
    HubFixture hub;
    std::atomic<int> refused{0};
    Peer peer([&](const Asked&) {
        if (refused < 3) {
            ++refused;
            return Behaviour{429, "slow down", {{"Retry-After", "1"}}};
        }
        return Behaviour{200, R"({"status":"completed","result_data":1})"};
    });
    hub.register_type("busy", peer.url(), {{"retry_policy", "none"}});
    const auto id = hub.enqueue("busy");
    const auto end = hub.await_end(id);
    EXPECT_EQ(end["status"], "completed") << "with no retries at all";
    EXPECT_EQ(end["retry_count"], 0);
    EXPECT_EQ(end["attempts"], 1);
    EXPECT_EQ(peer.count(), 4U);
}

TEST(Failure, APeerThatIsNotThereIsTriedAgain) {
    HubFixture hub;
    int port = 0;
    {
        Peer gone;
        port = gone.port();
    }
    hub.register_type("absent", "http://127.0.0.1:" + std::to_string(port) + "/run",
                      {{"retry_policy", quick_retries(1)}});
    const auto end = hub.await_end(hub.enqueue("absent"));
    EXPECT_EQ(end["status"], "dead");
    EXPECT_EQ(end["reason"], "attempts_exhausted");
    const auto deliveries =
        hub.get("/v1/executions/" + end["execution_id"].get<std::string>() + "/deliveries")["deliveries"];
    EXPECT_EQ(deliveries.size(), 2U);
    EXPECT_TRUE(deliveries[0]["status"].is_null());
}

TEST(Failure, AnAnswerThatNeverCameIsUnknownAndNotSentAgain) {
    for (const bool reset : {true, false}) {
        HubFixture hub("[webhooks]\nwhole_deadline_ms = 500\n");
        Peer peer([&](const Asked&) {
            Behaviour behaviour;
            behaviour.reset = reset;
            behaviour.silent = !reset;
            return behaviour;
        });
        hub.register_type("silent", peer.url(), {{"timeout_seconds", 60}, {"retry_policy", quick_retries(3)}});
        const auto id = hub.enqueue("silent");
        ASSERT_TRUE(hub.await(
            id, [](const Json& e) { return e["attempt"].is_object() && e["attempt"]["state"] == "unknown"; }));
        EXPECT_EQ(hub.status(id), "running") << "it may be running and costing money";
        EXPECT_EQ(peer.count(), 1U);
        // It was running after all.
        EXPECT_EQ(Peer::call_back(peer.asked()[0], {{"status", "completed"}, {"result_data", "late but true"}}).status,
                  200);
        EXPECT_EQ(hub.await_end(id)["status"], "completed");
        EXPECT_EQ(peer.count(), 1U);
    }
}

TEST(Failure, WhereAStatusCanBeAskedItIsAskedBeforeAnythingIsTriedAnew) {
    HubFixture hub("[webhooks]\nwhole_deadline_ms = 500\n");
    std::atomic<int> asked_for_status{0};
    Peer peer([&](const Asked& asked) {
        Behaviour behaviour;
        if (asked.method == "GET") {
            ++asked_for_status;
            behaviour.status = 200;
            behaviour.body = R"({"status":"completed","result_data":"it had run"})";
        } else {
            behaviour.reset = true;
        }
        return behaviour;
    });
    hub.register_type("askable", peer.url(),
                      {{"timeout_seconds", 1},
                       {"endpoints", {{{"url", peer.url()}, {"status_url", peer.url("/status/{execution_id}")}}}}});
    const auto id = hub.enqueue("askable");
    const auto end = hub.await_end(id);
    EXPECT_EQ(end["status"], "completed") << end;
    EXPECT_EQ(end["result_data"], "it had run");
    EXPECT_EQ(peer.count(), 1U) << "sent once";
    EXPECT_EQ(asked_for_status, 1);
    EXPECT_EQ(peer.asked(true).back().path, "/status/" + id);
}

TEST(Failure, WhatRunsIsAskedAboutAtEachOfItsDeadlines) {
    HubFixture hub;
    std::atomic<int> asked_for_status{0};
    Peer peer([&](const Asked& asked) {
        Behaviour behaviour;
        if (asked.method != "GET") return behaviour;
        behaviour.status = 200;
        behaviour.body = ++asked_for_status < 3 ? R"({"status":"running"})"
                                                : R"({"status":"completed","result_data":"its callback was lost"})";
        return behaviour;
    });
    const Json endpoint{{"url", peer.url()}, {"status_url", peer.url("/status/{execution_id}")}};
    hub.register_type("askable", peer.url(), {{"timeout_seconds", 1}, {"endpoints", {endpoint}}});
    const auto end = hub.await_end(hub.enqueue("askable"));
    EXPECT_EQ(end["status"], "completed") << end;
    EXPECT_EQ(end["result_data"], "its callback was lost");
    EXPECT_EQ(peer.count(), 1U) << "sent once";
    EXPECT_EQ(asked_for_status, 3) << "once at each deadline";

    // Nobody runs there any more: it is out of time, and no later than its longest runtime whatever it says.
    hub.register_type(
        "forgetful", peer.url(),
        {{"timeout_seconds", 1},
         {"retry_policy", "none"},
         {"endpoints", {{{"url", peer.url("/x")}, {"status_url", "http://127.0.0.1:1/{execution_id}"}}}}});
    EXPECT_EQ(hub.await_end(hub.enqueue("forgetful"))["reason"], "timeout");
    asked_for_status = -1000;
    hub.register_type("for-ever", peer.url(),
                      {{"timeout_seconds", 1},
                       {"max_runtime_seconds", 3},
                       {"retry_policy", "none"},
                       {"endpoints", {{{"url", peer.url("/y")}, {"status_url", peer.url("/status/{execution_id}")}}}}});
    EXPECT_EQ(hub.await_end(hub.enqueue("for-ever"), 50)["reason"], "timeout");
}

TEST(Failure, ADeduplicatingPeerGetsTheSameDeliveryAgainAtOnce) {
    HubFixture hub;
    std::atomic<int> calls{0};
    Peer peer([&](const Asked&) {
        Behaviour behaviour;
        behaviour.headers = {{"webhook-deduplicates", "true"}};
        if (++calls == 2) behaviour.reset = true;
        return behaviour;
    });
    hub.register_type("careful", peer.url());
    // The first answer teaches that it deduplicates.
    const auto first = hub.enqueue("careful");
    ASSERT_TRUE(peer.wait_for(1));
    Peer::call_back(peer.asked()[0], {{"status", "completed"}});
    hub.await_end(first);
    ASSERT_TRUE(eventually(
        [&] { return hub.get("/v1/workflow-types/careful")["endpoints"][0]["learnt_deduplicates"] == true; }));
    const auto second = hub.enqueue("careful");
    ASSERT_TRUE(peer.wait_for(3));
    EXPECT_EQ(peer.asked()[1].webhook_id(), peer.asked()[2].webhook_id());
    Peer::call_back(peer.asked()[2], {{"status", "completed"}});
    EXPECT_EQ(hub.await_end(second)["status"], "completed");
}

TEST(Failure, GarbageIsNoAnswer) {
    HubFixture hub;
    Peer peer([](const Asked&) {
        Behaviour behaviour;
        behaviour.garbage = "\x16\x03\x01 this is not HTTP\r\n\r\n";
        return behaviour;
    });
    hub.register_type("garbage", peer.url(), {{"timeout_seconds", 1}, {"retry_policy", "none"}});
    const auto id = hub.enqueue("garbage");
    const auto end = hub.await_end(id);
    EXPECT_EQ(end["status"], "dead");
    EXPECT_EQ(end["reason"], "lost");
}

TEST(Failure, AnAnswerIsWhatItsStatusSaysHoweverLongItsBodyIs) {
    HubFixture hub;
    Peer peer([](const Asked&) {
        Behaviour behaviour;
        behaviour.garbage = "HTTP/1.1 422 No\r\ncontent-length: 99999999999999\r\n\r\nbegins";
        return behaviour;
    });
    hub.register_type("long_winded", peer.url());
    const auto id = hub.enqueue("long_winded");
    EXPECT_EQ(hub.await_end(id)["reason"], "rejected_by_peer");
    EXPECT_EQ(hub.get("/v1/executions/" + id + "/deliveries")["deliveries"][0]["status"], 422);
}

TEST(Failure, RedirectsAreNotFollowed) {
    HubFixture hub;
    Peer elsewhere;
    Peer peer([&](const Asked&) { return Behaviour{302, "", {{"Location", elsewhere.url()}}}; });
    hub.register_type("moved", peer.url());
    const auto id = hub.enqueue("moved");
    ASSERT_TRUE(hub.await(
        id, [](const Json& e) { return e["waiting_for"].is_object() && e["waiting_for"]["kind"] == "endpoint"; }));
    EXPECT_EQ(elsewhere.count(), 0U);
}

TEST(Failure, TheEgressPolicyIsAskedAboutTheAddress) {
    HubFixture hub;
    hub.register_type("inner", "http://169.254.169.254/latest/meta-data");
    const auto id = hub.enqueue("inner");
    ASSERT_TRUE(hub.await(id, [](const Json& e) { return e["waiting_for"].is_object(); }));
    const auto detail = hub.execution(id)["waiting_for"]["detail"].get<std::string>();
    EXPECT_NE(detail.find("egress"), std::string::npos) << detail;
}

TEST(Failure, ADeadlineThatPassesIsATimeout) {
    HubFixture hub;
    Peer peer;
    hub.register_type("forgetful", peer.url(), {{"timeout_seconds", 1}, {"retry_policy", quick_retries(1)}});
    const auto id = hub.enqueue("forgetful");
    const auto end = hub.await_end(id);
    EXPECT_EQ(end["status"], "dead");
    EXPECT_EQ(end["reason"], "timeout");
    ASSERT_EQ(peer.count(), 2U);
    EXPECT_NE(peer.asked()[0].webhook_id(), peer.asked()[1].webhook_id()) << "a passed deadline starts a new attempt";
    EXPECT_EQ(hub.get("/v1/executions/" + id + "/attempts")["attempts"].size(), 2U);
}

}
}
