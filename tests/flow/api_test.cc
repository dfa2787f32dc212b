// The API as its callers meet it: keys, bad input, idempotency, cancelling. Cases S05 and S08.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

std::string pointer_of(const Reply& reply) { return reply.json()["errors"][0]["pointer"]; }

TEST(Api, BadInputIsNamedAndStoresNothing) {
    HubFixture hub;
    struct Bad {
        const char* body;
        int status;
        const char* pointer;
    };
    for (const auto& bad :
         {Bad{R"({"workflow_type":"nope"})", 422, "/workflow_type"},
          Bad{R"({})", 422, "/workflow_type"},
          Bad{R"({"workflow_type":7})", 422, "/workflow_type"},
          Bad{R"({"workflow_type":"seo_monitor","priority":101})", 422, "/priority"},
          Bad{R"({"workflow_type":"seo_monitor","priority":"urgent"})", 422, "/priority"},
          Bad{R"({"workflow_type":"seo_monitor","priority":1.5})", 422, "/priority"},
          Bad{R"({"workflow_type":"seo_monitor","scheduled_at":"tomorrow"})", 422, "/scheduled_at"},
          Bad{R"({"workflow_type":"seo_monitor","inptu":{}})", 422, "/inptu"},
          Bad{R"({"workflow_type":"seo_monitor","context":[]})", 422, "/context"},
          Bad{R"({"workflow_type":"seo_monitor","batch_id":"x"})", 422, "/batch_id"},
          Bad{R"({"workflow_type":"seo_monitor","input":{"a":["x\u0000"]}})", 422, "/input/a/0"},
          Bad{R"({"workflow_type":"seo_monitor","input":{"a":1E100000}})", 422, "/input/a"},
          Bad{R"({"workflow_type":"seo_monitor","input":{"a":[0e-100000]}})", 422, "/input/a/0"},
          Bad{R"({"workflow_type":"seo_monitor","input":{"a":1e400}})", 422, "/input/a"},
          Bad{R"({"workflow_type":"seo_monitor","scheduled_at":"0000-06-01T00:00:00Z"})", 422, "/scheduled_at"},
          Bad{R"({"workflow_type":"seo_monitor","scheduled_at":"9999-12-31T23:59:59-00:01"})", 422, "/scheduled_at"},
          Bad{R"({"workflow_type":"seo_monitor","scheduled_at":"infinity"})", 422, "/scheduled_at"},
          Bad{R"({"workflow_type":"seo_monitor","input":{"\ud800":1}})", 422, "/input"},
          Bad{R"([])", 422, ""},
          Bad{R"({"a":)", 400, "/a"}}) {
        const auto reply =
            request(hub.hub->port(), "POST", "/v1/executions", {{"authorization", "Bearer " + hub.key}}, bad.body);
        EXPECT_EQ(reply.status, bad.status) << bad.body << " " << reply.body;
        EXPECT_EQ(reply.headers.at("content-type"), "application/problem+json");
        EXPECT_EQ(pointer_of(reply), bad.pointer) << bad.body;
    }
    const auto batch = hub.api(
        "POST", "/v1/executions/batch",
        {{"executions", {{{"workflow_type", "seo_monitor"}}, {{"workflow_type", "seo_monitor"}, {"priority", -1}}}}});
    EXPECT_EQ(batch.status, 422);
    EXPECT_EQ(pointer_of(batch), "/executions/1/priority");
    EXPECT_EQ(hub.database.value("select count(*) from executions"), "0");
}

