// "Why is this not running?", asked of real hubs: for now and for what was, of whoever leads and of whoever does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

using ::testing::HasSubstr;

constexpr double kPatience = 40;
const std::string kDone = R"({"status":"completed","result_data":1})";

class Explain : public ::testing::Test {
  protected:
    HubFixture hub;
    /// Takes everything and says nothing of it; what it has taken is ended by hand.
    Peer peer;

    /// A hub is ready before one leads.
    void SetUp() override {
        ASSERT_TRUE(
            eventually([&] { return hub.database.value("select epoch > 0 from scheduler") == "t"; }, kPatience));
    }
    Json explain(const std::string& id, const std::string& at = "") const {
        return hub.get("/v1/executions/" + id + "/explain" + (at.empty() ? "" : "?at=" + at));
    }
    static std::string kind(const Json& answer) {
        const auto blocker = answer.value("blocker", Json());
        return blocker.is_object() ? blocker["kind"].get<std::string>() : "none: " + answer.value("why", answer.dump());
    }
    /// Waits until that is what stops it.
    Json await_blocker(const std::string& id, const std::string& wanted) const {
        Json answer;
        EXPECT_TRUE(eventually([&] { return kind(answer = explain(id)) == wanted; }, kPatience))
            << wanted << ": " << answer.dump(2);
        return answer;
    }
    /// One that the scheduler has written down.
    Json await_recorded(const std::string& id, const std::string& wanted) const {
        EXPECT_TRUE(eventually(
            [&] {
                return hub.database.value("select count(*) from lane_gates where ended_at is null and gate = '" +
                                          wanted + "'") == "1";
            },
            kPatience));
        return await_blocker(id, wanted);
    }
    bool await_started(const std::string& id) const {
        return hub.await(
            id,
            [](const Json& e) {
                return e["status"] == "dispatching" || e["status"] == "running" || e["status"] == "completed";
            },
            kPatience);
    }
    void end_first() {
        ASSERT_TRUE(peer.wait_for(1, kPatience));
        EXPECT_EQ(Peer::call_back(peer.asked().front(), Json::parse(kDone)).status, 200);
    }
    std::string now() const {
        return hub.database.value(
            "select to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')");
    }
};

TEST_F(Explain, TheBlockerRemovedTheNextIsNamedUntilItStarts) {
    hub.register_type("t", peer.url(), {{"max_concurrency", 1}});
    hub.enqueue("t");
    ASSERT_TRUE(peer.wait_for(1, kPatience));
    ASSERT_EQ(hub.api("POST", "/v1/pause", {{"workflow_type", "t"}, {"reason", "moving"}}).status, 200);
    const auto id = hub.enqueue("t");
    const auto paused = await_blocker(id, "paused");
    EXPECT_EQ(paused["standing"], "stopped");
    EXPECT_EQ(paused["status"], "queued");
    EXPECT_THAT(paused["why"].get<std::string>(), HasSubstr("moving"));
    EXPECT_EQ(paused["change"]["command"], "impresario resume t");
    EXPECT_EQ(paused["expected_start"]["latest"], nullptr) << "nobody knows when somebody resumes it";
    ASSERT_EQ(paused["behind_it"].size(), 1U);
    EXPECT_EQ(paused["behind_it"][0]["kind"], "concurrency");
    EXPECT_EQ(paused["rank"]["lane"], 1);
    EXPECT_EQ(paused["score"]["priority"], 500.0);
    EXPECT_TRUE(paused["score"]["changes_at"].is_string());

    ASSERT_EQ(hub.api("POST", "/v1/resume", {{"workflow_type", "t"}}).status, 200);
    const auto full = await_recorded(id, "concurrency");
    EXPECT_EQ(full["blocker"]["numbers"], (Json{{"in_use", 1}, {"limit", 1}}));
    EXPECT_THAT(full["change"]["command"].get<std::string>(), HasSubstr(".max_concurrency = 2"));
    end_first();
    EXPECT_TRUE(await_started(id));
    EXPECT_EQ(explain(id)["standing"], "under_way");
    const auto metrics = hub.api("GET", "/metrics").body;
    EXPECT_THAT(metrics,
                ::testing::ContainsRegex(
                    "impresario_gate_closed_seconds_total\\{gate=\"paused\",[^}]*workflow_type=\"t\"\\} [0-9.]*[1-9]"));
}

