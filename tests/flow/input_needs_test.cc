// What one execution needs as its input says, on the running program: by the API and by SQL, against a provider's
// limit.
#include <gtest/gtest.h>

#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

Json articles(int count) {
    Json list = Json::array();
    for (int i = 0; i < count; ++i) list.push_back("article " + std::to_string(i));
    return {{"articles", list}};
}

Json calls_per_hour(int limit) {
    return {{"limits", {{{"name", "rate"}, {"of", "requests"}, {"limit", limit}, {"per", "hour"}}}}};
}

Json three_calls_each() {
    const Json calls{{"from", "/input_data/articles"}, {"times", 3}};
    return {{"call_estimates", Json::array({{{"provider", "test"}, {"calls", calls}}})}};
}

class InputNeeds : public ::testing::Test {
  protected:
    HubFixture hub_;
    Peer peer_{[](const Asked&) { return Behaviour{200, R"({"status":"completed","result_data":1})"}; }};

    void SetUp() override {
        ASSERT_EQ(hub_.api("PUT", "/v1/providers/test", calls_per_hour(60)).status, 201);
        hub_.register_type("writer", peer_.url(), three_calls_each());
    }
    std::string by_sql(const Json& input) {
        return hub_.database.value("select enqueue_workflow_task('writer', 50, '" + input.dump() + "')");
    }
    bool waits_for_provider() {
        return eventually([&] {
            return hub_.database.value(
                       "select count(*) from lane_gates where gate = 'provider' and ended_at is null") == "1";
        });
    }
};

TEST_F(InputNeeds, TakeOfTheLimitWhatTheyAsk) {
    for (int i = 0; i < 5; ++i) {
        const auto id = i % 2 == 0 ? hub_.enqueue("writer", articles(4)) : by_sql(articles(4));
        const auto ended = hub_.await_end(id);
        EXPECT_EQ(ended["status"], "completed");
        EXPECT_EQ(ended["needs_from_input"], Json::array({{{"provider", "test"}, {"of", "calls"}, {"amount", 12}}}));
    }
    const auto asked = peer_.asked();
    ASSERT_EQ(asked.size(), 5U);
    for (const auto& each : asked)
        EXPECT_EQ(each.json["reserved"], Json::array({{{"provider", "test"}, {"calls", 12}}})) << each.body;

    const auto sixth = hub_.enqueue("writer", articles(4));
    ASSERT_TRUE(waits_for_provider());
    const auto gate = hub_.execution(sixth)["waiting_for"];
    EXPECT_EQ(gate["numbers"]["asks"], 12) << gate;
    EXPECT_EQ(gate["numbers"]["used"], 60);
    EXPECT_EQ(gate["numbers"]["limit"], 60);
    EXPECT_EQ(hub_.get("/v1/providers/test")["use"][0]["used"], 60);
    EXPECT_EQ(hub_.database.value("select sum(calls) from provider_permits where provider = 'test'"), "60");

    // What waits keeps what was taken, whatever the type says since; a new scheduler knows it too.
    hub_.register_type("writer", peer_.url(),
                       {{"call_estimates", Json::array({{{"provider", "test"}, {"calls", 1}}})}});
    hub_.hub->kill();
    hub_.start();
    ASSERT_EQ(hub_.api("PUT", "/v1/providers/test", calls_per_hour(71)).status, 200);
    ASSERT_TRUE(eventually([&] { return hub_.execution(sixth)["waiting_for"]["numbers"]["limit"] == 71; }, 60))
        << hub_.execution(sixth);
    EXPECT_EQ(hub_.execution(sixth)["waiting_for"]["numbers"]["asks"], 12);
    ASSERT_EQ(hub_.api("PUT", "/v1/providers/test", calls_per_hour(72)).status, 200);
    EXPECT_EQ(hub_.await_end(sixth, 60)["status"], "completed");
    EXPECT_EQ(hub_.get("/v1/providers/test")["use"][0]["used"], 72);
}