TEST(Api, LimitsAndFraming) {
    HubFixture hub;
    const std::string key = "Bearer " + hub.key;
    const std::string big = R"({"workflow_type":"seo_monitor","input":")" + std::string(1100 * 1024, 'x') + "\"}";
    EXPECT_EQ(request(hub.hub->port(), "POST", "/v1/executions", {{"authorization", key}}, big).status, 413);
    const auto first_line = [&](const std::string& bytes) {
        const auto answer = raw_exchange(hub.hub->port(), bytes);
        return answer.substr(0, answer.find("\r\n"));
    };
    EXPECT_EQ(first_line("nonsense\r\n\r\n"), "HTTP/1.1 400 Bad Request");
    EXPECT_EQ(first_line("POST /v1/executions HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: "
                         "chunked\r\n\r\n0\r\n\r\n"),
              "HTTP/1.1 400 Bad Request");
    EXPECT_EQ(
        first_line("POST /v1/executions HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello"),
        "HTTP/1.1 400 Bad Request");
    EXPECT_EQ(first_line("POST /v1/executions HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n"),
              "HTTP/1.1 400 Bad Request");
    EXPECT_EQ(first_line("GET /livez HTTP/1.1\r\nhost: x\r\nx: " + std::string(20000, 'y') + "\r\n\r\n").substr(0, 12),
              "HTTP/1.1 431");
    // Two requests in one go get two answers, in order.
    const auto both = raw_exchange(
        hub.hub->port(),
        "GET /livez HTTP/1.1\r\nhost: x\r\n\r\nGET /readyz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    EXPECT_EQ(both.find("HTTP/1.1 200"), 0U);
    EXPECT_NE(both.find("HTTP/1.1 200", 5), std::string::npos);
    EXPECT_EQ(hub.api("DELETE", "/v1/executions").status, 405);
    EXPECT_EQ(hub.api("GET", "/v1/nothing").status, 404);
    EXPECT_EQ(request(hub.hub->port(), "HEAD", "/livez").body, "");
}

TEST(Api, WhatNoDatabaseTakesIsRefusedBeforeIt) {
    HubFixture hub;
    for (const auto* path : {"/v1/executions?workflow_type=%ff", "/v1/executions?workflow_type=a%00b",
                             "/v1/workflow-types/%zz", "/v1/dead-letters?reason=%C3", "/v1/queue?workflow_type=%"}) {
        const auto reply = hub.api("GET", path);
        EXPECT_EQ(reply.status, 400) << path << " " << reply.body;
        EXPECT_EQ(reply.headers.at("content-type"), "application/problem+json");
    }
    for (const auto* path : {"/v1/executions?created_after=infinity",
                             "/v1/executions?created_before=0000-01-01T00:00:00Z", "/v1/dead-letters?since=-infinity"})
        EXPECT_EQ(hub.api("GET", path).status, 422) << path;
    for (const auto* path : {"/v1/executions?created_after=0001-01-01T00:00:00Z&created_before=9999-12-31T23:59:59Z",
                             "/v1/executions?workflow_type=Zo%C3%AB+%2B", "/v1/queue?workflow_type=%F0%9F%98%80"})
        EXPECT_EQ(hub.api("GET", path).status, 200) << path;
    const std::string two_hosts = "GET /livez HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n";
    EXPECT_EQ(raw_exchange(hub.hub->port(), two_hosts).substr(0, 12), "HTTP/1.1 400");
    // What a double just holds, and money at its limit, are stored.
    EXPECT_EQ(hub.api("POST", "/v1/executions",
                      Json::parse(R"({"workflow_type":"seo_monitor","scheduled_at":"9999-12-31T23:59:59Z"})"))
                  .status,
              201);
    EXPECT_EQ(hub.api("PUT", "/v1/workflow-types/dear", {{"cost_estimate_usd", "999999999999.999999"}}).status, 201);
    EXPECT_EQ(hub.api("PUT", "/v1/workflow-types/dear", {{"cost_estimate_usd", "1000000000000"}}).status, 422);
}

