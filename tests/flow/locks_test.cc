// Locks on the running program, by HTTP, by SQL and by command line: never two at once, and whoever has lost it hears
// so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "platform/database.h"
#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

using ::testing::HasSubstr;

Json ours(const std::string& owner, int ttl = 60, int wait = 0) {
    return {{"owner", owner}, {"ttl_seconds", ttl}, {"wait_seconds", wait}};
}

TEST(Locks, OneOwnerAtATime) {
    HubFixture hub;
    const auto first = hub.api("POST", "/v1/locks/nightly", ours("a"));
    ASSERT_EQ(first.status, 201) << first.body;
    EXPECT_EQ(first.json()["owner"], "a");
    EXPECT_EQ(first.json()["held"], true);
    const auto token = first.json()["token"].get<std::int64_t>();

    const auto other = hub.api("POST", "/v1/locks/nightly", ours("b"));
    EXPECT_EQ(other.status, 409);
    EXPECT_THAT(other.body, HasSubstr("nightly is held by a until"));
    EXPECT_GE(std::stoi(other.headers.at("retry-after")), 50);
    EXPECT_EQ(hub.api("POST", "/v1/locks/weekly", ours("b")).status, 201) << "another name is another lock";

    // An answer that got lost is asked for again.
    const auto again = hub.api("POST", "/v1/locks/nightly", ours("a"));
    EXPECT_EQ(again.status, 200);
    EXPECT_EQ(again.json()["token"], token);

    EXPECT_EQ(hub.api("POST", "/v1/locks/nightly/renew", {{"token", token}, {"ttl_seconds", 600}}).status, 200);
    EXPECT_EQ(hub.api("POST", "/v1/locks/nightly/renew", {{"token", token + 1000}}).status, 409);
    EXPECT_EQ(hub.api("POST", "/v1/locks/nightly/release", {{"token", token + 1000}}).status, 409);
    const auto all = hub.get("/v1/locks")["locks"];
    ASSERT_EQ(all.size(), 2U);
    EXPECT_FALSE(all[0].contains("token")) << "who does not hold it cannot release it";
    // An old repeat does not make it shorter.
    const auto until = hub.get("/v1/locks/nightly")["held_until"];
    EXPECT_EQ(hub.api("POST", "/v1/locks/nightly", ours("a", 1)).json()["held_until"], until);
    const std::vector<std::pair<std::string, std::string>> other_key{
        {"authorization", "Bearer " + hub.make_key("submitter", "another")}};
    Reply stolen;
    ASSERT_TRUE(eventually([&] {
        stolen = request(hub.hub->port(), "POST", "/v1/locks/nightly", other_key, ours("a").dump());
        return stolen.status != 401;
    }));
    EXPECT_EQ(stolen.status, 409) << "another key is another owner, whatever it calls itself";
    EXPECT_EQ(
        request(hub.hub->port(), "POST", "/v1/locks/nightly/release", other_key, Json{{"token", token}}.dump()).status,
        409);
    EXPECT_EQ(hub.api("POST", "/v1/locks/nightly/release", {{"token", token}}).status, 204);
    EXPECT_EQ(hub.api("POST", "/v1/locks/nightly/release", {{"token", token}}).status, 409) << "once";
    EXPECT_EQ(hub.api("GET", "/v1/locks/nightly").status, 404);

    const auto next = hub.api("POST", "/v1/locks/nightly", ours("b"));
    ASSERT_EQ(next.status, 201);
    EXPECT_GT(next.json()["token"].get<std::int64_t>(), token);
}

TEST(Locks, OneWhoseTimeIsOverIsFreeAndItsOwnerHearsSo) {
    HubFixture hub;
    const auto first = hub.api("POST", "/v1/locks/short", ours("a", 1));
    ASSERT_EQ(first.status, 201);
    const auto second = hub.api("POST", "/v1/locks/short", ours("b", 60, 30));
    ASSERT_EQ(second.status, 201) << "it waits until then";
    EXPECT_GE(second.json()["acquired_at"], first.json()["held_until"]);
    EXPECT_GT(second.json()["token"], first.json()["token"]);
    EXPECT_EQ(hub.api("POST", "/v1/locks/short/renew", {{"token", first.json()["token"]}}).status, 409);
    EXPECT_EQ(hub.api("POST", "/v1/locks/short/release", {{"token", first.json()["token"]}}).status, 409);
    EXPECT_EQ(hub.get("/v1/locks/short")["owner"], "b");
}

