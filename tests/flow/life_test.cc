// The main job over real HTTP: enqueue → score → admit → dispatch → callback → settle.
#include <gtest/gtest.h>

#include <cstdlib>

#include "platform/signature.h"
#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

using Strings = std::vector<std::string>;

Behaviour accept() { return {}; }

TEST(Life, ARowFromPsqlGoesThroughARealPeerToSettlement) {
    HubFixture hub;
    Peer peer;
    hub.register_type("seo_monitor", peer.url());
    const auto id =
        hub.database.value("select enqueue_workflow_task('seo_monitor', 50, '{\"page\": \"https://example.com/é\"}')");
    ASSERT_TRUE(peer.wait_for(1));
    const auto asked = peer.asked()[0];
    EXPECT_EQ(asked.execution_id(), id);
    EXPECT_EQ(asked.json["input_data"]["page"], "https://example.com/é");
    EXPECT_EQ(asked.json["workflow_type"], "seo_monitor");
    EXPECT_EQ(asked.json["authentication"]["type"], "bearer");
    EXPECT_EQ(asked.json["timeout_seconds"], 300);
    ASSERT_TRUE(hub.await(id, [](const Json& e) { return e["status"] == "running"; }));
    const auto answer = Peer::call_back(
        asked,
        {{"execution_id", id},
         {"status", "completed"},
         {"result_data", {{"score", 91}}},
         {"metrics", {{"duration_ms", 12}, {"items_processed", 3}, {"cost_usd", 0.0123}, {"api_calls_made", 2}}}});
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.json()["ok"], true);
    EXPECT_FALSE(answer.json().contains("error"));
    const auto done = hub.await_end(id);
    EXPECT_EQ(done["status"], "completed");
    EXPECT_EQ(done["result_data"]["score"], 91);
    EXPECT_EQ(done["metrics"]["cost_usd"], "0.012300");
    EXPECT_EQ(hub.event_types(id),
              (Strings{"execution.queued", "execution.dispatched", "execution.accepted", "execution.completed"}));
    EXPECT_EQ(hub.database.value("select cost_usd from workflow_orchestration where execution_id = '" + id + "'"),
              "0.012300");
    EXPECT_EQ(hub.database.value("select usage_amount from workflow_resource_usage where execution_id = '" + id +
                                 "' and resource_type = 'api_call'"),
              "2");
    const auto deliveries = hub.get("/v1/executions/" + id + "/deliveries")["deliveries"];
    ASSERT_EQ(deliveries.size(), 1U);
    EXPECT_EQ(deliveries[0]["status"], 202);
    EXPECT_EQ(deliveries[0]["answer"], "{\"accepted\":true}");
}

TEST(Life, TriggersCarryEverySignatureAndHeader) {
    HubFixture hub;
    Peer peer;
    const std::string secret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";
    hub.register_type("signed", peer.url(),
                      {{"bearer", "lane-bearer"}, {"signing_secrets", {secret}}, {"headers", {{"X-Team", "seo"}}}});
    const auto rotated = hub.api("POST", "/v1/workflow-types/signed/rotate-signing-secret").json();
    const std::string fresh = rotated.at("signing_secret");
    EXPECT_EQ(rotated["live_secrets"], 2);
    hub.enqueue("signed");
    ASSERT_TRUE(peer.wait_for(1));
    const auto asked = peer.asked()[0];
    EXPECT_EQ(asked.headers.at("authorization"), "Bearer lane-bearer");
    EXPECT_EQ(asked.headers.at("x-team"), "seo");
    EXPECT_EQ(asked.headers.at("idempotency-key"), asked.webhook_id());
    EXPECT_EQ(asked.headers.at("x-idempotency-key"), asked.webhook_id());
    EXPECT_EQ(asked.headers.at("traceparent").size(), 55U);
    const auto now = domain::TimePoint{std::chrono::seconds{std::stoll(asked.headers.at("webhook-timestamp"))}};
    for (const auto& each : {secret, fresh})
        EXPECT_FALSE(platform::verify({domain::Secret(each)}, asked.webhook_id(), asked.headers.at("webhook-timestamp"),
                                      asked.headers.at("webhook-signature"), asked.body, now))
            << "old and new secret both verify";
    const auto shown = hub.api("GET", "/v1/workflow-types/signed").body;
    for (const auto& hidden : {secret, fresh, std::string("lane-bearer")})
        EXPECT_EQ(shown.find(hidden), std::string::npos);
    EXPECT_EQ(hub.database.value("select count(*) from workflow_types where bearer_sealed like '%lane-bearer%'"), "0")
        << "stored sealed";
}

TEST(Life, ASynchronousAnswerIsTheResult) {
    HubFixture hub;
    Peer peer([](const Asked&) {
        return Behaviour{200, R"({"status":"completed","result_data":{"sync":true},"metrics":{"items_processed":1}})"};
    });
    hub.register_type("sync", peer.url());
    const auto done = hub.await_end(hub.enqueue("sync"));
    EXPECT_EQ(done["status"], "completed");
    EXPECT_EQ(done["result_data"]["sync"], true);
}