TEST(Api, TimesBeyondAllYearsThatSqlCallersWriteHoldNothingUp) {
    HubFixture hub;
    Peer peer([](const Asked&) { return Behaviour{200, R"({"status":"completed","result_data":{}})"}; });
    hub.register_type("work", peer.url());
    const auto enqueue = [&](const std::string& at) {
        return hub.database.value("select enqueue_workflow_task('work', 50, '{}', '" + at + "')");
    };
    const auto late = enqueue("20000-01-01");
    const auto early = enqueue("0044-03-15 BC");
    EXPECT_EQ(hub.await_end(early)["status"], "completed");
    EXPECT_EQ(hub.execution(early)["scheduled_at"], "0001-01-01T00:00:00.000000Z");
    EXPECT_EQ(hub.status(late), "queued");
    EXPECT_EQ(hub.execution(late)["scheduled_at"], "9999-12-31T23:59:59.999999Z");
    // The nearest is 400 years ahead: nanoseconds cannot say how long that is.
    hub.api("POST", "/v1/executions/" + late + "/cancel");
    enqueue("2450-01-01");
    std::this_thread::sleep_for(std::chrono::milliseconds{500});
    const auto cpu = hub.hub->cpu_seconds();
    std::this_thread::sleep_for(std::chrono::seconds{1});
    EXPECT_LT(hub.hub->cpu_seconds() - cpu, 0.3 * patience()) << "it waits, instead of turning in circles";
}

TEST(Api, ARefusalListsAHundredFaultsAtMost) {
    HubFixture hub;
    Json body = {{"workflow_type", "seo_monitor"}};
    for (int i = 0; i < 150; ++i) body["x" + std::to_string(i)] = i;
    Json executions = Json::array();
    for (int i = 0; i < 150; ++i) executions.push_back({{"workflow_type", 7}});
    for (const auto& reply : {hub.api("POST", "/v1/executions", body),
                              hub.api("POST", "/v1/executions/batch", {{"executions", executions}}),
                              hub.api("PUT", "/v1/workflow-types/seo_monitor", body)}) {
        EXPECT_EQ(reply.status, 422);
        EXPECT_EQ(reply.json()["errors"].size(), 100U) << reply.body;
        EXPECT_NE(reply.body.find("the first 100 are listed"), std::string::npos);
    }
}

TEST(Api, KeysHaveRoles) {
    HubFixture hub;
    Peer peer;
    hub.register_type("work", peer.url());
    const auto viewer = hub.make_key("viewer", "viewer");
    const auto submitter = hub.make_key("submitter", "submitter");
    const auto operators = hub.make_key("operator", "operator");
    const auto ask = [&](const std::string& key, const std::string& method, const std::string& path,
                         const std::string& body = "") {
        std::vector<std::pair<std::string, std::string>> headers;
        if (!key.empty()) headers.emplace_back("authorization", "Bearer " + key);
        return request(hub.hub->port(), method, path, headers, body).status;
    };
    EXPECT_EQ(ask("", "GET", "/v1/executions"), 401);
    EXPECT_EQ(ask("imp_wrong", "GET", "/v1/executions"), 401);
    ASSERT_TRUE(eventually([&] { return ask(operators, "GET", "/v1/executions") == 200; }))
        << "a new key is known within a second";
    EXPECT_EQ(ask(viewer, "GET", "/v1/executions"), 200);
    EXPECT_EQ(ask(viewer, "POST", "/v1/executions", R"({"workflow_type":"work"})"), 403);
    EXPECT_EQ(ask(submitter, "POST", "/v1/executions", R"({"workflow_type":"work"})"), 201);
    EXPECT_EQ(ask(submitter, "POST", "/v1/pause", "{}"), 403);
    EXPECT_EQ(ask(operators, "POST", "/v1/pause", "{}"), 200);
    EXPECT_EQ(ask(operators, "PUT", "/v1/workflow-types/x", "{}"), 403);
    EXPECT_EQ(ask(hub.key, "PUT", "/v1/workflow-types/x", "{}"), 201);
    for (const auto* open : {"/livez", "/readyz", "/openapi.json", "/metrics"})
        EXPECT_EQ(ask("", "GET", open), 200) << open;
    EXPECT_EQ(hub.database.value("select count(*) from api_keys where hash::text like '%" + viewer + "%'"), "0")
        << "only hashes are stored";
    hub.database.run("update api_keys set revoked_at = now() where name = 'viewer'");
    ASSERT_TRUE(eventually([&] { return ask(viewer, "GET", "/v1/executions") == 401; }));
}