TEST(Locks, WhoWaitsHasItOnceItIsReleasedOnAnotherNode) {
    HubFixture hub;
    HubProcess second(hub.database, hub.key_file(), hub.config());
    const auto held = hub.api("POST", "/v1/locks/shared", ours("a"));
    ASSERT_EQ(held.status, 201);
    Reply waited;
    std::atomic<bool> answered{false};
    std::thread waiter([&] {
        waited = request(second.port(), "POST", "/v1/locks/shared", {{"authorization", "Bearer " + hub.key}},
                         ours("b", 60, 60).dump());
        answered = true;
    });
    // It waits: several looks go by.
    std::this_thread::sleep_for(std::chrono::seconds{1});
    EXPECT_EQ(answered, false);
    EXPECT_EQ(hub.api("POST", "/v1/locks/shared", ours("c")).status, 409);
    EXPECT_EQ(hub.api("POST", "/v1/locks/shared/release", {{"token", held.json()["token"]}}).status, 204);
    waiter.join();
    EXPECT_EQ(waited.status, 201) << waited.body;
    EXPECT_EQ(waited.json()["owner"], "b");
}

/// Many at once by two nodes and by SQL: the work that it guards is never done by two.
TEST(Locks, ManyAtOnceAreNeverTwo) {
    HubFixture hub;
    HubProcess second(hub.database, hub.key_file(), hub.config());
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
    std::atomic<int> done{0};
    std::atomic<std::int64_t> highest{0};
    std::atomic<bool> in_order{true};
    const auto work = [&](std::int64_t token) {
        const int now = ++inside;
        if (token <= highest.exchange(token)) in_order = false;
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{5});
        --inside;
        ++done;
    };
    std::vector<std::thread> workers;
    for (int n = 0; n < 6; ++n)
        workers.emplace_back([&, n] {
            const int port = n % 2 == 0 ? hub.hub->port() : second.port();
            const std::vector<std::pair<std::string, std::string>> headers{{"authorization", "Bearer " + hub.key}};
            for (int i = 0; i < 5; ++i) {
                const auto owner = std::to_string(n) + "-" + std::to_string(i);
                const auto got = request(port, "POST", "/v1/locks/one", headers, ours(owner, 60, 60).dump());
                ASSERT_EQ(got.status, 201) << got.body;
                work(got.json()["token"].get<std::int64_t>());
                const auto freed = request(port, "POST", "/v1/locks/one/release", headers,
                                           Json{{"token", got.json()["token"]}}.dump());
                ASSERT_EQ(freed.status, 204) << freed.body;
            }
        });
    workers.emplace_back([&] {
        for (int i = 0; i < 5; ++i) {
            std::string token;
            ASSERT_TRUE(eventually(
                [&] {
                    token = hub.database.value("select acquire_lock('one', 'sql-" + std::to_string(i) + "')");
                    return !token.empty();
                },
                60));
            work(std::stoll(token));
            EXPECT_EQ(hub.database.value("select release_lock('one', " + token + ")"), "t");
        }
    });
    for (auto& worker : workers) worker.join();
    EXPECT_EQ(done, 35);
    EXPECT_EQ(most, 1);
    EXPECT_TRUE(in_order) << "a later holder has the higher token";
}

TEST(Locks, AnOperatorBreaksOne) {
    HubFixture hub;
    const auto held = hub.api("POST", "/v1/locks/stuck", ours("gone"));
    EXPECT_EQ(hub.api("POST", "/v1/locks/free/break", {{"reason", "?"}}).status, 404);
    const auto broken = hub.api("POST", "/v1/locks/stuck/break", {{"reason", "its host is gone"}});
    ASSERT_EQ(broken.status, 200) << broken.body;
    EXPECT_EQ(broken.json()["owner"], "gone");
    EXPECT_EQ(hub.api("POST", "/v1/locks/stuck/renew", {{"token", held.json()["token"]}}).status, 409);
    EXPECT_EQ(hub.api("POST", "/v1/locks/stuck", ours("next")).status, 201);
    EXPECT_THAT(hub.hub->log(), HasSubstr("a lock was broken"));
}

