// How long queues may grow, on the running program: who is turned away, what is shed, what waits too long.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

/// A type of which nothing starts, with these bounds.
void stopped(const HubFixture& hub, const Peer& peer, const std::string& name, Json bounds) {
    bounds["enabled"] = false;
    hub.register_type(name, peer.url(), bounds);
}

std::string count(const HubFixture& hub, const std::string& where) {
    return hub.database.value("select count(*) from executions where " + where);
}

Json ended_by(const HubFixture& hub, const std::string& id) {
    const auto events = hub.get("/v1/executions/" + id + "/events");
    for (const auto& event : events["events"])
        if (event["type"] == "execution.cancelled") return event["payload"];
    return nullptr;
}

TEST(Queue, WhatTheDatabaseRefusesOfItsLengthIsSaidAndTriedAgain) {
    Peer peer;
    HubFixture hub;
    hub.database.run("alter table queue_lengths add constraint spoilt check (waiting < 0) not valid");
    stopped(hub, peer, "bounded", {{"queue_soft_limit", 3}});
    hub.enqueue("bounded");
    EXPECT_TRUE(eventually(
        [&] { return hub.hub->log().find("what others read could not be written down") != std::string::npos; }));
    hub.database.run("alter table queue_lengths drop constraint spoilt");
    EXPECT_TRUE(eventually([&] {
        return hub.database.value("select waiting from queue_lengths where workflow_type = 'bounded'") == "1";
    }));
}

TEST(Queue, AtItsSoftBoundItTurnsAwayAndSaysWhenThereIsRoom) {
    Peer peer;
    HubFixture hub;
    stopped(hub, peer, "bounded", {{"queue_soft_limit", 3}});
    stopped(hub, peer, "other", Json::object());
    const auto enqueue = [&](const Json& body) { return hub.api("POST", "/v1/executions", body); };
    for (int i = 0; i < 3; ++i) EXPECT_EQ(enqueue({{"workflow_type", "bounded"}}).status, 201);
    // A hub that has just started does not know yet how much waits.
    ASSERT_TRUE(eventually([&] {
        return hub.database.value("select waiting from queue_lengths where workflow_type = 'bounded'") == "3";
    }));
    const auto full = enqueue({{"workflow_type", "bounded"}});
    EXPECT_EQ(full.status, 429) << full.body;
    EXPECT_EQ(full.json()["type"], "/problems/queue-full");
    EXPECT_EQ(full.json()["waiting"], 3);
    EXPECT_EQ(full.json()["limit"], 3);
    EXPECT_EQ(full.json()["room_at"], nullptr) << "nothing leaves it";
    EXPECT_EQ(full.headers.at("retry-after"), "30");
    EXPECT_EQ(enqueue({{"workflow_type", "other"}}).status, 201);
    EXPECT_EQ(enqueue({{"workflow_type", "bounded"}, {"scheduled_at", "2099-01-01T00:00:00Z"}}).status, 201)
        << "what is for later does not wait yet";

    // All or nothing.
    const auto batch = [&](int bounded) {
        Json executions = {{{"workflow_type", "other"}}};
        for (int i = 0; i < bounded; ++i) executions.push_back({{"workflow_type", "bounded"}});
        return hub.api("POST", "/v1/executions/batch", {{"executions", executions}});
    };
    EXPECT_EQ(batch(1).status, 429);
    EXPECT_EQ(batch(4).status, 422) << "never fits";
    EXPECT_EQ(count(hub, "workflow_type = 'other'"), "1");

    // SQL cannot be turned away.
    hub.database.run("select enqueue_workflow_task('bounded', 50, null)");
    hub.register_type("bounded", peer.url(), {{"queue_soft_limit", 3}});
    ASSERT_TRUE(peer.wait_for(4));
    EXPECT_EQ(enqueue({{"workflow_type", "bounded"}}).status, 201) << "room again";
    // As fast as it has gone just now, there is room soon.
    ASSERT_TRUE(peer.wait_for(5));
    stopped(hub, peer, "bounded", {{"queue_soft_limit", 1}});
    EXPECT_EQ(enqueue({{"workflow_type", "bounded"}}).status, 201);
    const auto later = enqueue({{"workflow_type", "bounded"}});
    EXPECT_EQ(later.status, 429);
    EXPECT_TRUE(later.json()["room_at"].is_string());
    const int wait = std::atoi(later.headers.at("retry-after").c_str());
    EXPECT_GE(wait, 1);
    EXPECT_LE(wait, 12) << "five left it within the last minute";
}