TEST(Api, S05TheSameRequestTwice) {
    HubFixture hub;
    const std::string body = R"({"workflow_type":"seo_monitor","input":{"a":1}})";
    const auto post = [&](const std::string& key, const std::string& text, const std::string& api_key) {
        return request(hub.hub->port(), "POST", "/v1/executions",
                       {{"authorization", "Bearer " + api_key}, {"idempotency-key", key}}, text);
    };
    const auto first = post("\"a1\"", body, hub.key);
    const auto again = post("\"a1\"", body, hub.key);
    EXPECT_EQ(first.status, 201);
    EXPECT_EQ(again.status, 201);
    EXPECT_EQ(first.body, again.body);
    const auto reused = post("\"a1\"", R"({"workflow_type":"seo_monitor","input":{"a":2}})", hub.key);
    EXPECT_EQ(reused.status, 422);
    EXPECT_EQ(reused.json()["type"], "/problems/idempotency-key-reused");
    const auto other = hub.make_key("submitter", "other");
    ASSERT_TRUE(eventually([&] {
        return request(hub.hub->port(), "GET", "/v1/queue", {{"authorization", "Bearer " + other}}).status == 200;
    }));
    const auto separate = post("\"a1\"", body, other);
    EXPECT_EQ(separate.status, 201);
    EXPECT_NE(separate.body, first.body);
    EXPECT_EQ(post(std::string(300, 'k'), body, hub.key).status, 400);
    EXPECT_EQ(post("a\x01z", body, hub.key).status, 400);

    std::vector<Reply> replies(50);
    std::vector<std::thread> threads;
    for (auto& reply : replies) threads.emplace_back([&] { reply = post("many", body, hub.key); });
    for (auto& thread : threads) thread.join();
    std::set<std::string> bodies;
    for (const auto& reply : replies) {
        EXPECT_EQ(reply.status, 201);
        bodies.insert(reply.body);
    }
    EXPECT_EQ(bodies.size(), 1U);

    const auto before_kill = post("kept", body, hub.key);
    hub.hub->kill();
    hub.start();
    EXPECT_EQ(post("kept", body, hub.key).body, before_kill.body)
        << "the answer may have been lost, the execution was not";
    EXPECT_EQ(hub.database.value("select count(*) from executions"), "4");
}

TEST(Api, S08CancellingGivesItsSlotToTheNext) {
    HubFixture hub;
    Peer peer;
    hub.register_type("limited", peer.url(), {{"max_concurrency", 2}});
    std::vector<std::string> ids;
    for (int i = 0; i < 10; ++i) ids.push_back(hub.enqueue("limited", {{"i", i}}));
    ASSERT_TRUE(peer.wait_for(2));
    const auto running = peer.asked()[0];
    ASSERT_TRUE(hub.await(running.execution_id(), [](const Json& e) { return e["status"] == "running"; }));
    std::vector<int> answers(20);
    std::vector<std::thread> threads;
    for (auto& answer : answers)
        threads.emplace_back([&] {
            answer = hub.api("POST", "/v1/executions/" + running.execution_id() + "/cancel", {{"reason", "not needed"}})
                         .status;
        });
    for (auto& thread : threads) thread.join();
    for (const int answer : answers) EXPECT_TRUE(answer == 200 || answer == 409) << answer;
    ASSERT_TRUE(peer.wait_for(3)) << "one new one starts";
    EXPECT_EQ(Peer::call_back(running, {{"status", "completed"}}).status, 409)
        << "a later callback is refused and recorded";
    EXPECT_EQ(hub.status(running.execution_id()), "cancelled");
    ASSERT_TRUE(peer.wait_until([](const std::vector<Asked>& asked) {
        return std::any_of(asked.begin(), asked.end(), [](const Asked& each) { return each.method == "DELETE"; });
    })) << "the peer is told";
    // A queued one is never sent.
    const std::string queued = ids[9];
    EXPECT_EQ(hub.api("POST", "/v1/executions/" + queued + "/cancel").status, 200);
    for (std::size_t done = 1; done < 9; ++done) {
        ASSERT_TRUE(peer.wait_for(done + 1));
        const auto asked = peer.asked()[done];
        EXPECT_NE(asked.execution_id(), queued);
        EXPECT_LE(hub.get("/v1/state")["active_executions"].size(), 2U);
        EXPECT_EQ(Peer::call_back(asked, {{"status", "completed"}}).status, 200);
    }
    ASSERT_TRUE(eventually([&] { return hub.get("/v1/state")["active_executions"].empty(); }));
    EXPECT_EQ(peer.count(), 9U);
}

