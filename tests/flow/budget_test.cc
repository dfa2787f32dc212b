// Money on the running program: counted at the peer and in the ledger, never past a limit, whatever dies.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <map>

#include "tests/support/arrivals.h"
#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

Json budget(const std::string& limit, Json more = Json::object()) {
    Json made{{"limit_usd", limit}, {"window", "day"}, {"steps", Json::array()}, {"reason", "test"}};
    made.update(more);
    return made;
}

Json costing(const std::string& usd, Json more = Json::object()) {
    Json made{{"cost_estimate_usd", usd}};
    made.update(more);
    return made;
}

Json batch_of(const std::string& type, int count, Json more = Json::object()) {
    Json executions = Json::array();
    for (int i = 0; i < count; ++i) {
        Json each{{"workflow_type", type}, {"input", {{"n", i}}}};
        each.update(more);
        executions.push_back(each);
    }
    return {{"executions", executions}};
}

Behaviour done_for(const std::string& usd) {
    return {200, R"({"status":"completed","metrics":{"cost_usd":")" + usd + R"("},"result_data":1})"};
}

std::string count(const HubFixture& hub, const std::string& status) {
    return hub.database.value("select count(*) from executions where status = '" + status + "'");
}

bool stopped_by_budget(const HubFixture& hub) {
    return hub.database.value("select count(*) from lane_gates where gate = 'budget' and ended_at is null") == "1";
}

Json gate_of(const HubFixture& hub, const std::string& type) {
    const auto state = hub.get("/v1/state");
    for (const auto& lane : state["lanes"])
        if (lane.value("workflow_type", "") == type && lane["gate"].is_object()) return lane["gate"];
    return Json::object();
}

std::string booked(const HubFixture& hub, const std::string& name) {
    const auto state = hub.get("/v1/budgets/" + name)["state"];
    return state.value("settled_usd", "?") + " " + state.value("reserved_usd", "?") + " " +
           state.value("suspense_usd", "?");
}

/// The balances are the sums of the entries.
void expect_balanced(const HubFixture& hub) {
    EXPECT_EQ(hub.database.value(R"(select count(*) from
        (select budget_id, window_start, sum(settled) s, sum(reserved) r, sum(suspense) u from ledger_entries group by 1, 2) e
        full join budget_balances b using (budget_id, window_start)
        where (e.s, e.r, e.u) is distinct from (b.settled, b.reserved, b.suspense))"),
              "0");
}

TEST(Budget, WhatIsSpentAndReservedIsNeverMoreThanItsLimit) {
    HubFixture hub;
    std::atomic<int> asked = 0;
    Peer peer([&](const Asked&) {
        ++asked;
        return done_for("1");
    });
    hub.register_type("costs", peer.url(), costing("1"));
    ASSERT_EQ(hub.api("PUT", "/v1/budgets/day", budget("10")).status, 201);
    ASSERT_EQ(hub.api("POST", "/v1/executions/batch", batch_of("costs", 30)).status, 201);
    ASSERT_TRUE(eventually([&] { return count(hub, "completed") == "10" && stopped_by_budget(hub); }));
    EXPECT_EQ(booked(hub, "day"), "10.000000 0.000000 0.000000");
    const auto gate = gate_of(hub, "costs");
    EXPECT_EQ(gate.value("kind", ""), "budget") << gate;
    EXPECT_EQ(gate.value("subject", ""), "day");
    EXPECT_EQ(gate["numbers"].value("limit", ""), "10.000000") << gate;

    // What it would do is known before it is done.
    const auto preview = hub.api("POST", "/v1/budgets/day/preview", budget("12.5")).json();
    for (const auto& lane : preview["lanes"]) {
        if (lane.value("workflow_type", "") != "costs") continue;
        EXPECT_EQ(lane.value("waiting", -1), 20) << lane;
        EXPECT_EQ(lane.value("fit_before", -1), 0) << lane;
        EXPECT_EQ(lane.value("fit_after", -1), 2) << lane;
    }
    EXPECT_EQ(count(hub, "completed"), "10");

    ASSERT_EQ(hub.api("PUT", "/v1/budgets/day", budget("12.5")).status, 200);
    ASSERT_TRUE(eventually([&] { return count(hub, "completed") == "12"; }));
    // From nothing again: what was spent before does not count.
    const auto reset_preview = hub.api("POST", "/v1/budgets/day/reset/preview", Json::object()).json();
    for (const auto& lane : reset_preview["lanes"]) {
        if (lane.value("workflow_type", "") != "costs") continue;
        EXPECT_EQ(lane.value("waiting", -1), 18) << lane;
        EXPECT_EQ(lane.value("fit_before", -1), 0) << lane;
        EXPECT_EQ(lane.value("fit_after", -1), 12) << lane;
    }
    EXPECT_EQ(count(hub, "completed"), "12");
    const auto reset = hub.api("POST", "/v1/budgets/day/reset", {{"reason", "the month was paid twice"}});
    ASSERT_EQ(reset.status, 200);
    EXPECT_EQ(reset.json()["version"], 4) << "1 and 2 were put, 3 ends what was before the reset";
    EXPECT_EQ(hub.get("/v1/budgets/day")["version"], 4);
    std::vector<int> versions;
    const auto history = hub.get("/v1/budgets/day/versions");
    for (const auto& each : history["versions"]) versions.push_back(each["version"]);
    EXPECT_EQ(versions, (std::vector<int>{4, 3, 2, 1}));
    ASSERT_TRUE(eventually([&] { return count(hub, "completed") == "24"; }));
    ASSERT_EQ(hub.api("DELETE", "/v1/budgets/day").status, 204);
    ASSERT_TRUE(eventually([&] { return count(hub, "completed") == "30"; }));
    EXPECT_EQ(asked.load(), 30);
    expect_balanced(hub);
}

