// R13, R14, R20: what others write reaches the scheduler whatever the order of commits, and every change has its
// number.
#include <gtest/gtest.h>

#include <thread>

#include "tests/protocol/nodes.h"
#include "tests/support/prompt.h"

namespace impresario::testing {
namespace {

TEST(R13, WhatCommitsLateAndWithoutAWakeupIsFound) {
    HubFixture hub;
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("work", peer.url());
    Prompt late(hub.database);
    // The functions' wake-up goes nowhere, as one does that is sent while nobody listens.
    late.run("create schema deaf");
    late.run("create function deaf.pg_notify(text, text) returns void language sql as 'select'");
    late.run("set search_path = deaf, public, pg_catalog");
    late.run("begin");
    late.run("select enqueue_workflow_task('work', 50, '{\"late\": true}')");
    // Others begin later and commit earlier: the feed goes on beyond it, more than once.
    for (int i = 0; i < 3; ++i) {
        const auto id = hub.database.value("select enqueue_workflow_task('work', 50, '{}')");
        ASSERT_EQ(hub.await_end(id)["status"], "completed");
    }
    EXPECT_EQ(peer.count(), 3U);
    late.run("commit");
    ASSERT_TRUE(peer.wait_for(4, 10)) << "by the next reading of the feed, long before the safety tick";
    EXPECT_EQ(peer.asked()[3].json["input_data"]["late"], true);
    EXPECT_TRUE(eventually(
        [&] { return hub.database.value("select count(*) from executions where status = 'completed'") == "4"; }));
    EXPECT_EQ(peer.count(), 4U);
}

TEST(R14, WhatCommitsLateTakesItsPlaceByWhenItWasMade) {
    HubFixture hub;
    Peer peer;
    hub.register_type("narrow", peer.url(), {{"max_concurrency", 1}});
    hub.api("POST", "/v1/pause", {{"reason", "until all is there"}});
    Prompt late(hub.database);
    late.run("begin");
    late.run("select enqueue_workflow_task('narrow', 50, '{\"n\": 0}')");
    const auto newer = hub.enqueue("narrow", {{"n", 1}});
    ASSERT_TRUE(hub.await(newer, [](const Json& e) { return e["waiting_for"].is_object(); }));
    late.run("commit");
    ASSERT_TRUE(eventually([&] { return hub.get("/v1/queue?limit=5")["next"].size() == 2; }));
    hub.api("POST", "/v1/resume", Json::object());
    for (std::size_t i = 0; i < 2; ++i) {
        ASSERT_TRUE(peer.wait_for(i + 1));
        const auto asked = peer.asked()[i];
        EXPECT_EQ(asked.json["input_data"]["n"], i) << "the older one first, though it came last";
        EXPECT_EQ(Peer::call_back(asked, {{"status", "completed"}}).status, 200);
    }
}

TEST(R20, NumbersHaveNoGapsWhoeverWrites) {
    HubFixture hub;
    Peer peer;
    hub.register_type("work", peer.url());
    hub.api("POST", "/v1/pause", {{"reason", "they stay where they are"}});
    const auto id = hub.enqueue("work");
    constexpr int kTimes = 25;
    std::thread sql([&] {
        for (int i = 0; i < kTimes; ++i)
            hub.database.run("select update_execution_status('" + id + "', 'no such status')");
    });
    std::thread rolled_back([&] {
        for (int i = 0; i < kTimes; ++i) {
            Prompt prompt(hub.database);
            prompt.run("begin");
            prompt.run("select update_execution_status('" + id + "', 'no such status')");
            prompt.run("rollback");
        }
    });
    int moved = 0;
    for (int i = 0; i < kTimes; ++i)
        moved += hub.api("PATCH", "/v1/executions/" + id, {{"priority", i}}).status == 200 ? 1 : 0;
    sql.join();
    rolled_back.join();
    EXPECT_EQ(
        hub.database.value("select count(*) from events where stream_id = '" + id + "' and type = 'execution.refused'"),
        std::to_string(kTimes));
    EXPECT_EQ(
        hub.database.value("select count(*) from events where stream_id = '" + id + "' and type = 'execution.updated'"),
        std::to_string(moved));
    EXPECT_EQ(hub.database.value("select min(seq) = 1 and max(seq) = count(*) and max(seq) = (select last_seq from "
                                 "executions where execution_id = '" +
                                 id + "') from events where stream_id = '" + id + "'"),
              "t");
}

}
}