TEST(Api, S08CancelAndCallbackAtOnceEndOnce) {
    HubFixture hub;
    Peer peer;
    hub.register_type("limited", peer.url(), {{"max_concurrency", 2}});
    std::mt19937 dice(20261127);
    for (int round = 0; round < 10; ++round) {
        std::vector<std::string> ids;
        const auto before = peer.count();
        for (int i = 0; i < 4; ++i) ids.push_back(hub.enqueue("limited"));
        ASSERT_TRUE(peer.wait_for(before + 2));
        std::thread cancelling([&] {
            auto order = ids;
            std::shuffle(order.begin(), order.end(), dice);
            for (const auto& id : order) hub.api("POST", "/v1/executions/" + id + "/cancel");
        });
        Peer::call_back(peer.asked()[before], {{"status", "completed"}});
        Peer::call_back(peer.asked()[before + 1], {{"status", "completed"}});
        cancelling.join();
        for (const auto& id : ids) {
            const auto end = hub.await_end(id);
            EXPECT_TRUE(end["status"] == "completed" || end["status"] == "cancelled") << "round " << round;
            EXPECT_EQ(hub.database.value("select count(*) from events where stream_id = '" + id +
                                         "' and type in ('execution.completed', 'execution.cancelled')"),
                      "1");
        }
        EXPECT_EQ(hub.database.value("select count(*) from executions where timeout_at is not null"), "0")
            << "slots in use return to 0";
    }
    // And the lane still runs two at once.
    const auto before = peer.count();
    for (int i = 0; i < 3; ++i) hub.enqueue("limited");
    ASSERT_TRUE(peer.wait_for(before + 2));
}

TEST(Api, S08CancellingAllInAnyOrderGivesBackEverySlot) {
    HubFixture hub;
    std::mutex guard;
    std::set<std::string> held;  // at the peer, and not asked to be cancelled
    std::set<std::string> unwanted;
    std::size_t most = 0;
    Peer peer([&](const Asked& asked) {
        const std::lock_guard lock(guard);
        if (asked.method == "POST" && !unwanted.contains(asked.execution_id())) held.insert(asked.execution_id());
        most = std::max(most, held.size());
        return Behaviour{};
    });
    hub.register_type("limited", peer.url(), {{"max_concurrency", 2}});
    const unsigned seed = std::random_device{}();
    std::mt19937 dice(seed);
    for (int round = 0; round < 100; ++round) {
        Json batch = Json::array();
        for (int i = 0; i < 10; ++i) batch.push_back({{"workflow_type", "limited"}});
        const auto made = hub.api("POST", "/v1/executions/batch", {{"executions", batch}}).json();
        std::vector<std::string> ids;
        for (const auto& each : made["executions"]) ids.push_back(each["execution_id"]);
        ASSERT_EQ(ids.size(), 10U) << made.dump();
        const auto started = [&](const std::vector<Asked>& asked) {
            return std::count_if(asked.begin(), asked.end(), [&](const Asked& each) {
                       return each.method == "POST" && std::count(ids.begin(), ids.end(), each.execution_id()) > 0;
                   }) >= 2;
        };
        ASSERT_TRUE(peer.wait_until(started))
            << "round " << round << ", seed " << seed << ": a slot was not given back";
        std::shuffle(ids.begin(), ids.end(), dice);
        std::vector<std::thread> threads;
        for (std::size_t t = 0; t < 4; ++t)
            threads.emplace_back([&, t] {
                for (std::size_t i = t; i < ids.size(); i += 4) {
                    {
                        const std::lock_guard lock(guard);
                        unwanted.insert(ids[i]);
                        held.erase(ids[i]);
                    }
                    EXPECT_EQ(hub.api("POST", "/v1/executions/" + ids[i] + "/cancel").status, 200);
                }
            });
        for (auto& thread : threads) thread.join();
        ASSERT_EQ(hub.database.value("select count(*) from executions where timeout_at is not null"), "0")
            << "round " << round << ", seed " << seed;
        ASSERT_TRUE(hub.get("/v1/state")["active_executions"].empty()) << "round " << round << ", seed " << seed;
    }
    EXPECT_LE(most, 2U) << "seed " << seed;
}