TEST_F(InputNeeds, ThatNobodyCanGrantAreRefusedAtTheDoor) {
    const auto refused = [&](const Json& input) {
        const auto reply = hub_.api("POST", "/v1/executions", {{"workflow_type", "writer"}, {"input", input}});
        EXPECT_EQ(reply.status, 422) << reply.body;
        const auto fault = reply.json()["errors"][0];
        return fault["pointer"].get<std::string>() + " " + fault["detail"].get<std::string>();
    };
    EXPECT_EQ(refused({{"article", 1}}), "/input/articles is missing: the type takes calls of test from it");
    EXPECT_EQ(refused({{"articles", "four"}}),
              "/input/articles is neither a number nor an array: the type takes calls of test from it");
    EXPECT_EQ(refused({{"articles", -1}}),
              "/input/articles must not be negative: the type takes calls of test from it");
    EXPECT_EQ(refused(articles(21)),
              "/input asks 63 of 60 requests per hour, more than it ever gives (rate of test); ask for less at a "
              "time, or raise the limit");
    // What its type declares is no different.
    hub_.register_type("greedy", peer_.url(), {{"call_estimates", {{{"provider", "test"}, {"calls", 100}}}}});
    const auto greedy = hub_.api("POST", "/v1/executions", {{"workflow_type", "greedy"}});
    EXPECT_EQ(greedy.status, 422);
    EXPECT_EQ(greedy.json()["errors"][0]["pointer"], "/workflow_type") << greedy.body;
    EXPECT_NE(greedy.body.find("asks 100 of 60 requests per hour, more than it ever gives"), std::string::npos);

    Json batch{{"executions", Json::array()}};
    for (const int count : {20, 21})
        batch["executions"].push_back({{"workflow_type", "writer"}, {"input", articles(count)}});
    const auto reply = hub_.api("POST", "/v1/executions/batch", batch);
    EXPECT_EQ(reply.status, 422);
    EXPECT_EQ(reply.json()["errors"][0]["pointer"], "/executions/1/input");
    EXPECT_EQ(hub_.database.value("select count(*) from executions"), "0");

    const auto refused_by_sql = [&](const Json& input) -> std::string {
        try {
            by_sql(input);
        } catch (const platform::StatementRefused& refusal) {
            return refusal.what();
        }
        return "taken";
    };
    EXPECT_NE(refused_by_sql({{"n", 1}}).find("/input_data/articles of the input is missing"), std::string::npos);
    const auto much = refused_by_sql(articles(21));
    EXPECT_NE(much.find("asks 63 calls of test, more than its limit rate ever gives (60)"), std::string::npos) << much;
    EXPECT_EQ(hub_.database.value("select count(*) from executions"), "0");

    const auto bad =
        hub_.api("PUT", "/v1/workflow-types/writer",
                 {{"call_estimates", Json::array({{{"provider", "test"}, {"calls", {{"from", "articles"}}}}})}});
    EXPECT_EQ(bad.status, 422);
    EXPECT_EQ(bad.json()["errors"][0]["pointer"], "/call_estimates/0/calls/from");

    // The limit is lowered afterwards: it says so.
    ASSERT_EQ(hub_.api("POST", "/v1/pause", {{"workflow_type", "writer"}}).status, 200);
    const auto id = hub_.enqueue("writer", articles(4));
    ASSERT_EQ(hub_.api("PUT", "/v1/providers/test", calls_per_hour(11)).status, 200);
    ASSERT_EQ(hub_.api("POST", "/v1/resume", {{"workflow_type", "writer"}}).status, 200);
    ASSERT_TRUE(waits_for_provider());
    const auto why = hub_.get("/v1/executions/" + id + "/explain")["blocker"];
    EXPECT_NE(why.dump().find("asks 12 of 11 requests per hour, more than it ever gives"), std::string::npos) << why;
}

TEST_F(InputNeeds, OfAReplayAreTakenByWhatTheTypeSaysToday) {
    const auto first = hub_.enqueue("writer", articles(2));
    hub_.await_end(first);
    const Json calls{{"from", "/articles"}, {"times", 5}};
    hub_.register_type("writer", peer_.url(),
                       {{"call_estimates", Json::array({{{"provider", "test"}, {"calls", calls}}})}});
    const auto again = hub_.api("POST", "/v1/executions/" + first + "/replay");
    ASSERT_EQ(again.status, 201) << again.body;
    const auto ended = hub_.await_end(again.json()["execution_id"]);
    EXPECT_EQ(ended["needs_from_input"][0]["amount"], 10);
}

}
}