TEST(Locks, AnOrganizationHasItsOwn) {
    HubFixture hub;
    hub.database.run("insert into organizations (organization_id, name) values ('other', 'Other')");
    const auto other = hub.make_key("submitter", "other", "other");
    ASSERT_EQ(hub.api("POST", "/v1/locks/same", ours("a")).status, 201);
    const std::vector<std::pair<std::string, std::string>> headers{{"authorization", "Bearer " + other}};
    Reply theirs;
    ASSERT_TRUE(eventually([&] {
        theirs = request(hub.hub->port(), "POST", "/v1/locks/same", headers, ours("b").dump());
        return theirs.status != 401;
    }));
    EXPECT_EQ(theirs.status, 201) << theirs.body;
    EXPECT_EQ(request(hub.hub->port(), "POST", "/v1/locks/same/break", headers, "{}").status, 403);
    EXPECT_EQ(hub.get("/v1/locks")["locks"].size(), 1U);
}

TEST(Locks, WhatIsAskedWronglyIsNamed) {
    HubFixture hub;
    const auto refused = [&](const Json& body, const std::string& what, const std::string& way = "") {
        const auto reply = hub.api("POST", "/v1/locks/l" + way, body);
        EXPECT_EQ(reply.status, 422) << body.dump();
        EXPECT_THAT(reply.body, HasSubstr(what)) << body.dump();
    };
    refused(Json::object(), "owner");
    refused({{"owner", "a"}, {"ttl_seconds", 0}}, "ttl_seconds");
    refused({{"owner", "a"}, {"ttl_seconds", 86401}}, "ttl_seconds");
    refused({{"owner", "a"}, {"wait_seconds", 61}}, "wait_seconds");
    refused({{"owner", std::string(201, 'x')}}, "owner");
    refused({{"owner", "a"}, {"ttl", 5}}, "ttl");
    refused(Json::object(), "token", "/renew");
    refused({{"token", "1"}}, "token", "/release");
    refused({{"token", 0}}, "token", "/release");
    EXPECT_EQ(hub.api("POST", "/v1/locks/" + std::string(201, 'x'), ours("a")).status, 422);
}

/// Somebody's transaction is about the row, and stays.
TEST(Locks, AnOpenTransactionHoldsUpNobodyElse) {
    HubFixture hub;
    platform::DatabaseSettings settings;
    settings.url = hub.database.url();
    platform::Connection prompt(settings, nullptr);
    prompt.transact([&](platform::Tx& tx) {
        tx.exec(platform::Statement{"open", "select acquire_lock('open', 'sql')"});
        const auto begun = std::chrono::steady_clock::now();
        const auto reply = hub.api("POST", "/v1/locks/open", ours("b"));
        EXPECT_EQ(reply.status, 409) << reply.body;
        EXPECT_THAT(reply.body, HasSubstr("just being asked for"));
        EXPECT_LT(seconds_since(begun), 2 * patience());
        EXPECT_EQ(hub.api("GET", "/v1/locks/open").status, 404) << "it is nobody's yet";
    });
    EXPECT_EQ(hub.get("/v1/locks/open")["owner"], "sql");
}

TEST(Locks, SqlHasTheSame) {
    HubFixture hub;
    const auto sql = [&](const std::string& expression) { return hub.database.value("select " + expression); };
    const auto token = sql("acquire_lock('batch', 'n8n-1', interval '10 minutes')");
    ASSERT_FALSE(token.empty());
    EXPECT_EQ(sql("acquire_lock('batch', 'n8n-2') is null"), "t");
    EXPECT_EQ(hub.api("POST", "/v1/locks/batch", ours("n8n-2")).status, 409);
    EXPECT_EQ(sql("lock_is_held('batch', " + token + ")"), "t");
    EXPECT_EQ(sql("renew_lock('batch', " + token + ")"), "t");
    EXPECT_EQ(sql("release_lock('batch', " + token + ")"), "t");
    EXPECT_EQ(sql("lock_is_held('batch', " + token + ")"), "f");
    EXPECT_EQ(sql("renew_lock('batch', " + token + ")"), "f");
    // What nobody has held for days is forgotten, what is held is not.
    hub.database.value(
        "insert into locks select 'default', 'old-' || n, 'o', '', 1, now(), now() - interval '2 days' "
        "from generate_series(1, 5) n returning 1");
    EXPECT_FALSE(sql("acquire_lock('batch', 'n8n-3')").empty());
    EXPECT_EQ(sql("string_agg(name, ',') from locks"), "batch");
    EXPECT_ANY_THROW(sql("acquire_lock('batch', '', interval '1 minute')"));
    EXPECT_ANY_THROW(sql("acquire_lock('batch', 'n8n-3', interval '2 days')"));
}

