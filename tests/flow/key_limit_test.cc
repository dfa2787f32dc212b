// Limits by a key from the input on the running program: by the API and by SQL, whatever dies.
#include <gtest/gtest.h>

#include "tests/support/arrivals.h"
#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

Json keyed(int limit, const Json& per_key, const Json& per = "hour") {
    return {{"limits",
             {{{"name", "rate"},
               {"of", "requests"},
               {"limit", limit},
               {"per", per},
               {"key", "/input_data/customer"},
               {"per_key", per_key}}}}};
}

Json of(const std::string& customer) { return {{"customer", customer}}; }

Json batch_for_customer(const std::string& customer, int count) {
    Json executions = Json::array();
    for (int i = 0; i < count; ++i) executions.push_back({{"workflow_type", "calls"}, {"input", of(customer)}});
    return {{"executions", executions}};
}

bool behind_key(const Json& view) {
    return view["waiting_for"].is_object() && view["waiting_for"]["kind"] == "key_limit";
}

class KeyLimit : public ::testing::Test {
  protected:
    HubFixture hub_;
    Peer peer_{[](const Asked&) { return Behaviour{200, R"({"status":"completed","result_data":1})"}; }};

    void limit_to(const Json& definition) {
        const auto put = hub_.api("PUT", "/v1/providers/test", definition);
        ASSERT_TRUE(put.status == 200 || put.status == 201) << put.body;
    }
    void register_calls() {
        hub_.register_type("calls", peer_.url(), {{"call_estimates", {{{"provider", "test"}, {"calls", 1}}}}});
    }
    std::string by_sql(const Json& input) {
        return hub_.database.value("select enqueue_workflow_task('calls', 50, '" + input.dump() + "')");
    }
    std::string completed(const std::string& customer) {
        return hub_.database.value(
            "select count(*) from executions join execution_inputs using (execution_id) where status = 'completed' and "
            "input_data ->> 'customer' = '" +
            customer + "'");
    }
    Json use_of(const std::string& customer) {
        const auto use = hub_.get("/v1/providers/test")["use"][0];
        for (const auto& each : use["keys"])
            if (each["key"] == customer) return each;
        return use;
    }
};

TEST_F(KeyLimit, ACeilingStopsItsKeyAndNotTheLane) {
    limit_to(keyed(100, {{"ceiling", 2}}));
    register_calls();
    EXPECT_EQ(hub_.await_end(hub_.enqueue("calls", of("acme")))["limit_keys"],
              Json::array({{{"pointer", "/customer"}, {"value", "acme"}}}));
    const auto second = by_sql(of("acme"));
    EXPECT_EQ(hub_.await_end(second)["limit_keys"], Json::array({{{"pointer", "/customer"}, {"value", "acme"}}}))
        << "SQL takes it in the same way";
    const auto third = hub_.enqueue("calls", of("acme"));
    const auto fourth = by_sql(of("acme"));
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(hub_.await_end(hub_.enqueue("calls", of("c" + std::to_string(i))))["status"], "completed");

    ASSERT_TRUE(hub_.await(third, behind_key));
    ASSERT_TRUE(hub_.await(fourth, behind_key));
    const auto gate = hub_.execution(third)["waiting_for"];
    EXPECT_EQ(gate["subject"], "test rate acme");
    EXPECT_EQ(gate["numbers"]["used"], 2);
    EXPECT_EQ(gate["numbers"]["ceiling"], 2);
    EXPECT_TRUE(gate["opens_at"].is_string()) << gate;
    const auto why = hub_.get("/v1/executions/" + third + "/explain");
    EXPECT_EQ(why["blocker"]["kind"], "key_limit") << why;
    EXPECT_NE(why["change"].dump().find("per_key.ceiling"), std::string::npos) << why["change"];

    const auto use = hub_.get("/v1/providers/test")["use"][0];
    EXPECT_EQ(use["used"], 5);
    EXPECT_EQ(use["keys_in_use"], 4);
    EXPECT_EQ(use["keys"][0]["key"], "acme") << "who uses most comes first";
    EXPECT_EQ(use["keys"][0]["used"], 2);
    EXPECT_EQ(use["keys"][0]["headroom"], 0);
    EXPECT_EQ(use["keys"][1]["headroom"], 1);
    EXPECT_EQ(hub_.database.value("select available || ' ' || current_usage || ' ' || limit_value from "
                                  "check_resource_availability() where resource_type = 'provider:test:rate'"),
              "true 5 100")
        << "it is about all keys together";
    const auto metrics = hub_.api("GET", "/metrics").body;
    EXPECT_NE(
        metrics.find(R"(impresario_provider_limit_keys{limit="rate",provider="test",subject="",what="in_use"} 4)"),
        std::string::npos);
    EXPECT_EQ(metrics.find("acme"), std::string::npos);

    // A new scheduler counts for each key what the one before it granted.
    hub_.hub->kill();
    hub_.start();
    EXPECT_EQ(hub_.await_end(hub_.enqueue("calls", of("c0")), 60)["status"], "completed");
    const auto c0 = hub_.enqueue("calls", of("c0"));
    ASSERT_TRUE(hub_.await(c0, behind_key, 60));
    EXPECT_EQ(hub_.status(third), "queued");
    EXPECT_EQ(completed("acme"), "2");
    // More is allowed: it goes.
    limit_to(keyed(100, {{"ceiling", 3}}));
    EXPECT_EQ(hub_.await_end(third)["status"], "completed");
    EXPECT_EQ(hub_.await_end(c0)["status"], "completed");
    EXPECT_EQ(hub_.status(fourth), "queued");
}

