// Reports on the running program: made when they come due, sent once to each receiver, and made for any day by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/hub.h"
#include "tests/support/slack.h"

namespace impresario::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

/// What ended at a time, as history that never ran here. `more`: columns and values beside.
void ended(const HubFixture& hub, const std::string& type, const std::string& status, const std::string& at, int count,
           const std::string& more = "", const std::string& values = "") {
    hub.database.run(
        "insert into workflow_orchestration (workflow_type, status, input_data, created_at, scheduled_at, started_at, "
        "completed_at, cost_usd, items_processed" +
        (more.empty() ? "" : ", " + more) + ") select '" + type + "', '" + status + "', '{}', timestamptz '" + at +
        "' - interval '3 s', timestamptz '" + at + "' - interval '3 s', timestamptz '" + at +
        "' - interval '2 s', timestamptz '" + at + "', 0.5, 2" + (values.empty() ? "" : ", " + values) +
        " from generate_series(1, " + std::to_string(count) + ")");
}

TEST(Reports, ADayIsSummedUpByTheClocksOfItsZone) {
    Peer peer;
    HubFixture hub("[reports]\nzone = \"Europe/Berlin\"\n");
    hub.register_type("work", peer.url());
    ended(hub, "work", "completed", "2026-03-10T22:59:59Z", 8);
    for (const auto* page : {"17", "18"})
        ended(hub, "work", "failed", "2026-03-10T12:00:00Z", 1, "error_data",
              "'{\"message\": \"no such page " + std::string(page) + "\"}'");
    ended(hub, "work", "cancelled", "2026-03-09T23:00:00Z", 1);
    // Of what never started nothing is known about how long it waited.
    hub.database.run(
        "insert into workflow_orchestration (workflow_type, status, input_data, completed_at) select 'work', "
        "'cancelled', '{}', '2026-03-10T13:00:00Z' from generate_series(1, 50)");
    ended(hub, "work", "completed", "2026-03-10T23:00:00Z", 100);
    ended(hub, "work", "completed", "2026-03-09T22:59:59Z", 100);
    const auto report = hub.get("/v1/reports/daily?at=2026-03-10");
    const auto& total = report["total"];
    EXPECT_EQ(report["period"], "2026-03-10");
    EXPECT_EQ(total["ended"], 61);
    EXPECT_EQ(total["completed"], 8);
    EXPECT_EQ(total["failed"], 2);
    EXPECT_EQ(total["success_percent"], 80);
    EXPECT_EQ(total["cost_usd"], "5.500000");
    EXPECT_EQ(total["items"], 22);
    EXPECT_EQ(total["cost_per_item_usd"], 0.25);
    EXPECT_NEAR(total["duration_seconds"]["p50"].get<double>(), 2, 0.06);
    EXPECT_NEAR(total["wait_seconds"]["p50"].get<double>(), 1, 0.03);
    ASSERT_THAT(report["failures"], SizeIs(1));
    EXPECT_EQ(report["failures"][0]["count"], 2);
    EXPECT_EQ(report["failures"][0]["error"], "no such page 17");
    EXPECT_THAT(report["failures"][0]["executions"], SizeIs(2));
    EXPECT_TRUE(report["forecast"].is_null()) << "of the past nothing is forecast";
    EXPECT_TRUE(report["known_from"].is_null());
    EXPECT_FALSE(report["gates_known"]) << "they are kept for 30 days";

    const auto text = hub.cli({"report", "daily", "--at", "2026-03-10", "--table"});
    EXPECT_EQ(text.code, 0);
    EXPECT_THAT(text.text, HasSubstr("Daily summary, 2026-03-10"));
    EXPECT_THAT(text.text, HasSubstr("no such page 17"));
    EXPECT_THAT(hub.cli({"report", "daily", "--at", "2026-03-10", "--html"}).text, HasSubstr("<!DOCTYPE html>"));
    EXPECT_EQ(hub.cli({"report", "weekly", "--at", "2026-03-12", "--json"}).json()["total"]["completed"], 208);
    hub.database.run(
        "insert into execution_days values ('default', 'work', '2026-03-10', 'completed', 1, 1, 0, 0, 0, 0, 0, 0)");
    EXPECT_THAT(hub.cli({"report", "daily", "--at", "2026-03-10", "--table"}).text,
                HasSubstr("What ended before 2026-03-11 01:00 has been removed and is not counted."));
    EXPECT_EQ(hub.get("/v1/reports/daily?at=today")["errors"][0]["pointer"], "at");
    EXPECT_EQ(hub.api("GET", "/v1/reports/daily?at=2999-01-01").status, 422);
    EXPECT_EQ(hub.api("GET", "/v1/reports/hourly").status, 404);
}

TEST(Reports, AnOrganizationSeesItsOwnAlone) {
    Peer peer;
    HubFixture hub;
    hub.register_type("work", peer.url());
    ended(hub, "work", "completed", "2026-03-10T12:00:00Z", 3);
    hub.database.run("insert into organizations (organization_id, name) values ('acme', 'Acme')");
    const auto key = hub.make_key("operator", "theirs", "acme");
    const std::vector<std::pair<std::string, std::string>> theirs{{"authorization", "Bearer " + key}};
    const auto report = request(hub.hub->port(), "GET", "/v1/reports/daily?at=2026-03-10", theirs).json();
    EXPECT_EQ(report["organization_id"], "acme");
    EXPECT_EQ(report["total"]["ended"], 0);
    EXPECT_THAT(report["workflow_types"], SizeIs(0));
    EXPECT_EQ(request(hub.hub->port(), "GET", "/v1/reports", theirs).status, 403);
    EXPECT_EQ(request(hub.hub->port(), "POST", "/v1/reports/daily/send", theirs, R"({"receiver":"slack"})").status,
              403);
}

