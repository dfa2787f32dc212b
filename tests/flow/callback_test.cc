// Callbacks: late, twice, forged, with what a database cannot store. Cases S01 and S03, promise P3.
#include <gtest/gtest.h>

#include <atomic>

#include <thread>

#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

/// A hub, a peer that accepts, one running execution.
class Running {
  public:
    explicit Running(Json more = {{"retry_policy", "none"}}) {
        hub.register_type("work", peer.url(), std::move(more));
        id = hub.enqueue("work");
        if (!peer.wait_for(1)) throw std::runtime_error("nothing was dispatched");
        asked = peer.asked()[0];
        hub.await(id, [](const Json& e) { return e["status"] == "running"; });
    }
    HubFixture hub;
    Peer peer;
    std::string id;
    Asked asked;
};

TEST(Callback, S01AFailureReportThatTheDatabaseCannotStore) {
    Running run;
    const auto answer = Peer::call_back_raw(
        run.asked,
        R"({"status":"failed","error_data":{"message":"a\u0000b"},"result_data":{"\ud800":["\udfff",1E100000]}})",
        run.asked.token());
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.json()["sanitised"], true);
    const auto end = run.hub.await_end(run.id);
    EXPECT_EQ(end["status"], "failed");
    EXPECT_EQ(end["error_data"]["message"],
              "a\xEF\xBF\xBD"
              "b");
    EXPECT_EQ(end["result_data"]["\xEF\xBF\xBD"][1], "1E100000");
    EXPECT_EQ(end["sanitised"], true);
    EXPECT_EQ(run.hub.database.value(
                  "select error_data ->> 'message' from workflow_orchestration where execution_id = '" + run.id + "'"),
              "a\xEF\xBF\xBD"
              "b");
}

TEST(Callback, S01BytesThatAreNoTextCanBeSentAgain) {
    Running run;
    const auto refused =
        Peer::call_back_raw(run.asked, "{\"status\":\"completed\",\"result_data\":\"\xff\xfe\"}", run.asked.token());
    EXPECT_EQ(refused.status, 400);
    EXPECT_EQ(run.hub.status(run.id), "running");
    EXPECT_EQ(Peer::call_back(run.asked, {{"status", "completed"}}).status, 200);
    EXPECT_EQ(run.hub.await_end(run.id)["status"], "completed");
}

TEST(Callback, S01AHundredHealthyOnesBehindThemEnd) {
    // Half of what is bad fails for good: its breaker is not to spread that over minutes.
    HubFixture hub("[breaker]\nresults = 1000\n");
    const std::string unstorable =
        R"({"status":"failed","error_data":{"message":"a\u0000b"},"result_data":{"\ud800":["\udfff"]}})";
    Peer bad([&](const Asked& asked) {
        if (asked.json["input_data"]["i"].get<int>() % 2 == 0) return Behaviour{500, std::string("\0\0", 2)};
        return Behaviour{200, unstorable};
    });
    Peer good([](const Asked&) { return Behaviour{200, R"({"status":"completed","result_data":1})"}; });
    hub.register_type("bad", bad.url(), {{"retry_policy", "none"}});
    hub.register_type("good", good.url());
    Json batch = Json::array();
    for (int i = 0; i < 120; ++i)
        batch.push_back(
            {{"workflow_type", i < 20 ? "bad" : "good"}, {"priority", i < 20 ? 90 : 10}, {"input", {{"i", i}}}});
    ASSERT_EQ(hub.api("POST", "/v1/executions/batch", {{"executions", batch}}).status, 201);
    EXPECT_TRUE(eventually(
        [&] { return hub.database.value("select count(*) from executions where completed_at is null") == "0"; }));
    EXPECT_EQ(hub.database.value("select count(*) from executions where status = 'completed'"), "100");
    EXPECT_EQ(hub.database.value("select count(*) from executions where status in ('failed', 'dead')"), "20");
}