TEST_F(KeyLimit, WhoFloodsDoesNotTakeWhatIsGuaranteedToAnother) {
    Arrivals arrivals;
    Peer counting([&](const Asked&) {
        arrivals.note();
        return Behaviour{200, R"({"status":"completed","result_data":1})"};
    });
    limit_to(keyed(20, {{"guaranteed", 6}, {"ceiling", 18}}, 2));
    hub_.register_type("calls", counting.url(), {{"call_estimates", {{{"provider", "test"}, {"calls", 1}}}}});
    ASSERT_EQ(hub_.api("POST", "/v1/executions/batch", batch_for_customer("flood", 300)).status, 201);
    ASSERT_TRUE(eventually([&] { return arrivals.count() >= 30; }, 60));
    // Of equal priority and younger than all that is before them in the same lane.
    const auto before = std::stoi(completed("flood"));
    ASSERT_EQ(hub_.api("POST", "/v1/executions/batch", batch_for_customer("small", 18)).status, 201);
    ASSERT_TRUE(eventually([&] { return completed("small") == "18"; }, 60)) << completed("small");
    const auto meanwhile = std::stoi(completed("flood")) - before;
    // Three windows of 6 each; in each no more than 14 are left for the flood, the one under way included.
    EXPECT_LE(meanwhile, 4 * 20 - 18) << "the small one waited for the flood";
    EXPECT_GE(meanwhile, 10) << "nothing is kept idle";
    EXPECT_LE(arrivals.most_within(std::chrono::seconds{2}), 20U);
}

TEST_F(KeyLimit, WhatIsGuaranteedIsNotKeptWhereNothingWaits) {
    limit_to(keyed(6, {{"guaranteed", 3}}));
    register_calls();
    ASSERT_EQ(hub_.api("POST", "/v1/executions/batch", batch_for_customer("flood", 6)).status, 201);
    EXPECT_TRUE(eventually([&] { return completed("flood") == "6"; }));
    const auto late = hub_.enqueue("calls", of("late"));
    EXPECT_TRUE(eventually([&] {
        return hub_.database.value("select count(*) from lane_gates where gate = 'provider' and ended_at is null") ==
               "1";
    })) << "the limit holds, whoever has been promised what of it";
    EXPECT_EQ(hub_.status(late), "queued");
}

/// More than one turn writes down.
TEST_F(KeyLimit, WhyIsWrittenDownForAllWhoWait) {
    limit_to(keyed(10000, {{"ceiling", 1}}));
    register_calls();
    hub_.await_end(hub_.enqueue("calls", of("acme")));
    hub_.database.run("select enqueue_workflow_task('calls', 50, '" + of("acme").dump() +
                      "') from generate_series(1, 3000)");
    EXPECT_TRUE(eventually([&] {
        return hub_.database.value(
                   "select count(*) from executions where status = 'queued' and gate ->> 'kind' = 'key_limit'") ==
               "3000";
    })) << hub_.database.value("select count(*) from executions where gate is not null");
}

TEST_F(KeyLimit, OfWhatRunsAtOnceCountsUntilItHasEnded) {
    Json definition{{"limits",
                     {{{"name", "at_once"},
                       {"of", "concurrency"},
                       {"limit", 5},
                       {"key", "/customer"},
                       {"per_key", {{"ceiling", 2}}}}}}};
    limit_to(definition);
    Peer slow([](const Asked&) { return Behaviour{202, "{}"}; });
    hub_.register_type("calls", slow.url(), {{"call_estimates", {{{"provider", "test"}, {"calls", 1}}}}});
    ASSERT_EQ(hub_.api("POST", "/v1/executions/batch", batch_for_customer("acme", 4)).status, 201);
    ASSERT_TRUE(eventually([&] { return slow.count() == 2; }));
    const auto other = hub_.enqueue("calls", of("other"));
    ASSERT_TRUE(eventually([&] { return slow.count() == 3; }));
    hub_.hub->kill();
    hub_.start();
    EXPECT_EQ(use_of("acme")["used"], 2);
    const auto running = hub_.database.value(
        "select execution_id from executions join execution_inputs using (execution_id) where timeout_at is not null "
        "and "
        "input_data ->> 'customer' = 'acme' limit 1");
    ASSERT_EQ(hub_.api("POST", "/v1/executions/" + running + "/cancel").status, 200);
    ASSERT_TRUE(eventually([&] { return slow.count() == 4; }, 60));
    EXPECT_EQ(use_of("acme")["used"], 2);
    EXPECT_EQ(hub_.database.value("select count(*) from executions where timeout_at is not null"), "3");
    EXPECT_TRUE(hub_.await(other, [](const Json& view) { return view["status"] == "running"; }));
}