TEST(Life, ScheduledWorkWaitsForItsTime) {
    HubFixture hub;
    Peer peer([](const Asked&) { return Behaviour{200, R"({"status":"completed","result_data":1})"}; });
    hub.register_type("later", peer.url());
    const auto far = hub.enqueue("later", {}, {{"scheduled_at", "2090-01-01T00:00:00Z"}});
    const auto waiting = hub.execution(far);
    EXPECT_EQ(waiting["status"], "queued");
    EXPECT_EQ(waiting["waiting_for"]["kind"], "not_due");
    const auto soon = hub.database.value(
        "select to_char((now() + interval '700 milliseconds') at time zone 'UTC', "
        "'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')");
    const auto id = hub.enqueue("later", {}, {{"scheduled_at", soon}});
    EXPECT_EQ(hub.execution(id)["status"], "queued");
    EXPECT_EQ(hub.await_end(id)["status"], "completed");
    EXPECT_EQ(hub.database.value("select started_at >= scheduled_at from executions where execution_id = '" + id + "'"),
              "t");
    EXPECT_EQ(hub.status(far), "queued");
    // Moved to now by hand.
    EXPECT_EQ(
        hub.api("PATCH", "/v1/executions/" + far, {{"scheduled_at", "2020-01-01T00:00:00Z"}, {"priority", "critical"}})
            .status,
        200);
    EXPECT_EQ(hub.await_end(far)["priority"], 90);
}

TEST(Life, ALimitOfOneRunsInScoreOrder) {
    HubFixture hub;
    Peer peer(std::bind(accept));
    hub.register_type("ordered", peer.url(), {{"max_concurrency", 1}});
    EXPECT_EQ(hub.api("POST", "/v1/pause", {{"workflow_type", "ordered"}, {"reason", "filling"}}).status, 200);
    std::map<std::string, int> priority;
    Json batch = Json::array();
    for (const int p : {10, 90, 50, 70, 30, 100, 0})
        batch.push_back({{"workflow_type", "ordered"}, {"priority", p}, {"input", {{"p", p}}}});
    const auto created = hub.api("POST", "/v1/executions/batch", {{"executions", batch}});
    ASSERT_EQ(created.status, 201) << created.body;
    EXPECT_EQ(created.json()["count"], 7);
    const auto first = created.json()["executions"][0]["execution_id"].get<std::string>();
    ASSERT_TRUE(hub.await(first, [](const Json& e) { return e["waiting_for"].is_object(); }));
    EXPECT_EQ(hub.execution(first)["waiting_for"]["kind"], "paused");
    EXPECT_EQ(peer.count(), 0U);
    const auto queue = hub.get("/v1/queue?limit=3");
    EXPECT_EQ(queue["next"][0]["priority"], 100);
    EXPECT_GE(queue["next"][0]["score"]["total"].get<double>(), 1000.0);
    EXPECT_EQ(hub.api("POST", "/v1/resume", {{"workflow_type", "ordered"}}).json()["was_paused"], true);
    std::vector<int> order;
    for (std::size_t i = 1; i <= 7; ++i) {
        ASSERT_TRUE(peer.wait_for(i));
        const auto asked = peer.asked()[i - 1];
        order.push_back(asked.json["input_data"]["p"]);
        EXPECT_EQ(peer.count(), i) << "one at a time";
        EXPECT_EQ(Peer::call_back(asked, {{"status", "completed"}}).status, 200);
    }
    EXPECT_EQ(order, (std::vector<int>{100, 90, 70, 50, 30, 10, 0}));
}

TEST(Life, AConcurrencyKeySerialisesOnlyItsOwn) {
    HubFixture hub;
    Peer peer(std::bind(accept));
    hub.register_type("keyed", peer.url(), {{"concurrency_key", "/customer"}, {"concurrency_key_limit", 1}});
    std::vector<std::string> a;
    for (int i = 0; i < 3; ++i) a.push_back(hub.enqueue("keyed", {{"customer", "a"}, {"i", i}}));
    const auto b = hub.enqueue("keyed", {{"customer", "b"}});
    ASSERT_TRUE(peer.wait_for(2));
    std::set<std::string> asked;
    for (const auto& each : peer.asked()) asked.insert(each.json["input_data"]["customer"].get<std::string>());
    EXPECT_EQ(asked, (std::set<std::string>{"a", "b"}));
    // The others say why they wait.
    ASSERT_TRUE(hub.await(a[1], [](const Json& e) { return e["waiting_for"].is_object(); }));
    EXPECT_EQ(hub.execution(a[1])["waiting_for"]["kind"], "key_concurrency");
    EXPECT_EQ(hub.execution(a[1])["waiting_for"]["subject"], "a");
    // b's end lets nobody in; each of a's lets in the next.
    std::size_t answered = 0;
    for (const auto& each : peer.asked())
        if (each.execution_id() == b) EXPECT_EQ(Peer::call_back(each, {{"status", "completed"}}).status, 200);
    EXPECT_EQ(hub.await_end(b)["status"], "completed");
    EXPECT_EQ(peer.count(), 2U);
    for (const auto& id : a) {
        ASSERT_TRUE(peer.wait_until([&](const std::vector<Asked>& all) {
            return std::any_of(all.begin(), all.end(), [&](const Asked& each) { return each.execution_id() == id; });
        }));
        EXPECT_EQ(peer.count(), 2 + answered++) << "one at a time";
        for (const auto& each : peer.asked())
            if (each.execution_id() == id) EXPECT_EQ(Peer::call_back(each, {{"status", "completed"}}).status, 200);
    }
    for (const auto& id : a) EXPECT_EQ(hub.await_end(id)["status"], "completed");
    EXPECT_EQ(peer.count(), 4U);
}

