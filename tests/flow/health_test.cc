// Health on the running program: healthy, degraded and because of what, apart from liveness and readiness.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/hub.h"
#include "tests/support/own_cluster.h"

namespace impresario::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

/// What is wrong with one check; "": nothing.
std::string because(const Json& health, const std::string& check) {
    for (const auto& each : health["checks"])
        if (each["name"] == check) return each["because"].is_null() ? "" : each["because"].get<std::string>();
    return "there is no such check";
}

TEST(Health, SaysWhatIsWrongAndThatItIsOver) {
    Peer peer;
    HubFixture hub("[health]\nqueue_depth = 3\n");
    hub.register_type("work", peer.url());
    ASSERT_TRUE(eventually([&] { return hub.get("/v1/health")["status"] == "healthy"; })) << hub.get("/v1/health");

    const auto endpoint = hub.get("/v1/workflow-types/work")["endpoints"][0]["endpoint_id"].get<std::string>();
    ASSERT_EQ(
        hub.api("POST", "/v1/workflow-types/work/endpoints/" + endpoint + "/trip", {{"reason", "on fire"}}).status,
        200);
    auto health = hub.get("/v1/health");
    EXPECT_EQ(health["status"], "degraded");
    EXPECT_THAT(because(health, "endpoints"), HasSubstr("work at " + peer.url()));
    EXPECT_THAT(health["degraded_because"].get<std::vector<std::string>>(), Contains(HasSubstr("endpoints: 1 of 1")));
    EXPECT_EQ(request(hub.hub->port(), "GET", "/readyz").status, 200) << "degraded is not unready";

    for (int i = 0; i < 3; ++i) hub.enqueue("work");
    EXPECT_TRUE(eventually([&] { return !because(hub.get("/v1/health"), "queue_depth").empty(); }));
    EXPECT_EQ(hub.get("/v1/health")["metrics"]["queue_depth"], 3);
    EXPECT_EQ(hub.cli({"health", "--table"}).code, 1);
    ASSERT_EQ(hub.api("POST", "/v1/workflow-types/work/endpoints/" + endpoint + "/reset", {}).status, 200);
    EXPECT_TRUE(eventually([&] { return hub.get("/v1/health")["status"] == "healthy"; })) << hub.get("/v1/health");
    const auto said = hub.cli({"health", "--table"});
    EXPECT_EQ(said.code, 0);
    EXPECT_THAT(said.text, HasSubstr("healthy"));
}

TEST(Health, IsAnsweredAlsoWithoutADatabase) {
    OwnCluster cluster;
    HubFixture hub("", {}, cluster.sockets());
    ASSERT_TRUE(eventually([&] { return hub.get("/v1/health")["status"] == "healthy"; })) << hub.get("/v1/health");
    cluster.postgres().stop("immediate");
    const auto answer = hub.api("GET", "/v1/health");
    EXPECT_EQ(answer.status, 200);
    EXPECT_THAT(because(answer.json(), "database"), HasSubstr("it does not answer"));
    EXPECT_EQ(because(answer.json(), "nodes"), "not known without the database");
    EXPECT_EQ(request(hub.hub->port(), "GET", "/livez").status, 200);
    EXPECT_EQ(request(hub.hub->port(), "GET", "/readyz").status, 503);
}

}
}