TEST(Queue, BeyondItsHardBoundTheLowestScoreIsShedWithAReceipt) {
    Peer peer;
    HubFixture hub;
    stopped(hub, peer, "bounded", {{"queue_hard_limit", 3}, {"max_concurrency", 1}});
    const auto low = hub.enqueue("bounded", {{"n", "low"}}, {{"priority", 20}});
    const auto high = hub.enqueue("bounded", {{"n", "high"}}, {{"priority", 90}});
    const auto older = hub.enqueue("bounded", {{"n", "older"}}, {{"priority", 50}});
    const auto younger = hub.enqueue("bounded", {{"n", "younger"}}, {{"priority", 50}});
    const auto shed = hub.await_end(low);
    EXPECT_EQ(shed["status"], "cancelled");
    EXPECT_EQ(shed["reason"], "shed");
    const auto receipt = ended_by(hub, low);
    EXPECT_EQ(receipt["by"], "hub");
    EXPECT_EQ(receipt["reason"], "shed");
    EXPECT_EQ(receipt["waiting"], 4);
    EXPECT_EQ(receipt["limit"], 3);
    EXPECT_EQ(receipt["score"], 200);
    EXPECT_EQ(receipt["restore"], "impresario replay " + low);
    // SQL's count as well, and of equals the youngest goes.
    const auto by_sql = hub.database.value("select enqueue_workflow_task('bounded', 70, null)");
    EXPECT_EQ(hub.await_end(younger)["reason"], "shed");
    for (const auto& id : {high, older, by_sql}) EXPECT_EQ(hub.status(id), "queued");

    // As the receipt says, once there is room.
    hub.register_type("bounded", peer.url(), {{"queue_hard_limit", 3}, {"max_concurrency", 1}});
    ASSERT_TRUE(peer.wait_for(1));
    EXPECT_EQ(peer.asked()[0].execution_id(), high);
    const auto again = hub.api("POST", "/v1/executions/" + low + "/replay");
    ASSERT_EQ(again.status, 201) << again.body;
    const auto id = again.json()["execution_id"].get<std::string>();
    const auto made = hub.execution(id);
    EXPECT_EQ(made["input"], (Json{{"n", "low"}}));
    EXPECT_EQ(made["priority"], 20);
    EXPECT_EQ(made["parent_execution_id"], low);

    // Never what is under way, though it has the lowest score by now.
    for (int i = 0; i < 3; ++i) hub.enqueue("bounded", nullptr, {{"priority", 95}});
    for (const auto& each : {older, by_sql, id}) EXPECT_EQ(hub.await_end(each)["reason"], "shed");
    EXPECT_TRUE(hub.await(high, [](const Json& e) { return e["status"] == "running"; }));
    EXPECT_EQ(count(hub, "status = 'queued'"), "3");
}

TEST(Queue, TheHubsBoundHoldsOverAllLanes) {
    Peer peer;
    HubFixture hub("[queue]\nsoft_limit = 30\nhard_limit = 40\n");
    stopped(hub, peer, "a", Json::object());
    stopped(hub, peer, "b", Json::object());
    for (int i = 0; i < 15; ++i) {
        hub.enqueue("a", nullptr, {{"priority", 60}});
        hub.enqueue("b", nullptr, {{"priority", i}});
    }
    EXPECT_EQ(hub.api("POST", "/v1/executions", {{"workflow_type", "a"}}).status, 429);
    hub.database.run("select enqueue_workflow_task('a', 50, null) from generate_series(1, 30)");
    ASSERT_TRUE(eventually([&] { return count(hub, "reason = 'shed'") == "20"; }));
    EXPECT_EQ(count(hub, "status = 'queued'"), "40");
    EXPECT_EQ(count(hub, "reason = 'shed' and workflow_type = 'b'"), "15") << "the lowest of all lanes";
}