TEST(Callback, S03TheSameTwentyTimesAtOnce) {
    Running run;
    const std::string body = R"({"status":"completed","result_data":{"x":1},"metrics":{"cost_usd":0.25}})";
    std::vector<Reply> replies(20);
    std::vector<std::thread> threads;
    for (auto& reply : replies)
        threads.emplace_back([&] { reply = Peer::call_back_raw(run.asked, body, run.asked.token()); });
    for (auto& thread : threads) thread.join();
    int fresh = 0;
    std::set<std::string> bodies;
    for (const auto& reply : replies) {
        EXPECT_EQ(reply.status, 200) << reply.body;
        auto json = reply.json();
        if (!json.contains("replayed")) ++fresh;
        json.erase("replayed");
        bodies.insert(json.dump());
    }
    EXPECT_EQ(fresh, 1);
    EXPECT_EQ(bodies.size(), 1U);
    EXPECT_EQ(run.hub.execution(run.id)["metrics"]["cost_usd"], "0.250000") << "booked once";
    EXPECT_EQ(run.hub.database.value("select count(*) from workflow_resource_usage"), "1");
}

TEST(Callback, S03AContradictionChangesNothing) {
    Running run;
    std::vector<Reply> replies(20);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < replies.size(); ++i)
        threads.emplace_back([&, i] {
            replies[i] =
                Peer::call_back(run.asked, i % 2 ? Json{{"status", "completed"}, {"metrics", {{"cost_usd", 1}}}}
                                                 : Json{{"status", "failed"}, {"metrics", {{"cost_usd", 1}}}});
        });
    for (auto& thread : threads) thread.join();
    const std::string end = run.hub.status(run.id);
    ASSERT_TRUE(end == "completed" || end == "failed");
    for (std::size_t i = 0; i < replies.size(); ++i) {
        const bool winner = (i % 2 == 1) == (end == "completed");
        EXPECT_EQ(replies[i].status, winner ? 200 : 409) << replies[i].body;
        if (winner) continue;
        EXPECT_EQ(replies[i].json()["type"], "/problems/execution-already-finished");
        EXPECT_NE(replies[i].json()["detail"].get<std::string>().find(end), std::string::npos);
    }
    EXPECT_EQ(run.hub.execution(run.id)["metrics"]["cost_usd"], "1.000000");
    int ends = 0;
    int refused = 0;
    for (const auto& type : run.hub.event_types(run.id)) {
        if (type == "execution.completed" || type == "execution.failed") ++ends;
        if (type == "execution.refused") ++refused;
    }
    EXPECT_EQ(ends, 1);
    EXPECT_EQ(refused, 10) << "every refused callback is in the history";
}

TEST(Callback, ForgedTokensLearnNothing) {
    Running run;
    Running other;
    const auto body = R"({"status":"completed"})";
    const auto wrong = Peer::call_back_raw(run.asked, body, "icb_" + std::string(64, 'A'));
    const auto none = Peer::call_back_raw(run.asked, body, "");
    const auto others = Peer::call_back_raw(run.asked, body, other.asked.token());
    const auto api_key = Peer::call_back_raw(run.asked, body, run.hub.key);
    Asked unknown = run.asked;
    unknown.json["callback_url"] = "http://127.0.0.1:" + std::to_string(run.hub.hub->port()) +
                                   "/v1/callbacks/00000000-0000-7000-8000-000000000000";
    const auto missing = Peer::call_back_raw(unknown, body, run.asked.token());
    for (const auto* reply : {&wrong, &none, &others, &api_key, &missing}) {
        EXPECT_EQ(reply->status, 401);
        EXPECT_EQ(reply->body, wrong.body) << "unknown execution and wrong token are the same answer";
    }
    EXPECT_EQ(run.hub.status(run.id), "running");
}

