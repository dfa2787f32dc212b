// What has stalled, on the running program: each with its cause, and every command that is suggested runs.
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <sstream>

#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

/// As if nothing had happened for an hour.
void an_hour_later(const HubFixture& hub) {
    hub.database.run("update events set at = at - interval '1 hour'");
    hub.database.run(
        "update executions set updated_at = updated_at - interval '1 hour', ready_at = ready_at - interval '1 hour', "
        "gate_since = gate_since - interval '1 hour'");
}

std::map<std::string, Json> stalled(const HubFixture& hub) {
    std::map<std::string, Json> found;
    const auto answer = hub.get("/v1/stalled");
    for (const auto& each : answer["executions"]) found[each["execution_id"]] = each;
    return found;
}

TEST(Stalled, EachIsShownWithItsCauseAndACommandThatRuns) {
    Peer peer;
    Peer other;
    HubFixture hub;
    hub.register_type("lost", peer.url());
    hub.register_type("near", peer.url(), {{"timeout_seconds", 50}});
    hub.register_type("dead", other.url());
    hub.register_type("shut", peer.url());
    ASSERT_EQ(hub.api("POST", "/v1/pause", {{"workflow_type", "shut"}, {"reason", "moving house"}}).status, 200);
    const auto lost = hub.enqueue("lost");
    const auto near = hub.enqueue("near");
    const auto dead = hub.enqueue("dead");
    const auto shut = hub.enqueue("shut");
    const auto younger = hub.enqueue("shut");
    const auto done = hub.enqueue("lost");
    for (const auto& id : {lost, near, dead, done})
        ASSERT_TRUE(hub.await(id, [](const Json& e) { return e["status"] == "running"; }));
    hub.api("POST", "/v1/executions/" + done + "/cancel");
    ASSERT_TRUE(hub.await(shut, [](const Json& e) { return e["waiting_for"].is_object(); }));
    const auto endpoint = hub.get("/v1/workflow-types/dead")["endpoints"][0]["endpoint_id"].get<std::string>();
    ASSERT_EQ(
        hub.api("POST", "/v1/workflow-types/dead/endpoints/" + endpoint + "/trip", {{"reason", "on fire"}}).status,
        200);
    EXPECT_TRUE(stalled(hub).empty()) << "all of it has just happened";
    an_hour_later(hub);
    auto found = stalled(hub);
    EXPECT_EQ(found[lost]["cause"], "lost_callback");
    EXPECT_EQ(found[near]["cause"], "deadline_near");
    EXPECT_EQ(found[dead]["cause"], "dead_endpoint");
    EXPECT_NE(found[dead]["why"].get<std::string>().find("on fire"), std::string::npos) << found[dead];
    EXPECT_EQ(found[shut]["cause"], "closed_limiter");
    EXPECT_NE(found[shut]["why"].get<std::string>().find("moving house"), std::string::npos);
    EXPECT_GE(found[lost]["quiet_seconds"], 3600);
    EXPECT_EQ(found.count(younger), 0U) << "one of each type is enough";
    EXPECT_EQ(found.count(done), 0U) << "it is over";
    EXPECT_EQ(hub.get("/v1/stalled?quiet_seconds=7200")["executions"].size(), 0U);
    EXPECT_EQ(hub.api("GET", "/v1/stalled?quiet_seconds=0").status, 422);

    for (const auto& [id, each] : found) {
        std::istringstream words(each["command"].get<std::string>());
        std::vector<std::string> command{std::istream_iterator<std::string>(words), {}};
        ASSERT_EQ(command.front(), "impresario");
        command.erase(command.begin());
        const auto said = hub.cli(command);
        EXPECT_EQ(said.code, 0) << each["command"] << "\n" << said.text;
    }
    EXPECT_NE(hub.cli({"stalled", "--quiet", "60"}).text.find(lost), std::string::npos);
    EXPECT_EQ(hub.cli({"stalled", "--json"}).json()["causes"]["lost_callback"], 1);

    // It is in the metrics once it has been looked for.
    hub.hub->kill();
    hub.start();
    EXPECT_TRUE(eventually([&] {
        return hub.api("GET", "/metrics").body.find("impresario_stalled_executions{cause=\"lost_callback\"} 1") !=
               std::string::npos;
    })) << hub.api("GET", "/metrics").body;
}

}
}