TEST_F(Explain, WhatGoesBeforeItIsNamedInItsOrder) {
    hub.register_type("t", peer.url());
    hub.register_type("other", peer.url());
    ASSERT_EQ(hub.api("POST", "/v1/pause").status, 200);
    const auto low = hub.enqueue("t", {{"n", 1}}, {{"priority", 10}});
    const auto high = hub.enqueue("t", {{"n", 2}}, {{"priority", 90}});
    const auto middle = hub.enqueue("t", {{"n", 3}}, {{"priority", 60}});
    hub.enqueue("other", {{"n", 4}}, {{"priority", 95}});
    const auto answer = explain(low);
    EXPECT_EQ(answer["rank"]["lane"], 3) << answer.dump(2);
    EXPECT_EQ(answer["rank"]["overall"], 3) << "the other lane is stopped as well";
    EXPECT_EQ(answer["before"]["count"], 2);
    ASSERT_EQ(answer["before"]["first"].size(), 2U);
    EXPECT_EQ(answer["before"]["first"][0]["execution_id"], high);
    EXPECT_EQ(answer["before"]["first"][1]["execution_id"], middle);
    EXPECT_EQ(answer["change"]["command"], "impresario resume");
    EXPECT_EQ(explain(high)["rank"]["lane"], 1);
    EXPECT_EQ(explain(middle)["before"]["count"], 1);
}

TEST_F(Explain, NotYetDue) {
    hub.register_type("t", peer.url());
    const auto id = hub.enqueue("t", {{"n", 1}}, {{"scheduled_at", "2199-01-01T00:00:00Z"}});
    const auto answer = explain(id);
    EXPECT_EQ(answer["standing"], "not_due");
    EXPECT_EQ(answer["expected_start"]["earliest"], "2199-01-01T00:00:00.000000Z");
    ASSERT_EQ(hub.api("PATCH", "/v1/executions/" + id, {{"scheduled_at", now()}}).status, 200);
    EXPECT_TRUE(await_started(id));
    hub.register_type("again", peer.url("/again"), {{"retry_policy", quick_retries(3, 600)}});
    peer.set_script([](const Asked& asked) { return Behaviour{asked.path == "/again" ? 500 : 202, ""}; });
    const auto retried = hub.enqueue("again");
    ASSERT_TRUE(hub.await(
        retried, [](const Json& e) { return e["status"] == "retrying"; }, kPatience));
    EXPECT_THAT(explain(retried)["why"].get<std::string>(), HasSubstr("its next try comes at"));
}

TEST_F(Explain, AKeyIsAGateOfItsOwn) {
    hub.register_type("t", peer.url(), {{"concurrency_key", "/k"}});
    const auto first = hub.enqueue("t", {{"k", "x"}});
    ASSERT_TRUE(peer.wait_for(1, kPatience));
    const auto second = hub.enqueue("t", {{"k", "x"}});
    const auto third = hub.enqueue("t", {{"k", "x"}});
    const auto answer = await_blocker(second, "key_concurrency");
    EXPECT_EQ(answer["blocker"]["of"], "execution");
    EXPECT_EQ(answer["blocker"]["subject"], "x");
    ASSERT_TRUE(hub.await(
        third, [](const Json& e) { return e["waiting_for"].is_object(); }, kPatience));
    EXPECT_EQ(hub.database.value("select count(*) from lane_gates"), "0") << "no gate of the lane (R15)";
    const auto between = now();
    end_first();
    EXPECT_TRUE(await_started(second));
    EXPECT_EQ(kind(explain(third)), "key_concurrency") << "the second has its place now";
    const auto was = explain(second, between);
    EXPECT_EQ(was["status"], "queued");
    EXPECT_EQ(kind(was), "key_concurrency");
    EXPECT_EQ(was["blocker"]["of"], "execution");
}

TEST_F(Explain, ASwitchedOffTypeAndOneWithoutAnEndpoint) {
    hub.register_type("off", peer.url(), {{"enabled", false}});
    const auto off = hub.enqueue("off");
    const auto answer = await_blocker(off, "paused");
    EXPECT_THAT(answer["why"].get<std::string>(), HasSubstr("switched off"));
    EXPECT_THAT(answer["change"]["command"].get<std::string>(), HasSubstr(".enabled = true"));
    hub.register_type("off", peer.url());
    EXPECT_TRUE(await_started(off));

    const auto bare = hub.enqueue("seo_monitor");
    const auto none = await_recorded(bare, "endpoint");
    EXPECT_THAT(none["change"]["what"].get<std::string>(), HasSubstr("give the workflow type an endpoint"));
    EXPECT_EQ(none["expected_start"]["latest"], nullptr);
    hub.register_type("seo_monitor", peer.url());
    EXPECT_TRUE(await_started(bare));
}