TEST(Queue, WhoHasWaitedTooLongIsCancelled) {
    Peer peer;
    HubFixture hub("[queue]\nttl_seconds = 600\n");
    stopped(hub, peer, "fresh", {{"queue_ttl_seconds", 1}});
    stopped(hub, peer, "patient", Json::object());
    const auto patient = hub.enqueue("patient");
    const auto stale = hub.enqueue("fresh");
    const auto later =
        hub.api("POST", "/v1/executions",
                {{"workflow_type", "fresh"},
                 {"scheduled_at", hub.database.value("select to_char(now() at time zone 'UTC' + interval "
                                                     "'3 seconds', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')")}})
            .json()["execution_id"]
            .get<std::string>();
    EXPECT_EQ(hub.await_end(stale)["reason"], "expired");
    EXPECT_EQ(ended_by(hub, stale)["queue_ttl_seconds"], 1);
    EXPECT_EQ(ended_by(hub, stale)["restore"], "impresario replay " + stale);
    EXPECT_EQ(hub.status(later), "queued") << "counted from when it became due";
    EXPECT_EQ(hub.await_end(later)["reason"], "expired");
    EXPECT_EQ(hub.status(patient), "queued");
    hub.database.run("update executions set ready_at = now() - interval '601 seconds' where execution_id = '" +
                     patient + "'");
    hub.hub->kill();
    hub.start();
    EXPECT_EQ(hub.await_end(patient)["reason"], "expired") << "as the hub says for all";
}

TEST(Queue, TwoNodesTakeNoMoreThanALittleBeyondTheSoftBound) {
    Peer peer;
    HubFixture hub;
    stopped(hub, peer, "bounded", {{"queue_soft_limit", 100}, {"queue_hard_limit", 150}});
    HubProcess second(hub.database, hub.key_file(), hub.config());
    const std::vector<std::pair<std::string, std::string>> headers{{"authorization", "Bearer " + hub.key}};
    const int ports[] = {hub.hub->port(), second.port()};
    std::atomic<int> taken{0};
    std::atomic<int> turned_away{0};
    std::vector<std::thread> clients;
    for (int c = 0; c < 8; ++c)
        clients.emplace_back([&, port = ports[c % 2]] {
            for (int i = 0; i < 40; ++i) {
                const auto reply = request(port, "POST", "/v1/executions", headers, R"({"workflow_type": "bounded"})");
                (reply.status == 201 ? taken : turned_away) += 1;
            }
        });
    for (auto& each : clients) each.join();
    std::printf("%d of 320 were taken by two nodes against a soft bound of 100\n", taken.load());
    EXPECT_GE(taken, 100);
    EXPECT_EQ(taken + turned_away, 320);
    // Each node knows what it has taken itself and, a second or two late, what the other has.
    EXPECT_LE(taken, 250);
    ASSERT_TRUE(eventually([&] { return std::stoi(count(hub, "status = 'queued'")) <= 150; }));
    EXPECT_EQ(std::stoi(count(hub, "reason = 'shed'")), std::max(0, taken - 150));
    EXPECT_TRUE(eventually([&] {
        return request(second.port(), "POST", "/v1/executions", headers, R"({"workflow_type": "bounded"})").status ==
               429;
    }));
}

TEST(Queue, BoundsThatMakeNoSenseAreRefusedByName) {
    Peer peer;
    HubFixture hub;
    for (const auto* name : {"queue_soft_limit", "queue_hard_limit", "queue_ttl_seconds"})
        for (const Json& bad : {Json(0), Json(-1), Json("x"), Json(1e300)}) {
            const auto refused = hub.api("PUT", "/v1/workflow-types/bad", {{"endpoints", {peer.url()}}, {name, bad}});
            EXPECT_EQ(refused.status, 422) << name << " " << bad;
            EXPECT_EQ(refused.json()["errors"][0]["pointer"], std::string("/") + name) << bad;
        }
    EXPECT_EQ(hub.api("PUT", "/v1/workflow-types/bad",
                      {{"endpoints", {peer.url()}}, {"queue_soft_limit", 2}, {"queue_hard_limit", 1}})
                  .status,
              422);
}

}
}