// 003: at 90 % what is not critical pauses. However many a turn could start at once, the last tenth is for what is
// critical.
TEST(Budget, OneTurnLeavesWhatIsCriticalTheLastTenth) {
    HubFixture hub;
    Peer peer([&](const Asked&) { return done_for("1"); });
    hub.register_type("costs", peer.url(), costing("1"));
    hub.register_type("urgent", peer.url(), costing("1", {{"importance", "critical"}}));
    auto by_default = budget("20");
    by_default.erase("steps");
    ASSERT_EQ(hub.api("PUT", "/v1/budgets/day", by_default).status, 201);
    ASSERT_EQ(hub.api("POST", "/v1/executions/batch", batch_of("costs", 30)).status, 201);
    ASSERT_TRUE(eventually([&] { return count(hub, "completed") == "18" && stopped_by_budget(hub); }));
    const auto gate = gate_of(hub, "costs");
    EXPECT_NE(gate.value("detail", "").find("pause_non_critical"), std::string::npos) << gate;
    ASSERT_EQ(hub.api("POST", "/v1/executions/batch", batch_of("urgent", 3)).status, 201);
    ASSERT_TRUE(eventually([&] { return count(hub, "completed") == "20" && !gate_of(hub, "urgent").empty(); }));
    EXPECT_EQ(booked(hub, "day"), "20.000000 0.000000 0.000000");
    // A preview stops where the step would: at 22.50 of 25.
    by_default["limit_usd"] = "25";
    std::map<std::string, int> fit;
    const auto preview = hub.api("POST", "/v1/budgets/day/preview", by_default).json();
    for (const auto& lane : preview["lanes"]) fit[lane["workflow_type"]] = lane["fit_after"];
    EXPECT_EQ(fit["costs"], 3) << preview;
    EXPECT_EQ(fit["urgent"], 1) << preview;
    expect_balanced(hub);
}

/// Where budgets are ample a turn locks them last; what does not fit any more then undoes it, and it is decided anew.
TEST(Budget, WhatIsLoweredWhileATurnIsWrittenCounts) {
    HubFixture hub;
    Peer peer([](const Asked&) { return done_for("5"); });
    hub.register_type("costs", peer.url(), costing("5"));
    ASSERT_EQ(hub.api("PUT", "/v1/budgets/day", budget("1000")).status, 201);
    hub.hub->terminate();
    hub.start("", "sql.lock_concerned_budgets=delay(1500)");
    ASSERT_EQ(hub.api("POST", "/v1/executions/batch", batch_of("costs", 4)).status, 201);
    // The turn has all four in hand, and is about to come to the budget.
    ASSERT_TRUE(eventually([&] {
        return hub.database.value(
                   "select count(*) from pg_stat_activity where datname = current_database() and "
                   "state = 'idle in transaction' and query like '%with picked as materialized%'") == "1";
    }));
    ASSERT_EQ(hub.api("PUT", "/v1/budgets/day", budget("12")).status, 200);
    ASSERT_TRUE(eventually([&] { return stopped_by_budget(hub) && count(hub, "completed") == "2"; }, 20));
    EXPECT_EQ(peer.count(), 2U);
    EXPECT_EQ(booked(hub, "day"), "10.000000 0.000000 0.000000");
    EXPECT_EQ(count(hub, "queued"), "2");
    EXPECT_EQ(hub.database.value("select bool_and(a.granted_at > b.updated_at) from attempts a, budgets b"), "t")
        << "by a transaction that began afterwards";
    expect_balanced(hub);
}