TEST(Callback, WrongFieldsAreNamed) {
    Running run;
    const auto reply = Peer::call_back(run.asked, {{"status", "completed"}, {"metrics", {{"cost_usd", -1}}}});
    EXPECT_EQ(reply.status, 422);
    EXPECT_EQ(reply.json()["errors"][0]["pointer"], "/metrics/cost_usd");
    EXPECT_EQ(
        Peer::call_back(run.asked, {{"status", "completed"}, {"execution_id", "00000000-0000-7000-8000-000000000000"}})
            .status,
        422);
    EXPECT_EQ(Peer::call_back(run.asked, {{"status", "partial"}}).json()["errors"][0]["pointer"], "/items");
    EXPECT_EQ(run.hub.status(run.id), "running");
}

TEST(Callback, HeartbeatsShowProgressAndMoveTheDeadline) {
    Running run({{"timeout_seconds", 2}, {"retry_policy", "none"}});
    const auto first = run.hub.execution(run.id)["timeout_at"].get<std::string>();
    for (int i = 1; i <= 6; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds{500});  // time itself is what this is about
        const auto reply = Peer::call_back(
            run.asked, {{"status", "running"}, {"progress", {{"done", i}, {"total", 6}, {"message", "going"}}}});
        ASSERT_EQ(reply.status, 200) << reply.body;
    }
    const auto view = run.hub.execution(run.id);
    EXPECT_EQ(view["status"], "running") << "three seconds in, with a timeout of two";
    EXPECT_EQ(view["progress"]["done"], 6);
    EXPECT_GT(view["timeout_at"].get<std::string>(), first);
    EXPECT_EQ(Peer::call_back(run.asked, {{"status", "completed"}}).status, 200);
}

TEST(Callback, ACallbackMayComeBeforeTheTriggerIsAnswered) {
    HubFixture hub;
    std::atomic<int> early{0};
    Peer peer([&](const Asked& asked) {
        early = Peer::call_back(asked, {{"status", "completed"}, {"result_data", "quick"}}).status;
        return Behaviour{};
    });
    hub.register_type("eager", peer.url());
    const auto end = hub.await_end(hub.enqueue("eager"));
    EXPECT_EQ(end["status"], "completed");
    // The end is seen by others before the peer has read its answer.
    EXPECT_TRUE(eventually([&] { return early == 200; })) << early;
    ASSERT_TRUE(eventually([&] {
        return hub.get("/v1/executions/" + end["execution_id"].get<std::string>() + "/deliveries")["deliveries"]
                   .size() == 1;
    })) << "the delivery is logged all the same";
}

TEST(Callback, APartialResultBecomesAChildOfTheFailedItems) {
    HubFixture hub;
    Peer peer;
    hub.register_type("batchy", peer.url(), {{"retry_policy", quick_retries(2)}});
    const auto id = hub.enqueue("batchy", {{"items", {"a", "b", "c"}}}, {{"context", {{"team", "seo"}}}});
    ASSERT_TRUE(peer.wait_for(1));
    const Json items = {{{"key", "a"}, {"status", "completed"}},
                        {{"key", "b"}, {"status", "failed"}, {"error", "too long"}},
                        {{"key", "c"}, {"status", "completed"}}};
    EXPECT_EQ(
        Peer::call_back(peer.asked()[0], {{"status", "partial"}, {"result_data", {{"good", 2}}}, {"items", items}})
            .status,
        200);
    ASSERT_TRUE(peer.wait_for(2));
    const auto child = peer.asked()[1];
    EXPECT_NE(child.execution_id(), id);
    EXPECT_EQ(child.json["context"]["retry_items"], Json::array({"b"}));
    EXPECT_EQ(child.json["context"]["retry_of"], id);
    EXPECT_EQ(child.json["context"]["team"], "seo");
    EXPECT_EQ(child.json["input_data"]["items"].size(), 3U);
    EXPECT_EQ(hub.execution(id)["status"], "running");
    EXPECT_EQ(hub.execution(id)["open_children"], 1);
    EXPECT_EQ(Peer::call_back(child, {{"status", "completed"}}).status, 200);
    const auto end = hub.await_end(id);
    EXPECT_EQ(end["status"], "completed");
    EXPECT_EQ(end["result_data"]["good"], 2);
    for (const auto& item : end["items"]) EXPECT_EQ(item["status"], "completed");
}

