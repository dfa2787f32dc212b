// impresario fsck on the running program: no false alarm under load, damage found, repaired where that is safe, held
// where it is not, and always said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

using ::testing::HasSubstr;

const Json kBudget{{"limit_usd", "1000"}, {"window", "day"}, {"steps", Json::array()}, {"reason", "test"}};

Json fsck(const HubFixture& hub, bool repair = false) {
    const auto reply = hub.api("POST", "/v1/fsck", {{"repair", repair}});
    EXPECT_EQ(reply.status, 200) << reply.body;
    return reply.status == 200 ? reply.json() : Json{{"found", reply.body}};
}

Json check_of(const Json& answer, const std::string& name) {
    for (const auto& check : answer["checks"])
        if (check["name"] == name) return check;
    return Json::object();
}

Behaviour done() { return {200, R"({"status":"completed","metrics":{"cost_usd":"0.5"},"result_data":1})"}; }

std::string ended(const HubFixture& hub) {
    return hub.database.value(
        "select count(*) from executions where status in ('completed', 'failed', 'cancelled', 'dead')");
}

/// A lane with one execution that is completed.
void complete_one(const HubFixture& hub, const Peer& peer, const std::string& type) {
    hub.register_type(type, peer.url(), {{"cost_estimate_usd", "1"}});
    ASSERT_EQ(hub.await_end(hub.enqueue(type)).value("status", ""), "completed");
}

TEST(Fsck, FindsNothingWhileHubsWorkAndDie) {
    HubFixture hub;
    std::atomic<int> count = 0;
    Peer peer([&](const Asked& asked) {
        if (asked.method != "POST") return Behaviour{404, "{}"};
        const int n = ++count;
        if (asked.path == "/parts" && !asked.json["context"].contains("retry_items")) {
            Peer::call_back(asked, {{"status", "running"}, {"progress", 10}, {"metrics", {{"cost_usd", "0.1"}}}});
            Peer::call_back(
                asked, {{"status", "partial"},
                        {"items", {{{"key", "a"}, {"status", "completed"}}, {{"key", "b"}, {"status", "failed"}}}}});
            return Behaviour{};
        }
        if (n % 5 == 0) return Behaviour{503, "{}"};
        if (n % 29 == 0) return Behaviour{429, "{}", {{"retry-after", "1"}}};
        if (n % 11 == 0) {
            Peer::call_back(asked,
                            {{"status", "failed"}, {"error_data", {{"message", "no"}, {"retry_recommended", true}}}});
            return Behaviour{};
        }
        return done();
    });
    hub.api("PUT", "/v1/providers/metered",
            {{"limits", {{{"name", "rate"}, {"of", "requests"}, {"limit", 1000}, {"per", "second"}}}}});
    hub.api("PUT", "/v1/budgets/day", kBudget);
    const Json more{{"retry_policy", quick_retries(6, 0.1)},
                    {"timeout_seconds", 3},
                    {"cost_estimate_usd", "1"},
                    {"call_estimates", {{{"provider", "metered"}, {"calls", 1}}}}};
    hub.register_type("works", peer.url(), more);
    hub.register_type("parts", peer.url("/parts"), more);
    HubProcess second(hub.database, hub.key_file(), hub.config());
    ASSERT_TRUE(second.wait_ready());
    int looked = 0;
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 30; ++i) {
            const auto id = hub.enqueue(i % 4 == 0 ? "parts" : "works");
            if (i % 9 == 0) hub.api("POST", "/v1/executions/" + id + "/cancel", Json::object());
            if (i % 10 != 0) continue;
            const auto answer = fsck(hub);
            EXPECT_EQ(answer["found"], 0) << answer.dump(1);
            ++looked;
        }
        if (round == 0) second.kill();
        if (round == 1) {
            hub.hub->kill();
            hub.start();
        }
    }
    EXPECT_EQ(looked, 9);
    ASSERT_TRUE(eventually(
        [&] {
            const auto answer = fsck(hub);
            EXPECT_EQ(answer["found"], 0) << answer.dump(1);
            return ended(hub) == hub.database.value("select count(*) from executions");
        },
        120));
    EXPECT_GE(std::stoi(hub.database.value("select count(*) from executions")), 90);
    EXPECT_EQ(hub.database.value("select count(*) > 0 from ledger_entries"), "t");
    EXPECT_EQ(hub.cli({"fsck"}).code, 0);
}