TEST(Api, ListsHavePagesAndFilters) {
    HubFixture hub;
    hub.api("POST", "/v1/pause", {{"reason", "test"}});
    Json batch = Json::array();
    for (int i = 0; i < 25; ++i) batch.push_back({{"workflow_type", i % 2 ? "seo_monitor" : "content_pipeline"}});
    const std::string batch_id = hub.api("POST", "/v1/executions/batch", {{"executions", batch}}).json()["batch_id"];
    hub.enqueue("seo_monitor");
    std::set<std::string> seen;
    std::string cursor;
    int pages = 0;
    do {
        const auto page =
            hub.get("/v1/executions?limit=10&batch_id=" + batch_id + (cursor.empty() ? "" : "&cursor=" + cursor));
        for (const auto& each : page["executions"]) EXPECT_TRUE(seen.insert(each["execution_id"]).second);
        cursor = page["next_cursor"].is_null() ? "" : page["next_cursor"].get<std::string>();
        ++pages;
    } while (!cursor.empty());
    EXPECT_EQ(seen.size(), 25U);
    EXPECT_EQ(pages, 3);
    EXPECT_EQ(hub.get("/v1/executions?workflow_type=seo_monitor&limit=100")["executions"].size(), 13U);
    EXPECT_EQ(hub.get("/v1/executions?status=queued,running&limit=100")["executions"].size(), 26U);
    EXPECT_EQ(hub.api("GET", "/v1/executions?status=pending").status, 422);
    EXPECT_EQ(hub.api("GET", "/v1/executions?cursor=rubbish").status, 422);
    EXPECT_EQ(hub.api("GET", "/v1/executions?limit=0").status, 422);
    EXPECT_EQ(hub.api("GET", "/v1/executions/not-a-uuid").status, 404);
}

TEST(Api, HowTheHubIsDoingIsWrittenDownForSql) {
    HubFixture hub;
    hub.register_type("work", "http://127.0.0.1:9/");
    hub.api("POST", "/v1/pause", {{"reason", "they wait"}});
    for (int i = 0; i < 3; ++i) hub.enqueue("work");
    hub.hub->terminate();
    hub.start();
    ASSERT_TRUE(eventually([&] {
        return hub.database.value(
                   "select max(metric_value) from orchestrator_metrics where metric_type = 'queue_depth' and "
                   "metadata ->> 'workflow_type' = 'work'") == "3.000000";
    })) << "with the first turn, and every minute";
    EXPECT_NE(hub.database.value("select max(metric_value) from orchestrator_metrics where metric_type = "
                                 "'oldest_waiting_seconds'"),
              "0.000000");
}

