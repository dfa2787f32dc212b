// What comes to an idle hub is granted by the transaction that inserts it, and keeps every promise that a turn keeps.
#include <gtest/gtest.h>

#include <future>

#include "tests/support/hub.h"
#include "tests/support/sql_proxy.h"

namespace impresario::testing {
namespace {

bool granted_as_inserted(const HubFixture& hub, const std::string& id) {
    return hub.database.value("select count(*) = 2 and count(distinct xid) = 1 from events where stream_id = '" + id +
                              "' and type in ('execution.queued', 'execution.dispatched')") == "t";
}

/// Enqueues until one has found the hub idle.
std::string arrived_alone(const HubFixture& hub, const std::string& type) {
    std::string id;
    EXPECT_TRUE(eventually([&] {
        id = hub.enqueue(type);
        hub.await(id, [](const Json& e) { return e["status"] != "queued"; });
        return granted_as_inserted(hub, id);
    }));
    return id;
}

TEST(Arrival, AnIdleHubGrantsWhatItInserts) {
    HubFixture hub;
    Peer peer;
    hub.register_type("work", peer.url());
    const auto id = arrived_alone(hub, "work");
    ASSERT_TRUE(hub.await(id, [](const Json& e) { return e["status"] == "running"; }));
    const auto asked = peer.asked().back();
    EXPECT_EQ(asked.execution_id(), id);
    EXPECT_EQ(Peer::call_back(asked, {{"status", "completed"}}).status, 200);
    EXPECT_EQ(hub.await_end(id)["status"], "completed");
    EXPECT_EQ(hub.event_types(id), (std::vector<std::string>{"execution.queued", "execution.dispatched",
                                                             "execution.accepted", "execution.completed"}));
    EXPECT_EQ(hub.database.value("select deliveries from attempts where execution_id = '" + id + "'"), "1");
}

TEST(Arrival, WithAnIdempotencyKeyItComesOnce) {
    HubFixture hub;
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("work", peer.url());
    arrived_alone(hub, "work");
    const auto before = peer.count();
    const Json body{{"workflow_type", "work"}, {"input", {{"n", 1}}}};
    const auto first = hub.api("POST", "/v1/executions", body, {{"idempotency-key", "one"}});
    EXPECT_EQ(first.status, 201);
    const auto id = first.json()["execution_id"].get<std::string>();
    EXPECT_EQ(hub.await_end(id)["status"], "completed");
    const auto again = hub.api("POST", "/v1/executions", body, {{"idempotency-key", "one"}});
    EXPECT_EQ(again.status, 201);
    EXPECT_EQ(again.json()["execution_id"], id);
    // The slot of the one that did not come is free again, and nothing is said to be live.
    EXPECT_EQ(hub.await_end(hub.enqueue("work"))["status"], "completed");
    EXPECT_EQ(peer.count(), before + 2);
    EXPECT_EQ(hub.database.value("select count(*) from executions where timeout_at is not null"), "0");
}

TEST(Arrival, NeverPassesALimit) {
    HubFixture hub;
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("narrow", peer.url(), {{"max_concurrency", 1}});
    hub.await_end(arrived_alone(hub, "narrow"));
    peer.set_script([](const Asked&) { return Behaviour{}; });
    const auto first = hub.enqueue("narrow");
    ASSERT_TRUE(hub.await(first, [](const Json& e) { return e["status"] == "running"; }));
    std::vector<std::string> behind;
    for (int i = 0; i < 20; ++i) behind.push_back(hub.enqueue("narrow"));
    EXPECT_EQ(hub.database.value("select count(*) from executions where timeout_at is not null"), "1");
    const auto best = hub.enqueue("narrow", {{"n", 1}}, {{"priority", 99}});
    EXPECT_EQ(hub.status(best), "queued");
    EXPECT_EQ(Peer::call_back(peer.asked().back(), {{"status", "completed"}}).status, 200);
    ASSERT_TRUE(hub.await(best, [](const Json& e) { return e["status"] == "running"; })) << "the best goes next";
    EXPECT_EQ(hub.status(behind.front()), "queued");
}

TEST(Arrival, WhoDoesNotLeadAnyMoreGrantsNothing) {
    HubFixture hub;
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("work", peer.url());
    // Whether the hub is idle in the moment of the request is not ours to say: a turn or a renewal may be under way,
    // and the newcomer is queued then without asking who leads.
    bool on_its_way = false;
    std::size_t asked = 0;
    std::string id;
    for (int tries = 0; tries < 50 && !on_its_way; ++tries) {
        hub.await_end(arrived_alone(hub, "work"));
        asked = peer.count();
        std::future<std::string> caller;
        hub.database.transact([&](platform::Tx& tx) {
            // Another takes the lead while the newcomer is on its way into the tables.
            tx.run("update scheduler set epoch = epoch + 1, node = null, lease_until = '-infinity'");
            caller = std::async(std::launch::async, [&] { return hub.enqueue("work"); });
            EXPECT_TRUE(eventually([&] {
                on_its_way = hub.database.value(
                                 "select count(*) from pg_stat_activity where datname = current_database() and "
                                 "wait_event_type = 'Lock' and query like '%as lead%'") != "0";
                return on_its_way || caller.wait_for(std::chrono::seconds{0}) == std::future_status::ready;
            }));
        });
        id = caller.get();
        EXPECT_EQ(hub.await_end(id)["status"], "completed") << "it is queued, and goes once somebody leads";
    }
    ASSERT_TRUE(on_its_way) << "the hub was never idle";
    EXPECT_FALSE(granted_as_inserted(hub, id));
    EXPECT_EQ(peer.count(), asked + 1);
    EXPECT_EQ(hub.database.value("select deliveries from attempts where execution_id = '" + id + "'"), "1");
}

TEST(Arrival, OneWhoseCommitIsInDoubtIsSentOnce) {
    HubFixture hub;
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("work", peer.url());
    SqlProxy proxy(hub.database);
    hub.start(proxy.url());
    arrived_alone(hub, "work");
    const auto before = hub.database.value("select count(*) from executions");
    proxy.lose_commit_of("insist_on_lead");
    Reply reply;
    ASSERT_TRUE(eventually([&] {
        reply = hub.api("POST", "/v1/executions", {{"workflow_type", "work"}, {"input", {{"n", 2}}}});
        return proxy.lost() == 1;
    }));
    EXPECT_EQ(reply.status, 503) << "nobody knows whether it is there";
    ASSERT_TRUE(eventually([&] {
        return hub.database.value("select count(*) from executions where status <> 'completed'") == "0";
    })) << "it is there, and was not sent: so it is now";
    EXPECT_NE(hub.database.value("select count(*) from executions"), before);
    EXPECT_EQ(std::to_string(peer.count()), hub.database.value("select count(*) from executions"));
    EXPECT_EQ(hub.database.value("select max(number) from attempts"), "1");
    EXPECT_EQ(hub.await_end(hub.enqueue("work"))["status"], "completed");
}

}
}