/// P4 and P5 together, as the receiver and whoever reads the balances see them.
TEST(Budget, S09AThousandAtOnceByTwoNodesThatAreKilledPassNeitherTheBudgetNorTheLimit) {
    HubFixture hub;
    Arrivals arrivals;
    Peer peer([&](const Asked&) {
        arrivals.note();
        return done_for("1");
    });
    ASSERT_EQ(hub.api("PUT", "/v1/budgets/all",
                      budget("100", {{"window", {{"unit", "rolling"}, {"hours", 24}}},
                                     {"scope", {{"organization_id", nullptr}}}}))
                  .status,
              201);
    ASSERT_EQ(hub.api("PUT", "/v1/providers/test",
                      {{"limits", {{{"name", "rpm"}, {"of", "requests"}, {"limit", 60}, {"per", "minute"}}}}})
                  .status,
              201);
    // What a killed node had under way may have been done: it is settled by what was expected, and tried anew.
    hub.register_type("costs", peer.url(),
                      costing("1", {{"call_estimates", {{{"provider", "test"}, {"calls", 1}}}},
                                    {"timeout_seconds", 4},
                                    {"retry_policy", quick_retries(6, 0.2)}}));
    HubProcess second(hub.database, hub.key_file(), hub.config());
    ASSERT_TRUE(second.wait_ready());
    int readings = 0;
    const auto eventually_within_budget = [&](const std::function<bool()>& condition, double seconds) {
        return eventually(
            [&] {
                ++readings;
                EXPECT_EQ(hub.database.value("select coalesce(sum(settled + reserved + suspense), 0) <= 100000000 "
                                             "from budget_balances"),
                          "t");
                return condition();
            },
            seconds);
    };
    ASSERT_EQ(hub.api("POST", "/v1/executions/batch", batch_of("costs", 1000)).status, 201);
    ASSERT_TRUE(eventually_within_budget([&] { return arrivals.count() >= 20; }, 20));
    hub.hub->kill();
    hub.start();
    second.kill();
    // All that was granted counts until a minute after its end, sent or not; then there are more calls than money.
    const auto first_minute = arrivals.count();
    ASSERT_TRUE(eventually_within_budget([&] { return arrivals.count() >= first_minute + 5; }, 120));
    hub.hub->kill();
    hub.start();
    ASSERT_TRUE(eventually_within_budget(
        [&] {
            return stopped_by_budget(hub) && hub.database.value(
                                                 "select count(*) from executions where attempt_id is not null "
                                                 "and attempt_state <> 'waiting_redelivery'") == "0";
        },
        120));
    EXPECT_LE(arrivals.most_within(std::chrono::minutes{1}), 60U);
    EXPECT_LE(arrivals.count(), 100U);
    EXPECT_GT(readings, 20);
    // Nothing of it is lost either: no more is left over than one of them is estimated to cost.
    EXPECT_EQ(
        hub.database.value("select sum(settled) > 98000000 and sum(reserved + suspense) = 0 from budget_balances"), "t")
        << booked(hub, "all");
    // Who did not come to it waits, for its first try or for the one after that of a node that was killed.
    EXPECT_EQ(hub.database.value("select string_agg(distinct status, ', ') from executions "
                                 "where status not in ('completed', 'queued', 'retrying')"),
              "");
    expect_balanced(hub);
}

TEST(Budget, AJobThatCostsMoreThanItSaidIsRecordedInFullAndStopsTheNext) {
    HubFixture hub;
    Peer peer([](const Asked&) { return done_for("25"); });
    hub.register_type("costs", peer.url(), costing("1", {{"max_concurrency", 1}}));
    ASSERT_EQ(hub.api("PUT", "/v1/budgets/day", budget("10")).status, 201);
    ASSERT_EQ(hub.api("POST", "/v1/executions/batch", batch_of("costs", 3)).status, 201);
    ASSERT_TRUE(eventually([&] { return stopped_by_budget(hub) && count(hub, "completed") == "1"; }));
    EXPECT_EQ(booked(hub, "day"), "25.000000 0.000000 0.000000");
    expect_balanced(hub);
}

TEST(Budget, AnUnknownPriceIsNotAFreeOne) {
    HubFixture hub("[money]\nunknown_cost_usd = \"4\"\n");
    Peer peer([](const Asked&) { return Behaviour{200, R"({"status":"completed","result_data":1})"}; });
    hub.register_type("silent", peer.url());
    ASSERT_EQ(hub.api("PUT", "/v1/budgets/day", budget("10")).status, 201);
    ASSERT_EQ(hub.api("POST", "/v1/executions/batch", batch_of("silent", 5)).status, 201);
    ASSERT_TRUE(eventually([&] { return stopped_by_budget(hub) && count(hub, "completed") == "2"; }));
    // Nobody said what they cost: what was held is taken for it, and marked.
    EXPECT_EQ(booked(hub, "day"), "8.000000 0.000000 0.000000");
    EXPECT_EQ(hub.database.value("select count(*) from ledger_entries where movement = 'settle' and estimated"), "2");
}

