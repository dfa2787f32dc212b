// /metrics of a running hub: whatever types are called, it is read by Prometheus's own tools, and soon.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/support/exposition.h"
#include "tests/support/hub.h"
#include "tests/support/promtool.h"

namespace impresario::testing {
namespace {

std::string percent_encoded(const std::string& text) {
    std::string encoded;
    for (const unsigned char c : text) {
        char three[4];
        std::snprintf(three, sizeof three, "%%%02X", c);
        encoded += three;
    }
    return encoded;
}

/// -1: it is not told.
double value_at(int port, const std::string& name, const std::map<std::string, std::string>& labels = {}) {
    for (const auto& each : read_samples(request(port, "GET", "/metrics").body)) {
        if (each.name != name) continue;
        if (std::all_of(labels.begin(), labels.end(), [&](const auto& wanted) {
                const auto found = each.labels.find(wanted.first);
                return found != each.labels.end() && found->second == wanted.second;
            }))
            return each.value;
    }
    return -1;
}

double value_of(const HubFixture& hub, const std::string& name, const std::map<std::string, std::string>& labels = {}) {
    return value_at(hub.hub->port(), name, labels);
}

TEST(Metrics, NamesCannotWriteMetrics) {
    Peer peer([](const Asked&) { return done(); });
    HubFixture hub;
    const std::vector<std::string> names{"a\"b", "a\\b", "a\nhub_up 0", "caf\xc3\xa9 \xf0\x9f\x98\x80", "{}=,# \t"};
    std::set<std::string> taken;
    for (const auto& name : names) {
        const auto put = hub.api("PUT", "/v1/workflow-types/" + percent_encoded(name), {{"endpoints", {peer.url()}}});
        if (put.status / 100 != 2) {
            EXPECT_EQ(put.status, 422) << name << put.body;
            continue;
        }
        taken.insert(name);
        hub.await_end(hub.enqueue(name));
    }
    EXPECT_FALSE(taken.empty());
    const auto text = hub.api("GET", "/metrics").body;
    const auto said = check_metrics(text);
    EXPECT_EQ(said.code, 0) << said.text;
    EXPECT_EQ(said.text, "");
    std::set<std::string> types;
    for (const auto& each : read_samples(text)) {
        EXPECT_TRUE(each.name.starts_with("impresario_") || each.name.starts_with("process_")) << each.name;
        if (each.name == "impresario_executions_ended_total" && each.value > 0)
            types.insert(each.labels.at("workflow_type"));
    }
    EXPECT_EQ(types, taken) << "each reads back as it was given";
}

TEST(Metrics, ManyTypesFoldIntoOther) {
    Peer peer([](const Asked&) { return done(); });
    HubFixture hub("[metrics]\nseries = 10\n");
    std::vector<std::string> ids;
    for (int i = 0; i < 20; ++i) {
        const auto name = "type" + std::to_string(i);
        hub.register_type(name, peer.url());
        ids.push_back(hub.enqueue(name));
    }
    for (const auto& id : ids) hub.await_end(id);
    double ended = 0;
    std::set<std::string> types;
    for (const auto& each : read_samples(hub.api("GET", "/metrics").body)) {
        if (each.name != "impresario_executions_ended_total") continue;
        ended += each.value;
        types.insert(each.labels.at("workflow_type"));
    }
    EXPECT_EQ(ended, 20);
    EXPECT_EQ(types.size(), 11U);
    EXPECT_TRUE(types.contains("other"));
    EXPECT_EQ(value_of(hub, "impresario_metrics_folded_total", {{"metric", "impresario_executions_ended_total"}}), 10);
}

TEST(Metrics, AnEndIsCountedOnce) {
    Peer peer([](const Asked& asked) {
        return asked.path == "/dead" ? Behaviour{400, "no"} : Behaviour{200, R"({"status":"completed","result_data":1,
            "metrics":{"items_processed":3,"cost_usd":"0.25"}})"};
    });
    HubFixture hub;
    hub.register_type("work", peer.url());
    hub.register_type("bad", peer.url("/dead"));
    for (int i = 0; i < 4; ++i) hub.await_end(hub.enqueue("work"));
    const auto dead = hub.enqueue("bad");
    hub.await_end(dead);
    EXPECT_EQ(hub.api("POST", "/v1/dead-letters/" + dead + "/discard").status, 200);
    const std::map<std::string, std::string> work{{"workflow_type", "work"}};
    EXPECT_EQ(value_of(hub, "impresario_executions_ended_total", {{"workflow_type", "work"}, {"outcome", "completed"}}),
              4);
    EXPECT_EQ(value_of(hub, "impresario_execution_duration_seconds_count", work), 4);
    EXPECT_EQ(value_of(hub, "impresario_attempts_total", work), 4);
    EXPECT_EQ(value_of(hub, "impresario_attempt_timeout_used_ratio_count", work), 4);
    EXPECT_EQ(value_of(hub, "impresario_items_processed_total", work), 12);
    EXPECT_EQ(value_of(hub, "impresario_cost_usd_total", work), 1);
    EXPECT_EQ(value_of(hub, "impresario_executions_ended_total", {{"workflow_type", "bad"}, {"outcome", "dead"}}), 1)
        << "to discard it is no end";
}

TEST(Metrics, AScrapeOfAHundredLanesTakesMilliseconds) {
    Peer peer([](const Asked&) { return done(); });
    HubFixture hub;
    std::vector<std::string> ids;
    for (int i = 0; i < 100; ++i) {
        const auto name = "lane" + std::to_string(i);
        hub.register_type(name, peer.url());
        ids.push_back(hub.enqueue(name));
    }
    for (const auto& id : ids) hub.await_end(id);
    std::vector<double> took;
    std::string text;
    for (int i = 0; i < 21; ++i) {
        const auto began = std::chrono::steady_clock::now();
        text = request(hub.hub->port(), "GET", "/metrics").body;
        took.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count());
    }
    std::sort(took.begin(), took.end());
    const auto lines = read_samples(text).size();
    std::printf("%zu samples, %zu bytes: a scrape took %.1f ms at best, %.1f in the middle, %.1f at worst\n", lines,
                text.size(), took.front(), took[took.size() / 2], took.back());
    EXPECT_GT(lines, 5000U);
    // Whatever else the machine does is not the hub's.
    EXPECT_LT(took.front(), sanitized() ? 400 : 20);
    EXPECT_EQ(check_metrics(text).text, "");
}