TEST_F(Explain, AHeldEndpointAndATrippedBreaker) {
    peer.set_script([](const Asked&) { return Behaviour{403, "{}"}; });
    hub.register_type("t", peer.url());
    const auto id = hub.enqueue("t");
    const auto held = await_recorded(id, "endpoint");
    EXPECT_EQ(held["blocker"]["subject"], peer.url());
    EXPECT_TRUE(held["blocker"]["opens_at"].is_string());
    EXPECT_TRUE(held["expected_start"]["latest"].is_string());

    const auto endpoint = hub.get("/v1/workflow-types/t")["endpoints"][0]["endpoint_id"].get<std::string>();
    const auto at = "/v1/workflow-types/t/endpoints/" + endpoint;
    ASSERT_EQ(hub.api("POST", at + "/trip", {{"reason", "testing"}}).status, 200);
    peer.set_script([](const Asked&) { return Behaviour{}; });
    // Mended, as the answer says; then the breaker is what is left.
    hub.register_type("t", peer.url());
    const auto tripped = await_recorded(id, "breaker");
    EXPECT_EQ(tripped["change"]["command"], "impresario endpoints reset t " + endpoint);
    ASSERT_EQ(hub.api("POST", at + "/reset", Json::object()).status, 200);
    EXPECT_TRUE(await_started(id));
}

TEST_F(Explain, AProvidersLimit) {
    const auto limit = [](int requests) {
        return Json{{"limits", {{{"name", "rate"}, {"of", "requests"}, {"limit", requests}, {"per", 3600}}}}};
    };
    ASSERT_EQ(hub.api("PUT", "/v1/providers/test", limit(1)).status, 201);
    hub.register_type("t", peer.url(), {{"call_estimates", {{{"provider", "test"}, {"calls", 1}}}}});
    hub.enqueue("t");
    ASSERT_TRUE(peer.wait_for(1, kPatience));
    const auto id = hub.enqueue("t");
    const auto answer = await_recorded(id, "provider");
    EXPECT_EQ(answer["blocker"]["subject"], "test rate");
    EXPECT_EQ(answer["blocker"]["numbers"]["limit"], 1);
    EXPECT_THAT(answer["change"]["what"].get<std::string>(), HasSubstr("raise the limit rate of the provider test"));
    ASSERT_EQ(hub.api("PUT", "/v1/providers/test", limit(2)).status, 200);
    EXPECT_TRUE(await_started(id));
}

// What comes after the first gate is told with it: who opens that one knows what he meets.
TEST_F(Explain, ABudgetBehindAPause) {
    ASSERT_EQ(hub.api("PUT", "/v1/budgets/daily",
                      {{"limit_usd", "1"}, {"window", "day"}, {"steps", Json::array()}, {"reason", "test"}})
                  .status,
              201);
    hub.register_type("t", peer.url(), {{"cost_estimate_usd", "1"}});
    hub.enqueue("t");
    ASSERT_TRUE(peer.wait_for(1, kPatience));
    ASSERT_EQ(hub.api("POST", "/v1/pause", {{"workflow_type", "t"}}).status, 200);
    const auto id = hub.enqueue("t");
    const auto answer = hub.get("/v1/executions/" + id + "/explain");
    EXPECT_EQ(answer["blocker"]["kind"], "paused");
    ASSERT_THAT(answer["behind_it"], ::testing::SizeIs(1)) << answer;
    EXPECT_EQ(answer["behind_it"][0]["kind"], "budget");
    EXPECT_EQ(answer["behind_it"][0]["subject"], "daily");
}