TEST_F(KeyLimit, WhatIsWrongIsRefusedByName) {
    const auto refused = [&](const Json& definition) {
        const auto reply = hub_.api("PUT", "/v1/providers/test", definition);
        EXPECT_EQ(reply.status, 422) << reply.body;
        return reply.json()["errors"][0]["pointer"].get<std::string>();
    };
    EXPECT_EQ(refused(keyed(10, {{"ceiling", 11}})), "/limits/0/per_key/ceiling");
    EXPECT_EQ(refused(keyed(10, {{"guaranteed", 5}, {"ceiling", 4}})), "/limits/0/per_key/guaranteed");
    auto definition = keyed(10, {{"ceiling", 4}});
    definition["limits"][0]["key"] = "customer";
    EXPECT_EQ(refused(definition), "/limits/0/key");

    // What asks more than a key is ever given is refused at the door, as what asks more than the limit.
    limit_to(keyed(10, {{"ceiling", 4}}));
    const Json calls{{"from", "/n"}, {"otherwise", 1}};
    hub_.register_type("calls", peer_.url(),
                       {{"call_estimates", Json::array({{{"provider", "test"}, {"calls", calls}}})}});
    const auto reply =
        hub_.api("POST", "/v1/executions", {{"workflow_type", "calls"}, {"input", {{"customer", "acme"}, {"n", 5}}}});
    EXPECT_EQ(reply.status, 422) << reply.body;
    EXPECT_NE(reply.body.find("asks 5 of 4 requests per hour for each /input_data/customer"), std::string::npos)
        << reply.body;
    EXPECT_THROW(by_sql({{"customer", "acme"}, {"n", 5}}), platform::StatementRefused);
    EXPECT_EQ(hub_.database.value("select count(*) from executions"), "0");
}

/// The two doors take the same.
TEST_F(KeyLimit, KeysAreTakenAlikeByTheApiAndBySql) {
    limit_to(keyed(1000, {{"ceiling", 500}}));
    ASSERT_EQ(hub_.api("PUT", "/v1/providers/second",
                       {{"limits",
                         {{{"name", "a"}, {"of", "concurrency"}, {"limit", 900}, {"key", "/a~1b/0"}},
                          {{"name", "b"}, {"of", "concurrency"}, {"limit", 900}, {"key", "/customer"}}}}})
                  .status,
              201);
    hub_.register_type(
        "calls", peer_.url(),
        {{"call_estimates", {{{"provider", "test"}, {"calls", 1}}, {{"provider", "second"}, {"calls", 1}}}}});
    std::string long_one;
    for (int i = 0; i < 250; ++i) long_one += "ä";
    for (const Json& input :
         {Json{{"customer", "acme"}, {"a/b", {7, 8}}}, Json{{"customer", 12.50}}, Json{{"customer", true}},
          Json{{"customer", nullptr}}, Json{{"customer", {1}}}, Json{{"customer", "tab\t\\ and\nend"}},
          Json{{"customer", long_one}, {"a/b", {{"0", "x"}}}}, Json::array({1}), Json{{"n", 1}}}) {
        const auto by_api = hub_.enqueue("calls", input);
        const auto from_sql = by_sql(input);
        const auto text = [&](const std::string& id) {
            return hub_.database.value("select limit_keys from executions where execution_id = '" + id + "'");
        };
        EXPECT_FALSE(text(by_api).empty());
        EXPECT_EQ(text(by_api), text(from_sql)) << input;
        EXPECT_EQ(hub_.execution(by_api)["limit_keys"], hub_.execution(from_sql)["limit_keys"]);
    }
    const auto id = hub_.enqueue("calls", {{"customer", "tab\t\\ and\nend"}, {"a/b", {7}}});
    EXPECT_EQ(hub_.await_end(id)["limit_keys"],
              Json::array({{{"pointer", "/a~1b/0"}, {"value", "7"}},
                           {{"pointer", "/customer"}, {"value", "tab\t\\ and\nend"}}}));
}

}
}