/// What stops it, once that is its type's lock.
Json waits_for_lock(const HubFixture& hub, const std::string& id) {
    const auto stopped = [](const Json& e) {
        return e["waiting_for"].is_object() && e["waiting_for"]["kind"] == "lock";
    };
    return hub.await(id, stopped) ? hub.execution(id)["waiting_for"] : Json(nullptr);
}

Json naming(const std::string& lock) { return {{"lock", lock}}; }

TEST(TypeLock, OneExecutionOfAllTypesThatNameItRunsAtATime) {
    Peer peer;
    HubFixture hub;
    hub.register_type("writer", peer.url(), naming("archive"));
    hub.register_type("reader", peer.url(), naming("archive"));
    hub.register_type("other", peer.url());
    const auto first = hub.enqueue("writer");
    ASSERT_TRUE(peer.wait_for(1));
    const auto same = hub.enqueue("writer");
    const auto second = hub.enqueue("reader");
    EXPECT_THAT(waits_for_lock(hub, second)["detail"].get<std::string>(), HasSubstr("held by execution " + first));
    EXPECT_EQ(waits_for_lock(hub, same)["subject"], "archive");
    hub.enqueue("other");
    ASSERT_TRUE(peer.wait_for(2)) << "nobody else waits";
    EXPECT_EQ(hub.get("/v1/executions/" + second + "/explain")["gates"][0]["kind"], "lock");
    // Whoever works beside the hub is told who has it.
    const auto refused = hub.api("POST", "/v1/locks/archive", ours("host"));
    EXPECT_EQ(refused.status, 409);
    EXPECT_THAT(refused.body, HasSubstr("execution " + first + " of writer"));
    EXPECT_EQ(hub.database.value("select coalesce(acquire_lock('archive', 'by hand')::text, 'no')"), "no");
    EXPECT_EQ(hub.get("/v1/locks")["locks"][0]["execution_id"], first);
    std::set<std::string> ran;
    for (std::size_t done = 0; done < 4; ++done) {
        ASSERT_TRUE(peer.wait_for(done + 1));
        const auto asked = peer.asked()[done];
        if (asked.json["workflow_type"] != "other") ran.insert(asked.execution_id());
        ASSERT_EQ(Peer::call_back(asked, {{"status", "completed"}, {"result_data", 1}}).status, 200);
        hub.await_end(asked.execution_id());
    }
    EXPECT_EQ(ran, (std::set<std::string>{first, same, second}));
    EXPECT_EQ(
        hub.database.value("select count(*) from attempts a join attempts b on a.execution_id < b.execution_id and "
                           "a.granted_at < b.closed_at and b.granted_at < a.closed_at join executions x on "
                           "x.execution_id = a.execution_id join executions y on y.execution_id = b.execution_id "
                           "where x.workflow_type <> 'other' and y.workflow_type <> 'other'"),
        "0")
        << "two at once";
    EXPECT_TRUE(hub.get("/v1/locks")["locks"].empty());
    EXPECT_EQ(hub.api("POST", "/v1/locks/archive", ours("host")).status, 201);
}

TEST(TypeLock, WaitsForAHolderFromOutsideAndGoesOnAtOnceWhenItIsReleased) {
    Peer peer;
    HubFixture hub;
    hub.register_type("work", peer.url(), naming("host-1"));
    const auto held = hub.api("POST", "/v1/locks/host-1", ours("legacy-flow", 3600)).json();
    const auto id = hub.enqueue("work");
    const auto gate = waits_for_lock(hub, id);
    EXPECT_EQ(gate["numbers"]["holder"], "legacy-flow");
    EXPECT_EQ(gate["opens_at"], held["held_until"]);
    const auto released = std::chrono::steady_clock::now();
    ASSERT_EQ(hub.api("POST", "/v1/locks/host-1/release", {{"token", held["token"]}}).status, 204);
    ASSERT_TRUE(peer.wait_for(1));
    EXPECT_LT(seconds_since(released), 0.8 * patience()) << "the scheduler heard of it";
    // One that nobody releases is free when its time is over.
    ASSERT_EQ(Peer::call_back(peer.asked()[0], {{"status", "completed"}, {"result_data", 1}}).status, 200);
    hub.await_end(id);
    ASSERT_EQ(hub.api("POST", "/v1/locks/host-1", ours("died", 1)).status, 201);
    hub.enqueue("work");
    ASSERT_TRUE(peer.wait_for(2));
}