TEST(Budget, AHeartbeatThatCostsMoreThanWasReservedReservesMore) {
    HubFixture hub;
    Peer peer([](const Asked&) { return Behaviour{202, ""}; });
    hub.register_type("slow", peer.url(), costing("1"));
    ASSERT_EQ(hub.api("PUT", "/v1/budgets/day", budget("10")).status, 201);
    const auto id = hub.enqueue("slow");
    ASSERT_TRUE(eventually([&] { return peer.count() == 1; }));
    EXPECT_EQ(booked(hub, "day"), "0.000000 1.000000 0.000000");
    const auto trigger = peer.asked().front();
    ASSERT_EQ(trigger.json["reserved"][0].value("cost_usd", ""), "1.000000") << trigger.json;
    ASSERT_EQ(Peer::call_back(trigger, {{"status", "running"}, {"metrics", {{"cost_usd", "3"}}}}).status, 200);
    EXPECT_EQ(booked(hub, "day"), "0.000000 3.000000 0.000000");
    ASSERT_EQ(Peer::call_back(trigger, {{"status", "completed"}, {"metrics", {{"cost_usd", "2.5"}}}}).status, 200);
    EXPECT_EQ(booked(hub, "day"), "2.500000 0.000000 0.000000");
    expect_balanced(hub);
}

TEST(Budget, TheSameRequestAgainHoldsNothing) {
    HubFixture hub;
    Peer peer([](const Asked&) { return done_for("1"); });
    hub.register_type("costs", peer.url(), costing("2"));
    ASSERT_EQ(hub.api("PUT", "/v1/budgets/day", budget("100")).status, 201);
    const Json request{{"workflow_type", "costs"}, {"input", 1}};
    const auto first = hub.api("POST", "/v1/executions", request, {{"idempotency-key", "k"}});
    ASSERT_EQ(first.status, 201);
    hub.await_end(first.json().value("execution_id", ""));
    // It comes alone and would start at once, but it is not a new one.
    for (int i = 0; i < 5; ++i)
        ASSERT_EQ(hub.api("POST", "/v1/executions", request, {{"idempotency-key", "k"}}).json()["execution_id"],
                  first.json()["execution_id"]);
    EXPECT_EQ(booked(hub, "day"), "1.000000 0.000000 0.000000");
    expect_balanced(hub);
}

TEST(Budget, WhatSqlDoesToOneIsToldAsWellAndNothingTwice) {
    const HubFixture hub;
    const auto told = [&] {
        return hub.database.value(
            "select string_agg(type || ' ' || (payload ->> 'by'), ', ' order by seq) from events where kind = "
            "'budget'");
    };
    const auto by = hub.database.value("select name from api_keys order by created_at limit 1");
    ASSERT_EQ(hub.api("PUT", "/v1/budgets/day", budget("10")).status, 201);
    EXPECT_EQ(told(), "budget.changed " + by);
    hub.database.run("update budgets set limit_microusd = limit_microusd * 2");
    hub.database.run("update budgets set limit_microusd = limit_microusd");
    EXPECT_EQ(told(), "budget.changed " + by + ", budget.changed sql");
    EXPECT_EQ(hub.get("/v1/budgets/day")["limit_usd"], "20.000000");
    EXPECT_EQ(hub.api("DELETE", "/v1/budgets/day").status, 204);
    EXPECT_EQ(told(), "budget.changed " + by + ", budget.changed sql, budget.retired " + by);
    hub.database.run(
        "insert into budgets (budget_id, name, window_unit, limit_microusd, hard, steps) values (gen_random_uuid(), "
        "'bare', "
        "'day', 1000000, true, '[]'); update budgets set retired_at = now() where name = 'bare'");
    EXPECT_EQ(
        hub.database.value(
            "select string_agg(e.type || e.seq, ' ' order by e.seq) from events e join budgets b on b.budget_id = "
            "e.stream_id where b.name = 'bare'"),
        "budget.changed1 budget.retired2");
    EXPECT_EQ(hub.cli({"fsck", "--json"}).code, 0);
}

TEST(Budget, OfTwoThatMakeTheSameAtOnceOneIsToldSo) {
    HubFixture hub;
    for (int round = 0; round < 10; ++round) {
        std::vector<std::future<Reply>> asked;
        for (int i = 0; i < 4; ++i)
            asked.push_back(std::async(std::launch::async, [&] {
                return hub.api("PUT", "/v1/budgets/b" + std::to_string(round), budget("10"));
            }));
        int created = 0;
        for (auto& each : asked) {
            const auto reply = each.get();
            created += reply.status == 201 ? 1 : 0;
            EXPECT_TRUE(reply.status == 201 || reply.status == 200 || reply.status == 409)
                << reply.status << " " << reply.body;
        }
        EXPECT_EQ(created, 1);
    }
}
}
}