TEST(Callback, APartialChildThatFailsEndsItsParentWithTheGoodOnesKept) {
    HubFixture hub;
    Peer peer;
    hub.register_type("batchy", peer.url(), {{"retry_policy", quick_retries(1)}});
    const auto id = hub.enqueue("batchy");
    ASSERT_TRUE(peer.wait_for(1));
    Peer::call_back(peer.asked()[0],
                    {{"status", "partial"},
                     {"items", {{{"key", "a"}, {"status", "completed"}}, {{"key", "b"}, {"status", "failed"}}}}});
    ASSERT_TRUE(peer.wait_for(2));
    Peer::call_back(peer.asked()[1], {{"status", "failed"}, {"error_data", {{"message", "still too long"}}}});
    const auto end = hub.await_end(id);
    EXPECT_EQ(end["status"], "failed");
    EXPECT_EQ(end["items"][0]["status"], "completed");
    EXPECT_EQ(end["items"][1]["status"], "failed");
    EXPECT_EQ(end["error_data"]["message"], "still too long");
}

TEST(Callback, ARetryAskedForBySqlIsDecidedOnce) {
    for (const int tries : {0, 1}) {
        Json definition = {{"retry_policy", quick_retries(tries)}};
        Running run(definition);
        EXPECT_EQ(run.hub.database.value("select update_execution_status('" + run.id + "', 'retrying')"), "t");
        if (tries > 0) {
            ASSERT_TRUE(run.peer.wait_for(2)) << "it is tried again";
            EXPECT_EQ(Peer::call_back(run.peer.asked()[1], {{"status", "completed"}}).status, 200);
        }
        const auto end = run.hub.await_end(run.id);
        EXPECT_EQ(end["status"], tries > 0 ? "completed" : "dead");
        EXPECT_LT(run.hub.event_types(run.id).size(), 12U);
    }
}

const Json kOneOfTwo = {{"status", "partial"},
                        {"items", {{{"key", "a"}, {"status", "completed"}}, {{"key", "b"}, {"status", "failed"}}}}};

/// The child of a partial result, once it has been asked for.
Asked child_of(const Peer& peer, std::size_t nth) {
    EXPECT_TRUE(peer.wait_for(nth + 1));
    return peer.asked().at(nth);
}

TEST(Callback, AnEarlierOpeningsChildIsNoPartOfThisOne) {
    HubFixture hub;
    Peer peer;
    hub.register_type("batchy", peer.url(), {{"retry_policy", quick_retries(1)}});
    const auto id = hub.enqueue("batchy");
    Peer::call_back(child_of(peer, 0), kOneOfTwo);
    Peer::call_back(child_of(peer, 1), {{"status", "failed"}, {"error_data", {{"message", "too long"}}}});
    ASSERT_EQ(hub.await_end(id)["status"], "failed");
    ASSERT_EQ(hub.api("POST", "/v1/executions/" + id + "/retry").status, 200);
    Peer::call_back(child_of(peer, 2), kOneOfTwo);
    Peer::call_back(child_of(peer, 3), {{"status", "completed"}});
    const auto end = hub.await_end(id);
    EXPECT_EQ(end["status"], "completed") << "the child that failed belonged to the opening before";
    for (const auto& item : end["items"]) EXPECT_EQ(item["status"], "completed");
}