/// A hub that was there long before: what came due at the last eight o'clock is made as soon as it leads.
struct Due {
    explicit Due(const std::string& config) : hub("[reports]\nenabled = false\n") {
        hub.database.run("update organizations set created_at = now() - interval '60 days'");
        with = config;
    }
    void start() {
        hub.hub->kill();
        node = std::make_unique<HubProcess>(hub.database, hub.key_file(), with);
    }
    std::string count(const std::string& what) const { return hub.database.value("select count(*) from " + what); }

    HubFixture hub;
    std::string with;
    std::unique_ptr<HubProcess> node;
};

TEST(Reports, WhatCameDueIsMadeOnceAndSentOnceToEach) {
    Slack slack;
    Peer webhook([](const Asked&) { return Behaviour{200, "{}"}; });
    Due t(slack.config() + "[[alerts.receivers]]\nname = \"mine\"\ntype = \"webhook\"\nurl = \"" +
          webhook.url("/reports") +
          "\"\nsigning_secrets = [\"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"]\n[reports]\nreceivers = [\"slack\", "
          "\"mine\"]\n");
    slack.answer_first({Behaviour{429, "slow down", {{"retry-after", "1"}}}});
    t.start();
    ASSERT_TRUE(webhook.wait_for(2)) << t.node->log();
    EXPECT_TRUE(eventually([&] { return t.count("reports") == "2"; })) << "of the day and of the week";
    EXPECT_EQ(t.count("orchestrator_metrics where metric_type in ('daily_summary', 'weekly_optimization')"), "2");
    EXPECT_EQ(t.hub.database.value("select length(metadata ->> 'period') from orchestrator_metrics where metric_type "
                                   "= 'daily_summary'"),
              "10")
        << "one day, by the clocks of the zone";
    std::set<std::string> kinds;
    for (const auto& asked : webhook.asked()) {
        kinds.insert(asked.json["kind"]);
        EXPECT_FALSE(asked.webhook_id().empty());
        EXPECT_TRUE(asked.headers.contains("webhook-signature"));
        EXPECT_TRUE(asked.json["forecast"].is_object()) << "it is news";
    }
    EXPECT_EQ(kinds, (std::set<std::string>{"daily", "weekly"}));
    // What was not taken comes again later.
    ASSERT_TRUE(
        eventually([&] { return t.count("report_deliveries where state = 'pending' and attempts = 1") == "1"; }));
    t.hub.database.run("update report_deliveries set next_at = now() where state = 'pending'");
    // Whoever leads next goes on with what is not done, and does nothing twice.
    t.node->kill();
    t.start();
    ASSERT_TRUE(slack.await(2)) << t.node->log();
    EXPECT_TRUE(eventually([&] { return t.count("report_deliveries where state = 'delivered'") == "4"; }));
    EXPECT_THAT(slack.taken()[0].dump() + slack.taken()[1].dump(), HasSubstr("Daily summary"));
    EXPECT_EQ(slack.refused(), 0) << "it is what Slack takes";
    EXPECT_EQ(webhook.count(), 2U);
    EXPECT_EQ(t.count("reports"), "2");
}

TEST(Reports, BeforeThereWasAHubNothingIsReported) {
    Slack slack;
    HubFixture hub(slack.config());
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("work", peer.url());
    hub.await_end(hub.enqueue("work"));
    const auto sent = hub.cli({"report", "send", "daily", "--to", "slack"});
    EXPECT_EQ(sent.code, 0) << sent.text;
    EXPECT_THAT(slack.taken(), SizeIs(1));
    EXPECT_EQ(hub.cli({"report", "send", "daily", "--to", "nobody"}).code, 4);
    EXPECT_EQ(hub.database.value("select count(*) from reports"), "0");
    EXPECT_THAT(hub.get("/v1/reports")["reports"], SizeIs(0));
}

TEST(Reports, TheWeeklyOneProposesWhatTheNumbersSpeakFor) {
    Peer peer;
    HubFixture hub;
    hub.register_type("work", peer.url(), {{"max_concurrency", 2}});
    ended(hub, "work", "completed", "2026-03-11T12:00:00Z", 50);
    hub.database.run(
        "insert into lane_gates (organization_id, workflow_type, gate, subject, detail, since, closed_since, ended_at, "
        "closed_us) values ('default', 'work', 'concurrency', 'default/work', 'full', '2026-03-10T00:00:00Z', "
        "'2026-03-10T00:00:00Z', '2026-03-13T00:00:00Z', 0.75 * 3 * 86400 * 1000000::bigint)");
    const auto report = hub.get("/v1/reports/weekly?at=2026-03-10");
    ASSERT_THAT(report["proposals"], SizeIs(1)) << report;
    EXPECT_EQ(report["proposals"][0]["subject"], "max_concurrency of default/work");
    EXPECT_EQ(report["proposals"][0]["proposed"], "3");
    EXPECT_THAT(report["proposals"][0]["because"].get<std::string>(), HasSubstr("32 % of the time, and 100 % of 50"));
    EXPECT_NEAR(report["gates"][0]["closed_seconds"].get<double>(), 0.75 * 3 * 86400, 1);
    const auto command = report["proposals"][0]["command"].get<std::string>();
    EXPECT_EQ(command, "impresario types show work");
    EXPECT_EQ(hub.cli({"types", "show", "work"}).code, 0);
}

}
}