TEST(TypeLock, IsHeldOverAKillAndFreeWhenTheAttemptIsOver) {
    Peer peer;
    HubFixture hub;
    hub.register_type("work", peer.url(), naming("host-1"));
    const auto id = hub.enqueue("work");
    ASSERT_TRUE(hub.await(id, [](const Json& e) { return e["status"] == "running"; }));
    hub.hub->kill();
    EXPECT_EQ(hub.database.value("select coalesce(acquire_lock('host-1', 'by hand')::text, 'no')"), "no")
        << "it runs, whether there is a hub or not";
    hub.start();
    const auto waits = hub.enqueue("work");
    EXPECT_THAT(waits_for_lock(hub, waits)["detail"].get<std::string>(), HasSubstr(id));
    // However it ends.
    hub.database.run("select update_execution_status('" + id + "', 'cancelled')");
    ASSERT_TRUE(peer.wait_for(2));
    EXPECT_EQ(peer.asked()[1].execution_id(), waits);
    hub.api("POST", "/v1/executions/" + waits + "/cancel");
    EXPECT_NE(hub.database.value("select coalesce(acquire_lock('host-1', 'by hand')::text, 'no')"), "no");
}

TEST(TypeLock, IsKeptWhileNobodyKnowsWhetherItRuns) {
    HubFixture hub;
    std::atomic<int> calls{0};
    // Takes the first, and is not heard of about the second, which runs all the same.
    Peer peer([&](const Asked&) {
        Behaviour behaviour;
        behaviour.headers = {{"webhook-deduplicates", "true"}};
        if (++calls == 2) behaviour.reset = true;
        return behaviour;
    });
    hub.register_type("work", peer.url(), naming("host-1"));
    const auto first = hub.enqueue("work");
    ASSERT_TRUE(peer.wait_for(1));
    ASSERT_EQ(Peer::call_back(peer.asked()[0], {{"status", "completed"}, {"result_data", 1}}).status, 200);
    hub.await_end(first);
    ASSERT_TRUE(
        eventually([&] { return hub.get("/v1/workflow-types/work")["endpoints"][0]["learnt_deduplicates"] == true; }));
    const auto unknown = hub.enqueue("work");
    ASSERT_TRUE(peer.wait_for(2));
    ASSERT_TRUE(eventually([&] {
        const auto types = hub.event_types(unknown);
        return std::find(types.begin(), types.end(), "execution.unknown") != types.end();
    }));
    EXPECT_EQ(hub.api("POST", "/v1/locks/host-1", ours("host")).status, 409) << "it may be running";
    const auto waits = hub.enqueue("work");
    EXPECT_THAT(waits_for_lock(hub, waits)["detail"].get<std::string>(), HasSubstr(unknown));
    ASSERT_EQ(Peer::call_back(peer.asked()[1], {{"status", "completed"}, {"result_data", 1}}).status, 200);
    ASSERT_TRUE(peer.wait_for(3));
    EXPECT_EQ(peer.asked()[2].execution_id(), waits);
}

TEST(TypeLock, OfATransactionThatIsLeftOpenStopsNobodyElse) {
    Peer peer;
    HubFixture hub;
    hub.register_type("work", peer.url(), naming("host-1"));
    hub.register_type("other", peer.url());
    std::string waits;
    hub.database.transact([&](platform::Tx& tx) {
        tx.exec({"acquire", "select acquire_lock('host-1', 'by hand')"});
        waits = hub.enqueue("work");
        EXPECT_TRUE(waits_for_lock(hub, waits).is_object());
        hub.enqueue("other");
        EXPECT_TRUE(peer.wait_for(1));
        EXPECT_EQ(peer.asked()[0].json["workflow_type"], "other");
        tx.exec({"release", "delete from locks"});
    });
    ASSERT_TRUE(peer.wait_for(2));
    EXPECT_EQ(peer.asked()[1].execution_id(), waits);
}

}
}