TEST(Fsck, ABalanceThatIsWrongIsRepairedAndTold) {
    Peer peer([](const Asked&) { return done(); });
    HubFixture hub;
    ASSERT_EQ(hub.api("PUT", "/v1/budgets/day", kBudget).status, 201);
    complete_one(hub, peer, "mine");
    const auto kept = hub.cli({"fsck", "--table"});
    EXPECT_EQ(kept.code, 0) << kept.text;
    EXPECT_THAT(kept.text, HasSubstr("every promise is kept"));

    hub.database.run("update budget_balances set settled = settled + 1000000");
    const auto found = hub.cli({"fsck", "--table"});
    EXPECT_EQ(found.code, 1) << found.text;
    EXPECT_THAT(found.text, HasSubstr("budget day"));
    EXPECT_THAT(found.text,
                HasSubstr("are 1.500000, 0.000000, 0.000000 USD, its entries say 0.500000, 0.000000, 0.000000"));
    EXPECT_THAT(found.text, HasSubstr("nothing was changed"));
    EXPECT_EQ(hub.database.value("select settled from budget_balances"), "1500000") << "asked to look only";

    const auto repaired = hub.cli({"fsck", "--repair", "--json"});
    EXPECT_EQ(repaired.code, 1) << repaired.text;
    const auto json = Json::parse(repaired.text);
    EXPECT_EQ(json["found"], 1);
    EXPECT_EQ(json["repaired"], 1);
    EXPECT_EQ(check_of(json, "balances")["findings"][0]["done"], "repaired: it is what its entries say");
    EXPECT_EQ(hub.database.value("select settled from budget_balances"), "500000");
    const auto told = Json::parse(hub.database.value("select payload from events where type = 'budget.repaired'"));
    EXPECT_EQ(told["by"], "test");
    EXPECT_EQ(told["was"], "1.500000, 0.000000, 0.000000");
    EXPECT_EQ(told["is"], "0.500000, 0.000000, 0.000000");
    EXPECT_TRUE(hub.get("/v1/pauses")["pauses"].empty());

    EXPECT_EQ(hub.cli({"fsck", "--repair"}).code, 0);
    EXPECT_EQ(hub.database.value("select count(*) from events where type = 'budget.repaired'"), "1");
}

TEST(Fsck, MoneyThatNobodyGaveBackIsSpent) {
    Peer peer([](const Asked&) { return done(); });
    HubFixture hub;
    ASSERT_EQ(hub.api("PUT", "/v1/budgets/day", kBudget).status, 201);
    complete_one(hub, peer, "mine");
    hub.database.run(
        "insert into ledger_entries (attempt_id, movement, ordinal, budget_id, execution_id, window_start, window_end, "
        "available, reserved, suspense, settled) select gen_random_uuid(), 'reserve', 1, budget_id, (select "
        "execution_id "
        "from executions), window_start, window_end, -250000, 250000, 0, 0 from budget_balances;"
        "update budget_balances set reserved = reserved + 250000");
    const auto answer = fsck(hub, true);
    EXPECT_EQ(answer["found"], 1) << answer.dump(1);
    EXPECT_EQ(answer["repaired"], 1);
    EXPECT_EQ(answer["held"], 0);
    const auto finding = check_of(answer, "held_money")["findings"][0];
    EXPECT_THAT(finding.value("what", ""), HasSubstr("is closed, and budget day holds 0.250000 USD reserved"));
    EXPECT_TRUE(eventually(
        [&] { return hub.database.value("select settled || ' ' || reserved from budget_balances") == "750000 0"; }));
    EXPECT_EQ(fsck(hub)["found"], 0);
}

/// The alerts that tell of it: whose, which promise.
std::string alerted(const HubFixture& hub) {
    return hub.database.value(
        "select string_agg((labels ->> 'workflow_type') || ' ' || summary, ', ') from alerts "
        "where rule = 'promise_broken' and phase = 'firing' and labels ->> 'severity' = 'critical'");
}