TEST(Api, ManyDeadLettersAreRetriedByFilter) {
    HubFixture hub;
    Peer peer([](const Asked&) { return Behaviour{422, "no"}; });
    hub.register_type("rejecting", peer.url());
    std::vector<std::string> ids;
    for (int i = 0; i < 5; ++i) ids.push_back(hub.enqueue("rejecting"));
    for (const auto& id : ids) ASSERT_EQ(hub.await_end(id)["status"], "dead");
    EXPECT_EQ(hub.api("POST", "/v1/dead-letters/" + ids[0] + "/discard").status, 200);
    EXPECT_EQ(hub.api("POST", "/v1/dead-letters/retry", Json::object()).status, 422) << "not everything by accident";
    peer.set_script([](const Asked&) { return Behaviour{200, R"({"status":"completed","result_data":1})"}; });
    const auto retried =
        hub.api("POST", "/v1/dead-letters/retry", {{"workflow_type", "rejecting"}, {"reason", "rejected_by_peer"}});
    EXPECT_EQ(retried.json()["retried"], 4) << retried.body;
    for (std::size_t i = 1; i < ids.size(); ++i) EXPECT_EQ(hub.await_end(ids[i])["status"], "completed");
    EXPECT_EQ(hub.status(ids[0]), "dead");
    EXPECT_EQ(hub.api("POST", "/v1/executions/" + ids[0] + "/retry").status, 409) << "discarded is for good";
    EXPECT_EQ(hub.get("/v1/dead-letters?resolved=true")["dead_letters"].size(), 5U);
}

TEST(Api, NoDatabaseIsABadMinuteNotTheEnd) {
    HubFixture hub;
    Peer peer;
    hub.register_type("work", peer.url());
    const auto id = hub.enqueue("work");
    ASSERT_TRUE(peer.wait_for(1));
    const auto pid = hub.hub->pid();
    hub.database.shut();
    ASSERT_TRUE(eventually([&] { return request(hub.hub->port(), "GET", "/readyz").status == 503; }));
    EXPECT_EQ(request(hub.hub->port(), "GET", "/livez").status, 200);
    const auto refused = hub.api("POST", "/v1/executions", {{"workflow_type", "work"}});
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(refused.headers.count("retry-after"), 1U);
    EXPECT_EQ(Peer::call_back(peer.asked()[0], {{"status", "completed"}}).status, 503) << "never 2xx before the commit";
    hub.database.open();
    ASSERT_TRUE(hub.hub->wait_ready());
    EXPECT_EQ(hub.hub->pid(), pid);
    EXPECT_EQ(Peer::call_back(peer.asked()[0], {{"status", "completed"}}).status, 200);
    EXPECT_EQ(hub.await_end(id)["status"], "completed");
    const auto next = hub.enqueue("work");
    ASSERT_TRUE(peer.wait_for(2)) << "and it goes on";
    (void)next;
}

TEST(Api, ConfigurationMistakesAreAllListed) {
    const std::string file = "/tmp/impresario-bad-" + std::to_string(getpid()) + ".toml";
    {
        FILE* out = std::fopen(file.c_str(), "w");
        std::fputs(
            "[database]\nconnections = 50\n[http]\nport = 99999\nprot = 1\n[egress]\nallow = "
            "[\"10.0.0.0/99\"]\n[hub]\nkey = \"short\"\nlease_seconds = 2\nheartbeat_ms = 5000\n[nonsense]\na = "
            "1\n[[workflow_types]]\nname = \"x\"\ntimeout_seconds = 0\n",
            out);
        std::fclose(out);
    }
    platform::ProcessSettings settings;
    settings.command = {program(), "serve", "--config", file};
    settings.environment = {
        {"IMPRESARIO_DATABASE_URL", ""}, {"IMPRESARIO_HUB_KEY", ""}, {"IMPRESARIO_HUB_KEY_FILE", ""}};
    const auto finished = platform::run_command(settings);
    unlink(file.c_str());
    EXPECT_EQ(finished.status, 2);
    for (const auto* expected : {"database.url", "database.connections", "http.port", "http.prot", "egress.allow",
                                 "hub.key", "hub.heartbeat_ms", "nonsense", "/timeout_seconds"})
        EXPECT_NE(finished.output.find(expected), std::string::npos) << expected << "\n" << finished.output;
}

}
}