TEST(Life, WorkIsSharedAmongEndpointsByWeight) {
    HubFixture hub;
    Peer one([](const Asked&) {
        return Behaviour{
            200, R"({"status":"completed","result_data":1})", {}, "", false, false, std::chrono::milliseconds{30}};
    });
    Peer two([](const Asked&) {
        return Behaviour{
            200, R"({"status":"completed","result_data":1})", {}, "", false, false, std::chrono::milliseconds{30}};
    });
    hub.register_type("many", one.url(), {{"endpoints", {{{"url", one.url()}}, {{"url", two.url()}}}}});
    Json batch = Json::array();
    for (int i = 0; i < 40; ++i) batch.push_back({{"workflow_type", "many"}});
    hub.api("POST", "/v1/executions/batch", {{"executions", batch}});
    ASSERT_TRUE(eventually([&] { return one.count() + two.count() == 40; }));
    EXPECT_GE(one.count(), 10U);
    EXPECT_GE(two.count(), 10U);
}

TEST(Life, TheHubSaysWhatIsLeftOfLimitsAndMoney) {
    HubFixture hub;
    Peer peer([](const Asked&) {
        return Behaviour{
            200,
            R"({"status":"completed","result_data":1,"usage":[{"provider":"gemini","calls":3,"cost_usd":"0.5"}]})"};
    });
    auto status = hub.get("/v1/state")["resource_status"];
    EXPECT_EQ(status["cost_budget"]["daily_limit"], nullptr);
    EXPECT_EQ(status["api_limits"]["openai"]["remaining"], 50);
    for (const auto& [name, limit] : {std::pair{"wide", "30"}, {"narrow", "20"}})
        ASSERT_EQ(hub.api("PUT", std::string("/v1/budgets/") + name,
                          {{"limit_usd", limit}, {"window", "day"}, {"reason", "a test"}})
                      .status,
                  201);
    hub.register_type("paid", peer.url(),
                      {{"call_estimates", {{{"provider", "gemini"}, {"calls", 3}, {"cost_usd", "0.4"}}}}});
    hub.await_end(hub.enqueue("paid"));
    hub.await_end(hub.enqueue("paid"));
    status = hub.get("/v1/state")["resource_status"];
    EXPECT_EQ(status["api_limits"]["gemini"]["remaining"], 54) << status;
    EXPECT_EQ(status["api_limits"]["gemini"]["cost_today"], "1.000000") << status;
    EXPECT_EQ(status["api_limits"]["gemini"]["reset_at"], nullptr) << status;
    EXPECT_EQ(status["cost_budget"]["used_today"], "1.000000") << status;
    EXPECT_EQ(status["cost_budget"]["daily_limit"], "20.000000") << status;
    EXPECT_EQ(status["cost_budget"]["budget"], "narrow") << status;
}

TEST(Life, TheHubSaysWhatItIsDoing) {
    HubFixture hub;
    Peer peer;
    hub.register_type("seo_monitor", peer.url());
    const auto id = hub.enqueue("seo_monitor");
    ASSERT_TRUE(peer.wait_for(1));
    ASSERT_TRUE(eventually([&] { return hub.get("/v1/state")["current_state"] == "MONITORING"; }));
    const auto state = hub.get("/v1/state");
    EXPECT_EQ(state["active_executions"][0]["execution_id"], id);
    EXPECT_EQ(state["resource_status"]["database"]["max_connections"], 20);
    EXPECT_EQ(state["scheduler"]["leading"], true);
    Peer::call_back(peer.asked()[0], {{"status", "completed"}, {"metrics", {{"cost_usd", 1.25}}}});
    hub.await_end(id);
    ASSERT_TRUE(eventually([&] { return hub.get("/v1/state")["current_state"] == "IDLE"; }));
    EXPECT_EQ(hub.get("/v1/state")["today"]["spent_usd"], "1.250000");
    EXPECT_EQ(hub.get("/v1/nodes")["nodes"].size(), 1U);
    const auto metrics = request(hub.hub->port(), "GET", "/metrics").body;
    for (const auto* family :
         {"impresario_queue_depth", "impresario_queue_oldest_age_seconds", "impresario_executions_ended_total",
          "impresario_dispatch_wait_seconds_bucket", "impresario_callback_duration_seconds_bucket",
          "impresario_state_seconds", "impresario_database_pool"})
        EXPECT_NE(metrics.find(family), std::string::npos) << family;
}

}
}