TEST(Callback, AParentThatIsEndedTakesItsChildrenWithIt) {
    HubFixture hub;
    Peer peer;
    hub.register_type("batchy", peer.url(), {{"retry_policy", quick_retries(3)}});
    const std::vector<std::function<void(const std::string&)>> ways = {
        [&](const std::string& id) {
            EXPECT_EQ(hub.api("POST", "/v1/executions/" + id + "/cancel", Json::object()).status, 200);
        },
        [&](const std::string& id) {
            EXPECT_EQ(hub.database.value("select update_execution_status('" + id + "', 'cancelled')"), "t");
        },
        [&](const std::string& id) {
            EXPECT_EQ(hub.database.value("select update_execution_status('" + id + "', 'completed')"), "t");
        }};
    std::size_t asked = 0;
    for (const auto& end : ways) {
        const auto id = hub.enqueue("batchy");
        Peer::call_back(child_of(peer, asked), kOneOfTwo);
        // The child has a child of its own.
        const auto child = child_of(peer, asked + 1);
        Peer::call_back(child, {{"status", "partial"}, {"items", {{{"key", "b"}, {"status", "failed"}}}}});
        const auto grandchild = child_of(peer, asked + 2);
        asked += 3;
        end(id);
        EXPECT_EQ(hub.await_end(grandchild.execution_id())["status"], "cancelled");
        EXPECT_EQ(hub.await_end(child.execution_id())["status"], "cancelled");
        ASSERT_TRUE(hub.await(id, [](const Json& e) { return e["open_children"] == 0; }));
        EXPECT_TRUE(peer.wait_until([&](const std::vector<Asked>& all) {
            return std::any_of(all.begin(), all.end(), [&](const Asked& each) {
                return each.method == "DELETE" && each.webhook_id() == grandchild.webhook_id();
            });
        })) << "whoever works on it is told";
        EXPECT_EQ(Peer::call_back(grandchild, {{"status", "completed"}}).status, 409);
    }
}

TEST(Callback, AParentThatSomebodyHoldsIsSettledOnceItIsFree) {
    HubFixture hub;
    Peer peer;
    hub.register_type("batchy", peer.url(), {{"retry_policy", quick_retries(3)}});
    const auto id = hub.enqueue("batchy");
    Peer::call_back(child_of(peer, 0), kOneOfTwo);
    const auto child = child_of(peer, 1);
    hub.database.transact([&](platform::Tx& tx) {
        tx.run("select from executions where execution_id = '" + id + "' for update");
        EXPECT_EQ(Peer::call_back(child, {{"status", "completed"}}).status, 200) << "the child does not wait for it";
        EXPECT_EQ(hub.status(child.execution_id()), "completed");
        EXPECT_EQ(hub.status(id), "running");
        // Held long enough to be tried in vain more than once: what takes place in between shows that time has passed.
        const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds{2500};
        EXPECT_TRUE(eventually([&] { return std::chrono::steady_clock::now() > until; }));
        EXPECT_EQ(hub.status(id), "running");
    });
    EXPECT_EQ(hub.await_end(id, 10)["status"], "completed");
}

TEST(Callback, ALateResultIsEvidenceAndCanBeAccepted) {
    Running run({{"timeout_seconds", 1}, {"retry_policy", "none"}});
    ASSERT_EQ(run.hub.await_end(run.id)["status"], "dead");
    const auto late = Peer::call_back(run.asked, {{"status", "completed"}, {"result_data", {{"late", true}}}});
    EXPECT_EQ(late.status, 409);
    const auto attempts = run.hub.get("/v1/executions/" + run.id + "/attempts");
    ASSERT_EQ(attempts["refused_callbacks"].size(), 1U);
    EXPECT_EQ(attempts["attempts"][0]["outcome"], "timeout");
    EXPECT_EQ(run.hub.api("POST", "/v1/executions/" + run.id + "/accept-late").status, 200);
    const auto end = run.hub.execution(run.id);
    EXPECT_EQ(end["status"], "completed");
    EXPECT_EQ(end["result_data"]["late"], true);
    const auto again = Peer::call_back(run.asked, {{"status", "completed"}, {"result_data", {{"late", true}}}});
    EXPECT_EQ(again.status, 200);
    EXPECT_EQ(again.json()["replayed"], true);
    const auto types = run.hub.event_types(run.id);
    EXPECT_EQ(types[types.size() - 2], "execution.reopened");
    EXPECT_EQ(types.back(), "execution.completed");
}

}
}