TEST_F(Explain, ABudget) {
    const auto limit = [](const std::string& usd) {
        return Json{{"limit_usd", usd}, {"window", "day"}, {"steps", Json::array()}, {"reason", "test"}};
    };
    ASSERT_EQ(hub.api("PUT", "/v1/budgets/daily", limit("1")).status, 201);
    hub.register_type("t", peer.url(), {{"cost_estimate_usd", "1"}});
    hub.enqueue("t");
    ASSERT_TRUE(peer.wait_for(1, kPatience));
    const auto id = hub.enqueue("t");
    const auto answer = await_recorded(id, "budget");
    EXPECT_EQ(answer["blocker"]["subject"], "daily");
    EXPECT_THAT(answer["change"]["what"].get<std::string>(),
                HasSubstr("raise the limit of the budget daily to at least 2.000000 USD"));
    // Its numbers are those of now, not of when it closed.
    ASSERT_EQ(hub.api("PUT", "/v1/budgets/daily", limit("1.5")).status, 200);
    EXPECT_EQ(hub.get("/v1/executions/" + id + "/explain")["blocker"]["numbers"]["limit"], "1.500000");
    ASSERT_EQ(hub.api("PUT", "/v1/budgets/daily", limit("2")).status, 200);
    EXPECT_TRUE(await_started(id));

    auto asking = limit("10");
    asking["steps"] = {{{"at_percent", 20}, {"action", "ask_human"}}};
    ASSERT_EQ(hub.api("PUT", "/v1/budgets/daily", asking).status, 200);
    const auto third = hub.enqueue("t");
    EXPECT_EQ(await_recorded(third, "budget")["change"]["command"], "impresario budgets approve daily");
    ASSERT_EQ(hub.api("POST", "/v1/budgets/daily/approve", Json::object()).status, 200);
    EXPECT_TRUE(await_started(third));
}

TEST_F(Explain, ANodeThatDoesNotLeadSaysTheSame) {
    hub.register_type("t", peer.url(), {{"max_concurrency", 1}});
    hub.enqueue("t");
    ASSERT_TRUE(peer.wait_for(1, kPatience));
    const auto first = hub.enqueue("t");
    const auto id = hub.enqueue("t");
    await_recorded(id, "concurrency");
    const HubProcess other(hub.database, hub.key_file(), hub.config());
    const auto there =
        request(other.port(), "GET", "/v1/executions/" + id + "/explain", {{"authorization", "Bearer " + hub.key}})
            .json();
    const auto here = explain(id);
    for (const auto* part : {"why", "status", "standing", "rank", "before", "change", "blocker", "behind_it"}) {
        auto a = here[part];
        auto b = there[part];
        // What grows with every turn.
        for (auto* each : {&a, &b})
            if (each->is_object())
                for (const auto* moving : {"closed_seconds", "seen"}) each->erase(moving);
        if (std::string(part) == "before")
            for (auto* each : {&a, &b})
                for (auto& ahead : (*each)["first"]) ahead.erase("score");
        EXPECT_EQ(a, b) << part;
    }
    EXPECT_EQ(there["before"]["first"][0]["execution_id"], first);
}

TEST_F(Explain, ThePastNamesTheGateThatWasClosedThen) {
    hub.register_type("t", peer.url(), {{"max_concurrency", 1}});
    hub.enqueue("t");
    ASSERT_TRUE(peer.wait_for(1, kPatience));
    const auto id = hub.enqueue("t", {{"n", 1}}, {{"priority", 40}});
    const auto before_it = hub.enqueue("t", {{"n", 2}}, {{"priority", 80}});
    await_recorded(id, "concurrency");
    const auto full = now();
    ASSERT_EQ(hub.api("POST", "/v1/pause", {{"workflow_type", "t"}}).status, 200);
    await_recorded(id, "paused");
    const auto paused = now();
    ASSERT_EQ(hub.api("PATCH", "/v1/executions/" + id, {{"priority", 90}}).status, 200);
    // Another leads, and what was is as it was.
    hub.hub->kill();
    hub.start();
    await_recorded(id, "paused");
    EXPECT_EQ(hub.database.value("select count(*) from lane_gates where gate = 'paused'"), "1") << "one interval";
    ASSERT_EQ(hub.api("POST", "/v1/resume", {{"workflow_type", "t"}}).status, 200);
    await_recorded(id, "concurrency");
    ASSERT_EQ(hub.api("POST", "/v1/executions/" + id + "/cancel").status, 200);

    auto was = explain(id, full);
    EXPECT_EQ(was["past"], true);
    EXPECT_EQ(was["status"], "queued") << was.dump(2);
    EXPECT_EQ(kind(was), "concurrency");
    EXPECT_EQ(was["priority"], 40);
    EXPECT_EQ(was["score"]["priority"], 400.0);
    EXPECT_EQ(was["rank"]["lane"], 2);
    EXPECT_EQ(was["change"], nullptr);
    was = explain(id, paused);
    EXPECT_EQ(kind(was), "paused");
    EXPECT_TRUE(was["blocker"]["until"].is_string()) << "it is over";
    ASSERT_EQ(was["behind_it"].size(), 0U) << "the scheduler stops at the first that is closed";
    was = explain(id, now());
    EXPECT_EQ(was["standing"], "ended");
    std::set<std::string> met;
    for (const auto& gate : was["gates"]) met.insert(gate["kind"]);
    EXPECT_EQ(met, (std::set<std::string>{"concurrency", "paused"})) << was["gates"].dump(2);
    EXPECT_EQ(explain(before_it)["rank"]["lane"], 1);
}

