// What goes wrong between the hub and its database: rows that somebody holds, commits in doubt, sessions that end,
// outages. Nothing is lost, nothing runs twice, and whatever is not concerned goes on.
#include <gtest/gtest.h>

#include "tests/support/hub.h"
#include "tests/support/prompt.h"
#include "tests/support/sql_proxy.h"

namespace impresario::testing {
namespace {

/// Of the scheduler: a hub is ready before one leads.
std::string epoch_of(const HubFixture& hub) {
    std::string epoch;
    EXPECT_TRUE(eventually([&] { return (epoch = hub.database.value("select epoch from scheduler")) != "0"; }));
    return epoch;
}

using std::chrono::milliseconds;

/// Whether the hub has run whole turns since: what is enqueued now ends.
bool turns(const HubFixture& hub) { return hub.await_end(hub.enqueue("other"), 10)["status"] == "completed"; }

bool seen(const HubFixture& hub, const std::string& id, const std::string& event) {
    const auto types = hub.event_types(id);
    return std::find(types.begin(), types.end(), event) != types.end();
}

/// Runs work until both nodes have had some: the scheduler reads once a second who is there.
bool both_nodes_work(const HubFixture& hub) {
    return eventually([&] {
        std::vector<std::string> ids;
        for (int i = 0; i < 4; ++i) ids.push_back(hub.enqueue("other"));
        for (const auto& id : ids) hub.await_end(id, 20);
        return hub.database.value("select count(distinct node) from attempts") == "2";
    });
}

TEST(DatabaseTrouble, ARowThatSomebodyHoldsHoldsUpNobodyElse) {
    HubFixture hub;
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("narrow", peer.url(), {{"max_concurrency", 1}});
    hub.register_type("other", peer.url());
    // The first has the lane's only slot until the others are there.
    peer.set_script([](const Asked&) { return Behaviour{}; });
    const auto first = hub.enqueue("narrow");
    ASSERT_TRUE(hub.await(first, [](const Json& e) { return e["status"] == "running"; }));
    peer.set_script([](const Asked&) { return done(); });
    const auto held = hub.enqueue("narrow", {{"n", 1}}, {{"priority", 90}});
    std::vector<std::string> behind;
    for (int i = 0; i < 5; ++i) behind.push_back(hub.enqueue("narrow", {{"n", i}}, {{"priority", 10}}));
    Prompt prompt(hub.database);
    prompt.run("begin");
    prompt.run("select from executions where execution_id = '" + held + "' for update");
    prompt.run("select from workflow_types where name = 'narrow' for update");
    const auto epoch = epoch_of(hub);
    EXPECT_EQ(Peer::call_back(peer.asked()[0], {{"status", "completed"}}).status, 200);
    for (const auto& id : behind)
        EXPECT_EQ(hub.await_end(id, 5)["status"], "completed") << "also in the lane whose best is held";
    EXPECT_TRUE(turns(hub));
    EXPECT_EQ(hub.status(held), "queued");
    const auto cancelling = hub.api("POST", "/v1/executions/" + held + "/cancel", Json::object());
    EXPECT_EQ(cancelling.status, 503) << "who asks about it is told";
    EXPECT_NE(cancelling.json()["detail"].get<std::string>().find("another transaction holds"), std::string::npos);
    EXPECT_EQ(hub.database.value("select epoch from scheduler"), epoch) << "nobody stepped down for it";
    prompt.run("commit");
    EXPECT_EQ(hub.await_end(held, 5)["status"], "completed");
    EXPECT_EQ(peer.count(), 8U) << "nothing runs twice";
}

TEST(DatabaseTrouble, WhatIsHeldWhileItIsDueIsDecidedOnceItIsFree) {
    HubFixture hub;
    Peer peer;
    hub.register_type("late", peer.url(), {{"timeout_seconds", 1}, {"retry_policy", quick_retries(0)}});
    Peer good([](const Asked&) { return done(); });
    hub.register_type("other", good.url());
    const auto late = hub.enqueue("late");
    ASSERT_TRUE(peer.wait_for(1));
    // Its acceptance is recorded a moment after it was answered, and nothing is once the row is held.
    ASSERT_TRUE(hub.await(late, [](const Json& e) { return e["status"] == "running"; }));
    const auto planned = hub.enqueue(
        "other", {{"n", 2}},
        {{"scheduled_at",
          hub.database.value("select to_char(now() + interval '1 second', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')")}});
    Prompt prompt(hub.database);
    prompt.run("begin");
    prompt.run("select from executions for update");
    ASSERT_TRUE(eventually([&] {
        return hub.database.value("select bool_and(coalesce(due_at, timeout_at) < now()) from executions") == "t";
    }));
    EXPECT_TRUE(turns(hub));
    EXPECT_EQ(hub.status(late), "running");
    EXPECT_EQ(hub.status(planned), "queued");
    prompt.run("commit");
    EXPECT_EQ(hub.await_end(late, 5)["status"], "dead");
    EXPECT_EQ(hub.await_end(planned, 5)["status"], "completed");
}

TEST(DatabaseTrouble, ARowThatCannotBeWrittenStopsNothingElse) {
    HubFixture hub;
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("other", peer.url());
    hub.api("POST", "/v1/pause", {{"reason", "until all is there"}});
    const auto faulty = hub.enqueue("other", {{"n", 1}}, {{"priority", 90}});
    std::vector<std::string> behind;
    for (int i = 0; i < 5; ++i) behind.push_back(hub.enqueue("other", {{"n", i}}));
    hub.database.run("alter table executions add constraint planted check (status = 'queued' or execution_id <> '" +
                     faulty + "')");
    const auto epoch = epoch_of(hub);
    hub.api("POST", "/v1/resume", Json::object());
    for (const auto& id : behind) EXPECT_EQ(hub.await_end(id, 5)["status"], "completed");
    EXPECT_EQ(hub.status(faulty), "queued");
    EXPECT_EQ(hub.database.value("select epoch from scheduler"), epoch);
    EXPECT_NE(hub.hub->log().find("cannot be written"), std::string::npos) << "it is named in the log";
}

TEST(DatabaseTrouble, WhoCannotReadTheTablesDoesNotLead) {
    HubFixture hub;
    Peer peer;
    hub.register_type("narrow", peer.url(), {{"max_concurrency", 1}});
    const auto first = hub.enqueue("narrow");
    ASSERT_TRUE(hub.await(first, [](const Json& e) { return e["status"] == "running"; }));
    const auto second = hub.enqueue("narrow");
    const auto epoch = epoch_of(hub);
    Prompt prompt(hub.database);
    prompt.run("begin");
    prompt.run("lock table executions in access exclusive mode");
    // Everything begins anew, while the table cannot be read for longer than anybody waits.
    hub.database.run("update scheduler set epoch = epoch + 1, node = null, lease_until = '-infinity'");
    ASSERT_TRUE(eventually([&] {
        return std::stoi(hub.database.value("select epoch from scheduler")) >= std::stoi(epoch) + 3;
    })) << "it tried to load, could not, and tried again";
    prompt.run("commit");
    Peer good([](const Asked&) { return done(); });
    hub.register_type("other", good.url());
    EXPECT_TRUE(turns(hub));
    EXPECT_EQ(hub.status(second), "queued") << "the first still has the only slot";
    EXPECT_EQ(peer.count(), 1U);
    EXPECT_EQ(Peer::call_back(peer.asked()[0], {{"status", "completed"}}).status, 200);
    EXPECT_TRUE(peer.wait_for(2, 5));
}

TEST(DatabaseTrouble, AGrantWhoseCommitIsInDoubtIsSentOnce) {
    HubFixture hub;
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("other", peer.url());
    SqlProxy proxy(hub.database);
    hub.start(proxy.url());
    ASSERT_TRUE(turns(hub));
    // By a turn, and not by what comes alone.
    hub.api("POST", "/v1/pause", {{"reason", "until it waits"}});
    const auto id = hub.enqueue("other");
    proxy.lose_commit_of("lock_claimable");
    hub.api("POST", "/v1/resume", Json::object());
    const auto end = hub.await_end(id, 20);
    EXPECT_EQ(proxy.lost(), 1);
    EXPECT_EQ(end["status"], "completed");
    EXPECT_EQ(peer.count(), 2U) << "the one before, and this one once";
    EXPECT_EQ(peer.asked()[1].attempt(), 1);
    EXPECT_EQ(hub.database.value("select deliveries from attempts where execution_id = '" + id + "'"), "1");
    EXPECT_TRUE(turns(hub));
}

TEST(DatabaseTrouble, ABeginningWhoseCommitIsInDoubtIsSentOnce) {
    HubFixture hub;
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("other", peer.url());
    SqlProxy proxy(hub.database);
    HubProcess second(hub.database, hub.key_file(), hub.config(), 0, true, proxy.url());
    ASSERT_TRUE(eventually([&] { return hub.get("/v1/nodes")["nodes"].size() == 2; }));
    proxy.lose_commit_of("lock_executions");
    ASSERT_TRUE(both_nodes_work(hub));
    EXPECT_EQ(proxy.lost(), 1);
    EXPECT_EQ(hub.database.value("select count(*) from executions where status <> 'completed'"), "0");
    EXPECT_EQ(hub.database.value("select count(*) from events where type = 'execution.unknown'"), "0");
    EXPECT_EQ(std::to_string(peer.count()), hub.database.value("select count(*) from executions"))
        << "nothing runs twice";
}

TEST(DatabaseTrouble, ALostListeningSessionIsNotTheEndOfItsNode) {
    HubFixture hub;
    std::atomic<bool> answer{false};
    Peer peer([&](const Asked&) {
        eventually([&] { return answer.load(); });
        return Behaviour{};
    });
    hub.register_type("slow", peer.url());
    Peer good([](const Asked&) { return done(); });
    hub.register_type("other", good.url());
    HubProcess second(hub.database, hub.key_file(), hub.config());
    const auto epoch = epoch_of(hub);
    const auto leader = hub.database.value("select node from scheduler");
    ASSERT_TRUE(both_nodes_work(hub));
    // One request of each node is under way.
    const std::vector<std::string> ids{hub.enqueue("slow"), hub.enqueue("slow")};
    ASSERT_TRUE(peer.wait_for(2));
    ASSERT_EQ(hub.database.value("select count(distinct attempt_node) from executions where attempt_state = 'sending'"),
              "2");
    const auto sessions = [&] {
        return hub.database.value("select string_agg(backend_pid::text, ',' order by node) from nodes");
    };
    const auto before = sessions();
    hub.database.run("select pg_terminate_backend(backend_pid) from nodes");
    ASSERT_TRUE(eventually([&] {
        return hub.database.value("select count(*) from nodes n join pg_stat_activity a on a.pid = n.backend_pid") ==
               "2";
    })) << "both say at once that they listen anew";
    EXPECT_NE(sessions(), before);
    // Longer than a session may be missed, with whole turns in it.
    const auto until = std::chrono::steady_clock::now() + milliseconds{3500};
    while (std::chrono::steady_clock::now() < until) ASSERT_TRUE(turns(hub));
    EXPECT_EQ(hub.database.value("select node from scheduler"), leader);
    EXPECT_EQ(hub.database.value("select epoch from scheduler"), epoch);
    answer = true;
    for (const auto& id : ids) {
        ASSERT_TRUE(hub.await(id, [](const Json& e) { return e["status"] == "running"; }));
        EXPECT_FALSE(seen(hub, id, "execution.unknown"));
    }
    EXPECT_EQ(peer.count(), ids.size());
}

/// Half a lease is a second.
constexpr const char* kShortLease = "[hub]\nlease_seconds = 2\nheartbeat_ms = 500\n";

TEST(DatabaseTrouble, AShortLeaseIsLongEnoughToSend) {
    HubFixture hub(kShortLease);
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("other", peer.url());
    HubProcess second(hub.database, hub.key_file(), hub.config());
    EXPECT_TRUE(both_nodes_work(hub));
}

TEST(DatabaseTrouble, ADeadlineThatPassedInAnOutageIsSparedWhateverComesAfter) {
    HubFixture hub(kShortLease);
    std::atomic<bool> answer{false};
    Peer peer([&](const Asked&) {
        eventually([&] { return answer.load(); });
        return Behaviour{};
    });
    hub.register_type("slow", peer.url(), {{"timeout_seconds", 2}, {"retry_policy", quick_retries(0)}});
    Peer good([](const Asked&) { return done(); });
    hub.register_type("other", good.url());
    const auto id = hub.enqueue("slow");
    ASSERT_TRUE(peer.wait_for(1));
    const auto begun = std::chrono::steady_clock::now();
    hub.database.shut();
    // Its deadline passes meanwhile, and more than half a lease does.
    ASSERT_TRUE(eventually([&] { return std::chrono::steady_clock::now() > begun + milliseconds{2500}; }));
    hub.database.open();
    answer = true;
    ASSERT_TRUE(hub.await(id, [](const Json& e) { return e["attempt"]["state"] == "accepted"; }))
        << hub.execution(id).dump();
    // A moment may pass until every session is back.
    ASSERT_TRUE(eventually([&] {
        return hub.api("POST", "/v1/executions", {{"workflow_type", "other"}}).status == 201;
    }));
    EXPECT_TRUE(eventually([&] {
        return hub.database.value("select count(*) from executions where status = 'completed'") != "0";
    })) << "with a newer reading of the row";
    EXPECT_EQ(hub.status(id), "running");
    hub.hub->kill();
    hub.start();
    EXPECT_TRUE(turns(hub)) << "after a restart";
    EXPECT_EQ(hub.status(id), "running");
    EXPECT_EQ(hub.database.value("select timeout_at < now() from executions where execution_id = '" + id + "'"), "t");
    EXPECT_EQ(Peer::call_back(peer.asked()[0], {{"status", "completed"}, {"result_data", 1}}).status, 200);
    EXPECT_EQ(hub.status(id), "completed");
}

TEST(DatabaseTrouble, AnOpenTransactionOfOthersIsNoReasonToStartAnew) {
    HubFixture hub;
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("other", peer.url());
    Prompt prompt(hub.database);
    prompt.run("begin");
    prompt.run("insert into orchestrator_metrics (metric_type, metric_value) values ('test', 1)");
    const auto epoch = epoch_of(hub);
    // Others write more events than the scheduler reads in one go, in pieces that it does read.
    for (int i = 0; i < 3; ++i) {
        hub.database.run(
            "select count(enqueue_workflow_task('other', 10, '{}', now() + interval '1 hour')) "
            "from generate_series(1, 9000)");
        const auto last = hub.database.value("select enqueue_workflow_task('other', 90, '{}')");
        EXPECT_EQ(hub.await_end(last, 20)["status"], "completed") << "after " << i << " pieces";
    }
    EXPECT_EQ(hub.database.value("select epoch from scheduler"), epoch);
    prompt.run("commit");
}

}
}