TEST(Fsck, WhatCannotBeRepairedHoldsItsLaneAndSaysSo) {
    Peer peer([](const Asked&) { return done(); });
    HubFixture hub("[alerts]\nevery_seconds = 1\n");
    complete_one(hub, peer, "broken");
    complete_one(hub, peer, "whole");
    hub.database.run(
        "delete from execution_results where execution_id = (select execution_id from executions "
        "where workflow_type = 'broken')");
    EXPECT_EQ(fsck(hub)["found"], 1);
    EXPECT_TRUE(hub.get("/v1/pauses")["pauses"].empty()) << "asked to look only";

    const auto said = hub.cli({"fsck", "--repair", "--table"});
    EXPECT_EQ(said.code, 1);
    EXPECT_THAT(said.text, HasSubstr("is completed and has no result"));
    EXPECT_THAT(said.text, HasSubstr("held until it is resumed: broken"));
    const auto pauses = hub.get("/v1/pauses")["pauses"];
    ASSERT_EQ(pauses.size(), 1U) << pauses;
    EXPECT_EQ(pauses[0]["workflow_type"], "broken");
    EXPECT_EQ(pauses[0]["by"], "fsck");
    EXPECT_THAT(pauses[0].value("reason", ""), HasSubstr("P3 is broken (results)"));
    const auto alert = Json::parse(hub.database.value("select payload from events where type = 'lane.promise_broken'"));
    EXPECT_EQ(alert["promise"], "P3");
    EXPECT_EQ(alert["alert"], true);
    EXPECT_EQ(alert["by"], "test");
    EXPECT_TRUE(eventually([&] { return alerted(hub) == "broken Promise P3 is broken"; })) << alerted(hub);

    const auto waits = hub.enqueue("broken");
    ASSERT_TRUE(hub.await(waits, [](const Json& e) { return e["waiting_for"].is_object(); }));
    EXPECT_EQ(hub.execution(waits)["waiting_for"]["kind"], "paused");
    EXPECT_EQ(hub.await_end(hub.enqueue("whole")).value("status", ""), "completed");

    const auto again = fsck(hub, true);
    EXPECT_EQ(again["found"], 1);
    EXPECT_EQ(again["held"], 0) << "it is held already";
    EXPECT_EQ(check_of(again, "results")["findings"][0]["done"], "held until it is resumed: broken (before)");
    EXPECT_EQ(hub.database.value("select count(*) from events where type = 'lane.promise_broken'"), "1");

    ASSERT_EQ(hub.api("POST", "/v1/resume", {{"workflow_type", "broken"}}).status, 200);
    EXPECT_EQ(hub.await_end(waits).value("status", ""), "completed");
    EXPECT_TRUE(eventually([&] { return alerted(hub).empty(); })) << "it is looked after";
}

TEST(Fsck, WhatConcernsNoLaneIsToldByTheNode) {
    HubFixture hub("[alerts]\nevery_seconds = 1\n");
    ASSERT_EQ(hub.api("PUT", "/v1/budgets/day", kBudget).status, 201);
    hub.database.run("update budgets set last_seq = last_seq + 1");
    const auto answer = fsck(hub, true);
    EXPECT_EQ(answer["found"], 1) << answer.dump(1);
    EXPECT_EQ(answer["held"], 0);
    const auto told = Json::parse(hub.database.value("select payload from events where type = 'node.promise_broken'"));
    EXPECT_EQ(told["promise"], "P8");
    EXPECT_EQ(told["subject"], "budget day");
    EXPECT_EQ(told["alert"], true);
    EXPECT_TRUE(eventually([&] { return alerted(hub) == "none Promise P8 is broken"; })) << alerted(hub);
}

TEST(Fsck, WhoMayAskAndWhatMakesNoSense) {
    HubFixture hub;
    EXPECT_EQ(hub.cli({"fsck"}, hub.make_key("operator", "op")).code, 4);
    EXPECT_EQ(hub.api("POST", "/v1/fsck", {{"checks", {"balances"}}}).json()["checks"].size(), 1U);
    for (const auto& wrong : {Json{{"repair", "yes"}}, Json{{"checks", {"nonsense"}}}, Json{{"checks", Json::array()}},
                              Json{{"checks", 7}}, Json{{"mend", true}}})
        EXPECT_EQ(hub.api("POST", "/v1/fsck", wrong).status, 422) << wrong;
    // It needs no connection that stays.
    EXPECT_TRUE(eventually([&] {
        return hub.database.value("select count(*) from pg_stat_activity where application_name = 'impresario-fsck'") ==
               "0";
    }));
}

}
}