/// What is kept of the deferrals does not grow with them (docs/limits.md has the figure).
TEST_F(Explain, ManyDecisionsMakeFewRows) {
    Peer quick([](const Asked&) { return Behaviour{200, kDone}; });
    hub.register_type("t", quick.url(), {{"max_concurrency", 1}});
    Json executions = Json::array();
    for (int i = 0; i < 400; ++i) executions.push_back({{"workflow_type", "t"}, {"input", {{"n", i}}}});
    ASSERT_EQ(hub.api("POST", "/v1/executions/batch", {{"executions", executions}}).status, 201);
    ASSERT_TRUE(eventually(
        [&] { return hub.database.value("select count(*) from executions where status = 'completed'") == "400"; }, 90));
    const auto count = [&](const std::string& what) { return std::stol(hub.database.value("select " + what)); };
    ASSERT_TRUE(eventually(
        [&] {
            return count("count(*) from lane_gates where ended_at is not null") > 0 &&
                   count("count(*) from lane_gates where ended_at is null") == 0;
        },
        kPatience));
    const auto rows = count("count(*) from lane_gates");
    const auto turns = count("sum(seen) from lane_gates");
    std::cout << turns << " turns that found a gate closed in " << rows << " rows, "
              << count("sum(pg_column_size(g.*)) from lane_gates g") << " bytes" << std::endl;
    EXPECT_GE(turns, 300);
    EXPECT_LE(rows, 8);
    EXPECT_EQ(count("count(*) from events where type = 'execution.deferred'"), 0)
        << "a lane's gate is not its executions'";
}

TEST_F(Explain, WhatIsAskedWronglyIsSaid) {
    hub.register_type("t", peer.url());
    const auto id = hub.enqueue("t");
    for (const auto* at : {"yesterday", "2026-13-01T00:00:00Z", "2199-01-01T00:00:00Z", "2001-01-01T00:00:00Z", ""}) {
        const auto refused = hub.api("GET", "/v1/executions/" + id + "/explain?at=" + at);
        EXPECT_EQ(refused.status, 422) << at;
        EXPECT_THAT(refused.body, HasSubstr("\"at\"")) << at;
    }
    EXPECT_EQ(hub.api("GET", "/v1/executions/none/explain").status, 404);
    EXPECT_EQ(hub.api("GET", "/v1/executions/01890000-0000-7000-8000-000000000000/explain").status, 404);
    EXPECT_EQ(request(hub.hub->port(), "GET", "/v1/executions/" + id + "/explain").status, 401);
    const auto viewer = hub.make_key("viewer", "reader");
    EXPECT_EQ(
        request(hub.hub->port(), "GET", "/v1/executions/" + id + "/explain", {{"authorization", "Bearer " + viewer}})
            .status,
        200);
    hub.database.run(
        "insert into organizations (organization_id, name) values ('elsewhere', 'Elsewhere');"
        "update executions set organization_id = 'elsewhere' where execution_id = '" +
        id + "'");
    EXPECT_EQ(hub.api("GET", "/v1/executions/" + id + "/explain").status, 404) << "it is somebody else's";
}

TEST_F(Explain, OnTheCommandLine) {
    hub.register_type("t", peer.url());
    ASSERT_EQ(hub.api("POST", "/v1/pause", {{"workflow_type", "t"}, {"reason", "moving"}}).status, 200);
    const auto id = hub.enqueue("t");
    await_recorded(id, "paused");
    const auto table = hub.cli({"explain", id, "--table"});
    EXPECT_EQ(table.code, 0) << table.text;
    EXPECT_THAT(table.text, HasSubstr("paused"));
    EXPECT_THAT(table.text, HasSubstr("impresario resume t"));
    EXPECT_THAT(table.text, HasSubstr("1 in its lane"));
    EXPECT_EQ(Json::parse(hub.cli({"explain", id, "--json"}).text)["blocker"]["kind"], "paused");
    EXPECT_EQ(Json::parse(hub.cli({"explain", id, "--json", "--at", now()}).text)["past"], true);
    EXPECT_EQ(hub.cli({"explain", id, "--at", "tomorrow"}).code, 4);
}

}
}
