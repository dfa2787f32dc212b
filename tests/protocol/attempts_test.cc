// R5–R7: who sends an attempt, and what is sent again.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "tests/protocol/nodes.h"

namespace impresario::testing {
namespace {

TEST(R05, ASilentNodeLosesItsGrantAndIsGivenNoOtherUntilItShowsItself) {
    // Its lease lasts much longer than anybody may wait for its grant.
    HubFixture hub("[hub]\nlease_seconds = 60\nheartbeat_ms = 1000\n[webhooks]\nwhole_deadline_ms = 60000\n");
    std::atomic<bool> answer{false};
    Peer slow([&](const Asked&) {
        eventually([&] { return answer.load(); }, 60);
        return done();
    });
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("slow", slow.url());
    hub.register_type("quick", peer.url());
    // With requests under way at the scheduler, the other is the one to be given the next.
    for (int i = 0; i < 3; ++i) hub.enqueue("slow");
    ASSERT_TRUE(slow.wait_for(3));
    HubProcess second(hub.database, hub.key_file(), hub.config());
    const auto silent = node_of(hub.database, second);
    ASSERT_TRUE(nodes_work(hub, *hub.hub, "quick", 1));
    ASSERT_TRUE(eventually([&] {
        hub.await_end(hub.enqueue("quick"));
        return hub.database.value("select count(*) from attempts where node = '" + silent + "'") != "0";
    }));
    second.signal(SIGSTOP);
    const auto before = peer.count();
    const auto id = hub.enqueue("quick");
    const auto end = hub.await_end(id, 40);
    EXPECT_EQ(end["status"], "completed");
    EXPECT_EQ(hub.database.value("select lease_until > clock_timestamp() from nodes where node = '" + silent + "'"),
              "t")
        << "nobody had to wait for its lease to end";
    EXPECT_EQ(hub.database.value("select count(*) from events where stream_id = '" + id +
                                 "' and type = 'execution.dispatched' and payload ->> 'node' = '" + silent + "'"),
              "1")
        << "given to it once, and not again while it is silent";
    EXPECT_EQ(hub.database.value("select count(*) from events where stream_id = '" + id +
                                 "' and type = 'execution.deferred' and payload ->> 'gate' = 'node'"),
              "1");
    // Nor anything else.
    for (int i = 0; i < 3; ++i) EXPECT_EQ(hub.await_end(hub.enqueue("quick"), 40)["status"], "completed");
    EXPECT_EQ(hub.database.value("select count(*) from events where type = 'execution.deferred'"), "1");
    EXPECT_EQ(peer.count(), before + 4);
    const auto had = hub.database.value("select count(*) from attempts where node = '" + silent + "'");
    second.signal(SIGCONT);
    EXPECT_TRUE(eventually([&] {
        hub.await_end(hub.enqueue("quick"));
        return hub.database.value("select count(*) from attempts where node = '" + silent + "'") != had;
    })) << "it has shown itself, and has its share again";
    EXPECT_EQ(std::to_string(peer.count()),
              hub.database.value("select count(*) from executions where workflow_type = 'quick'"))
        << "nothing was sent twice";
    answer = true;
}

TEST(R06, WhatWaitsForItsNextDeliveryHoldsNoSlotAndStaysTheSameAttempt) {
    HubFixture hub;
    std::atomic<int> refusals{1};
    Peer peer([&](const Asked&) { return refusals-- > 0 ? Behaviour{500, "no"} : done(); });
    hub.register_type("narrow", peer.url(), {{"max_concurrency", 1}, {"retry_policy", quick_retries(1, 4)}});
    const auto first = hub.enqueue("narrow");
    ASSERT_TRUE(hub.await(first, [](const Json& e) { return e["status"] == "retrying"; }));
    const auto second = hub.enqueue("narrow");
    EXPECT_EQ(hub.await_end(second)["status"], "completed");
    const auto end = hub.await_end(first);
    EXPECT_EQ(end["status"], "completed");
    EXPECT_GT(end["completed_at"], hub.execution(second)["completed_at"]) << "which went by while it waited";
    const auto asked = peer.asked();
    ASSERT_EQ(asked.size(), 3U);
    EXPECT_EQ(asked[2].webhook_id(), asked[0].webhook_id());
    EXPECT_EQ(asked[2].token(), asked[0].token());
    EXPECT_EQ(hub.database.value("select deliveries from attempts where execution_id = '" + first + "'"), "2");
}

TEST(R07, AProxysErrorMayHideAPeerThatHasBegun) {
    HubFixture hub;
    Peer peer([](const Asked&) { return Behaviour{504, "gateway timeout"}; });
    hub.register_type("behind", peer.url(), {{"retry_policy", quick_retries(3)}});
    const auto id = hub.enqueue("behind");
    ASSERT_TRUE(
        hub.await(id, [](const Json& e) { return e["attempt"].is_object() && e["attempt"]["state"] == "unknown"; }));
    EXPECT_EQ(hub.status(id), "running");
    // Other work goes through whole turns, and nothing is sent a second time.
    Peer good([](const Asked&) { return done(); });
    hub.register_type("other", good.url());
    for (int i = 0; i < 3; ++i) EXPECT_EQ(hub.await_end(hub.enqueue("other"))["status"], "completed");
    EXPECT_EQ(peer.count(), 1U);
    EXPECT_EQ(Peer::call_back(peer.asked()[0], {{"status", "completed"}}).status, 200);
    EXPECT_EQ(hub.status(id), "completed");
}

}
}
