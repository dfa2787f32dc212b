// R1–R3: one node leads, and only who leads writes as the one who does.
#include <gtest/gtest.h>
#include <signal.h>

#include <set>

#include "tests/protocol/nodes.h"
#include "tests/support/prompt.h"

namespace impresario::testing {
namespace {

/// The scheduler's decisions that a node wrote: what it begins itself of another's grants says `sending`.
std::string granted_by(const TestDatabase& database, const std::string& node) {
    return database.value(
        "select count(*) from events where type = 'execution.dispatched' and payload ->> 'sending' is null "
        "and writer = '" +
        node + "'");
}

TEST(R01, OfThreeNodesOneLeadsAndAllDeliverAndAnswer) {
    HubFixture hub;
    Peer peer([](const Asked&) { return Behaviour{202, "{}", {}, "", false, false, std::chrono::milliseconds{20}}; });
    hub.register_type("work", peer.url());
    HubProcess second(hub.database, hub.key_file(), hub.config());
    HubProcess third(hub.database, hub.key_file(), hub.config());
    const std::vector<const HubProcess*> nodes{hub.hub.get(), &second, &third};
    std::size_t answered = 0;
    ASSERT_TRUE(eventually(
        [&] {
            for (std::size_t i = 0; i < 6; ++i)
                EXPECT_EQ(ask(*nodes[i % 3], hub.key, "POST", "/v1/executions", {{"workflow_type", "work"}}).status,
                          201);
            if (!peer.wait_for(answered + 6)) return true;
            for (const auto all = peer.asked(); answered < all.size(); ++answered)
                EXPECT_EQ(call_back(*nodes[answered % 3], all[answered], {{"status", "completed"}}).status, 200);
            return hub.database.value("select count(distinct node) from attempts") == "3";
        },
        40));
    EXPECT_EQ(hub.database.value("select count(*) from executions where status <> 'completed'"), "0");
    EXPECT_EQ(std::to_string(peer.count()), hub.database.value("select count(*) from executions"));
    const auto leading = leader(hub.database);
    int lead = 0;
    for (const auto* node : nodes) {
        const auto page = ask(*node, hub.key, "GET", "/v1/nodes").json();
        ASSERT_EQ(page["nodes"].size(), 3U);
        for (const auto& each : page["nodes"]) EXPECT_EQ(each["scheduler"] == true, each["node"] == leading);
        lead += request(node->port(), "GET", "/metrics").body.find("\nimpresario_scheduler 1") != std::string::npos;
    }
    EXPECT_EQ(lead, 1);
    EXPECT_EQ(hub.database.value("select epoch from scheduler"), "1") << "nobody took it from anybody";
}

TEST(R01, AKilledSchedulerIsReplacedWithinTwoLeasesAndNothingRunsTwice) {
    HubFixture hub("[hub]\nlease_seconds = 6\nheartbeat_ms = 1000\n");
    Peer peer;
    hub.register_type("work", peer.url(), {{"max_concurrency", 10}});
    HubProcess second(hub.database, hub.key_file(), hub.config());
    for (int i = 0; i < 20; ++i) hub.enqueue("work");
    ASSERT_TRUE(eventually(
        [&] { return hub.database.value("select count(*) from executions where status = 'running'") == "10"; }));
    ASSERT_EQ(leader(hub.database), node_of(hub.database, *hub.hub));
    const auto heir = node_of(hub.database, second);
    hub.hub->kill();
    ASSERT_TRUE(eventually([&] { return leader(hub.database) == heir; }, 2 * 6.0)) << second.log();
    for (std::size_t i = 0; i < 20; ++i) {
        ASSERT_TRUE(peer.wait_for(i + 1)) << "what waits goes on as slots are given back";
        EXPECT_EQ(call_back(second, peer.asked()[i], {{"status", "completed"}}).status, 200);
    }
    EXPECT_EQ(hub.database.value("select count(*) from executions where status = 'completed'"), "20");
    std::set<std::string> webhooks;
    for (const auto& asked : peer.asked()) webhooks.insert(asked.webhook_id());
    EXPECT_EQ(peer.count(), 20U);
    EXPECT_EQ(webhooks.size(), 20U);
    EXPECT_EQ(hub.database.value("select count(*) from events where type = 'execution.completed'"), "20");
    EXPECT_EQ(hub.database.value("select epoch from scheduler"), "2") << second.log();
}

/// Stopped in the middle of a turn: its transaction has locked the scheduler's row and what it is about to grant.
TEST(R02, ASchedulerThatSleptThroughItsLeaseWritesNothing) {
    HubFixture hub("[hub]\nlease_seconds = 4\nheartbeat_ms = 1000\n");
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("work", peer.url());
    hub.register_type("more", peer.url());
    HubProcess second(hub.database, hub.key_file(), hub.config());
    const auto sleeper = node_of(hub.database, *hub.hub);
    const auto heir = node_of(hub.database, second);
    ASSERT_EQ(leader(hub.database), sleeper);
    hub.api("POST", "/v1/pause", {{"reason", "until all is there"}});
    for (int i = 0; i < 5; ++i) hub.enqueue("work");
    Prompt prompt(hub.database);
    prompt.run("begin");
    prompt.run("lock table execution_inputs in access exclusive mode");
    hub.api("POST", "/v1/resume", Json::object());
    ASSERT_TRUE(waits_in(hub.database, "picked as materialized"));
    hub.hub->signal(SIGSTOP);
    prompt.run("commit");
    // Nobody may lead before that transaction is over: the server ends it after five seconds of silence (R4).
    ASSERT_TRUE(eventually([&] { return leader(hub.database) == heir; }, 40)) << second.log();
    ASSERT_TRUE(eventually(
        [&] { return hub.database.value("select count(*) from executions where status = 'completed'") == "5"; }, 40));
    EXPECT_EQ(granted_by(hub.database, sleeper), "0") << "what it was about to write was rolled back";
    const auto epoch = hub.database.value("select epoch from scheduler");
    hub.hub->signal(SIGCONT);
    ASSERT_TRUE(eventually([&] { return hub.hub->log().find("no longer scheduler") != std::string::npos; }));
    EXPECT_TRUE(nodes_work(hub, *hub.hub, "more", 2)) << "it goes on as a node like any other";
    EXPECT_EQ(granted_by(hub.database, sleeper), "0");
    EXPECT_EQ(leader(hub.database), heir);
    EXPECT_EQ(hub.database.value("select epoch from scheduler"), epoch);
    EXPECT_EQ(std::to_string(peer.count()), hub.database.value("select count(*) from executions"))
        << "nothing ran twice";
}

TEST(R02, ASchedulerThatSleptBetweenItsTurnsStepsDown) {
    HubFixture hub("[hub]\nlease_seconds = 4\nheartbeat_ms = 1000\n");
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("work", peer.url(), {{"max_concurrency", 1}});
    HubProcess second(hub.database, hub.key_file(), hub.config());
    const auto sleeper = node_of(hub.database, *hub.hub);
    const auto heir = node_of(hub.database, second);
    hub.api("POST", "/v1/pause", {{"reason", "until it sleeps"}});
    // It has them in memory as what it would start next.
    for (int i = 0; i < 5; ++i) hub.enqueue("work");
    ASSERT_TRUE(eventually([&] { return hub.get("/v1/queue?limit=9")["next"].size() == 5; }));
    ASSERT_EQ(leader(hub.database), sleeper);
    hub.hub->signal(SIGSTOP);
    EXPECT_EQ(ask(second, hub.key, "POST", "/v1/resume", Json::object()).status, 200);
    ASSERT_TRUE(eventually(
        [&] { return hub.database.value("select count(*) from executions where status = 'completed'") == "5"; }, 40));
    EXPECT_EQ(leader(hub.database), heir);
    const auto epoch = hub.database.value("select epoch from scheduler");
    hub.hub->signal(SIGCONT);
    ASSERT_TRUE(eventually([&] { return hub.hub->log().find("no longer scheduler") != std::string::npos; }));
    hub.register_type("more", peer.url());
    EXPECT_TRUE(nodes_work(hub, *hub.hub, "more", 2)) << "it goes on as a node like any other";
    EXPECT_EQ(granted_by(hub.database, sleeper), "0");
    EXPECT_EQ(leader(hub.database), heir);
    EXPECT_EQ(hub.database.value("select epoch from scheduler"), epoch);
    EXPECT_EQ(std::to_string(peer.count()), hub.database.value("select count(*) from executions"));
}

/// It waits for the fence while another takes over: looking first and writing later would have been too early a look.
TEST(R02, WhoWaitsForTheFenceFindsThatAnotherLeads) {
    HubFixture hub;
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("work", peer.url());
    HubProcess second(hub.database, hub.key_file(), hub.config());
    const auto first = node_of(hub.database, *hub.hub);
    const auto heir = node_of(hub.database, second);
    ASSERT_EQ(leader(hub.database), first);
    hub.api("POST", "/v1/pause", {{"reason", "until all is there"}});
    for (int i = 0; i < 5; ++i) hub.enqueue("work");
    Prompt prompt(hub.database);
    prompt.run("begin");
    prompt.run("select from scheduler for update");
    hub.api("POST", "/v1/resume", Json::object());
    ASSERT_TRUE(waits_in(hub.database, "from scheduler where epoch"));
    prompt.run("update scheduler set epoch = epoch + 1, node = '" + heir +
               "', lease_until = clock_timestamp() + interval '15 seconds', renewed_at = clock_timestamp(), "
               "backend_pid = (select backend_pid from nodes where node = '" +
               heir + "')");
    prompt.run("commit");
    ASSERT_TRUE(eventually(
        [&] { return hub.database.value("select count(*) from executions where status = 'completed'") == "5"; }));
    EXPECT_EQ(granted_by(hub.database, first), "0");
    EXPECT_EQ(granted_by(hub.database, heir), "5");
    EXPECT_EQ(peer.count(), 5U);
    EXPECT_NE(request(hub.hub->port(), "GET", "/metrics").body.find("impresario_scheduler_fenced_total 1"),
              std::string::npos);
    EXPECT_EQ(leader(hub.database), heir);
}

}
}