TEST(Metrics, AHealthSampleIsWrittenDown) {
    Peer peer([](const Asked&) { return done(); });
    HubFixture hub;
    hub.register_type("work", peer.url());
    ASSERT_EQ(hub.api("PUT", "/v1/budgets/day",
                      {{"limit_usd", "5"}, {"window", "day"}, {"steps", Json::array()}, {"reason", "test"}})
                  .status,
              201);
    hub.await_end(hub.enqueue("work"));
    hub.hub->kill();
    hub.start();
    ASSERT_TRUE(eventually([&] {
        return hub.database.value(
                   "select count(*) from orchestrator_metrics where metric_type = 'health' and "
                   "metric_value = 1 and metadata ? 'uptime_seconds'") != "0";
    }));
    EXPECT_TRUE(eventually([&] {
        return hub.database.value(
                   "select max(metric_value)::numeric(10, 2) from orchestrator_metrics where metric_type = "
                   "'budget_limit_usd' and metadata ->> 'budget' = 'day'") == "5.00";
    }));
}

TEST(Metrics, WhatOnlyTheLeaderKnowsIsToldByItAlone) {
    Peer peer;
    HubFixture hub;
    hub.register_type("work", peer.url());
    hub.enqueue("work");
    HubProcess second(hub.database, hub.key_file(), hub.config());
    const int first_port = hub.hub->port();
    EXPECT_TRUE(eventually([&] {
        return value_at(first_port, "impresario_executions_running", {{"workflow_type", "work"}}) == 1;
    }));
    EXPECT_EQ(value_at(first_port, "impresario_scheduler"), 1);
    EXPECT_EQ(value_at(first_port, "impresario_node_role", {{"role", "scheduler"}}), 1);
    EXPECT_EQ(value_at(second.port(), "impresario_scheduler"), 0);
    EXPECT_EQ(value_at(second.port(), "impresario_node_role", {{"role", "delivering"}}), 1);
    for (const auto* only :
         {"impresario_executions_running", "impresario_queue_depth", "impresario_queue_oldest_age_seconds",
          "impresario_endpoint_breaker", "impresario_nodes", "impresario_ledger_difference_usd"})
        EXPECT_EQ(value_at(second.port(), only), -1) << only;
    // It stands still until another leads, and has nothing more to say of it when it goes on.
    hub.hub->signal(SIGSTOP);
    EXPECT_TRUE(eventually(
        [&] {
            return value_at(second.port(), "impresario_executions_running", {{"workflow_type", "work"}}) == 1;
        },
        60));
    hub.hub->signal(SIGCONT);
    EXPECT_TRUE(eventually([&] {
        return value_at(first_port, "impresario_scheduler") == 0 &&
               value_at(first_port, "impresario_executions_running") == -1 &&
               value_at(first_port, "impresario_nodes") == -1 && value_at(first_port, "impresario_queue_depth") == -1;
    }));
}

TEST(Metrics, WhatTheLedgerDiffersByIsTold) {
    Peer peer([](const Asked&) { return Behaviour{200, R"({"status":"completed","metrics":{"cost_usd":"0.5"}})"}; });
    HubFixture hub;
    ASSERT_EQ(hub.api("PUT", "/v1/budgets/day",
                      {{"limit_usd", "5"}, {"window", "day"}, {"steps", Json::array()}, {"reason", "test"}})
                  .status,
              201);
    hub.register_type("work", peer.url(), {{"cost_estimate_usd", "0.5"}});
    hub.await_end(hub.enqueue("work"));
    // Who leads looks at once, and then as seldom as it takes long.
    const auto look = [&] {
        hub.hub->kill();
        hub.start();
        return eventually([&] { return value_of(hub, "impresario_ledger_difference_usd") >= 0; });
    };
    ASSERT_TRUE(look());
    EXPECT_EQ(value_of(hub, "impresario_ledger_difference_usd"), 0);
    EXPECT_EQ(value_of(hub, "impresario_budget_usd", {{"budget", "day"}, {"what", "settled"}}), 0.5);
    hub.database.run("update budget_balances set settled = settled + 1000000, reserved = reserved + 500000");
    ASSERT_TRUE(look());
    EXPECT_EQ(value_of(hub, "impresario_ledger_difference_usd"), 1.5);
    EXPECT_NE(hub.hub->log().find("balances differ from the sums of their entries"), std::string::npos);
}

}
}
