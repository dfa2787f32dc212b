// What is unlike other weeks, on the running program: a week of history, an hour that is unlike them, the alert.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

using ::testing::SizeIs;

/// So many that completed in the hour that began so long ago.
void hour(const HubFixture& hub, const std::string& ago, int count, double cost) {
    hub.database.run(
        "insert into workflow_orchestration (workflow_type, status, input_data, started_at, completed_at, cost_usd) "
        "select 'work', 'completed', '{}', at - interval '2 s', at, " +
        std::to_string(cost) + " from generate_series(1, " + std::to_string(count) +
        "), (select date_trunc('hour', now() - interval '2 minutes') - interval '1 hour' - interval '" + ago +
        "' + interval '10 minutes') as of (at)");
}

TEST(Anomaly, AnHourUnlikeThoseOfOtherWeeksIsToldWithWhatIsBehindIt) {
    Peer peer;
    HubFixture hub("[alerts]\nenabled = false\n");
    hub.register_type("work", peer.url());
    hub.hub->kill();
    for (int day = 1; day <= 8; ++day) hour(hub, std::to_string(day) + " days", 5 + day % 3, 0.01);
    hour(hub, "0", 4, 0.01);
    hour(hub, "0", 1, 9);
    hub.database.run("delete from orchestrator_metrics where metric_type like 'hour%'");
    HubProcess node(hub.database, hub.key_file(),
                    "[alerts]\nevery_seconds = 1\n[[alerts.rules]]\nname = \"anomaly\"\nfor_seconds = 0\n");
    const auto alerts = [&] {
        auto found = Json::array();
        const auto answer = request(node.port(), "GET", "/v1/alerts", {{"authorization", "Bearer " + hub.key}}).json();
        for (const auto& alert : answer["alerts"])
            if (alert["name"] == "anomaly") found.push_back(alert);
        return found;
    };
    ASSERT_TRUE(eventually([&] { return !alerts().empty(); }, 60)) << node.log();
    const auto found = alerts();
    ASSERT_THAT(found, SizeIs(1)) << "as many as usual, and as fast";
    EXPECT_EQ(found[0]["labels"]["series"], "cost_usd");
    ASSERT_FALSE(found[0]["evidence"].empty());
    EXPECT_EQ(hub.database.value("select cost_usd > 8 from workflow_orchestration where execution_id = '" +
                                 found[0]["evidence"][0].get<std::string>() + "'"),
              "t")
        << "the dear one first";
    EXPECT_EQ(hub.database.value("select count(*) from orchestrator_metrics where metric_type = 'hour_cost_usd'"),
              "9");
    const auto report = request(node.port(), "GET", "/v1/reports/daily?at=" + hub.database.value("select current_date"),
                                {{"authorization", "Bearer " + hub.key}})
                            .json();
    EXPECT_EQ(report["alerts"][0]["name"], "anomaly");
}

}
}
