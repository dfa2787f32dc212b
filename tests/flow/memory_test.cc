// Memory that executions share, on the running program: reserved while they run, over all types and over takeovers.
#include <gtest/gtest.h>

#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

const std::string kThousand = "[memory]\ntotal_mb = 1000\n";

int gated(const HubFixture& hub) {
    int gated = 0;
    const auto state = hub.get("/v1/state");
    for (const auto& lane : state["lanes"]) gated += lane["gate"].is_object() && lane["gate"]["kind"] == "memory";
    return gated;
}

TEST(Memory, IsSharedByAllTypesAndGivenBackAtTheEnd) {
    Peer peer;
    HubFixture hub(kThousand);
    hub.register_type("large", peer.url(), {{"memory_mb", 400}});
    hub.register_type("small", peer.url(), {{"memory_mb", 250}});
    hub.register_type("elsewhere", peer.url());
    for (int i = 0; i < 2; ++i) hub.enqueue("large");
    ASSERT_TRUE(peer.wait_for(2));
    const auto waits = hub.enqueue("small");
    ASSERT_TRUE(hub.await(waits, [](const Json& e) { return e["waiting_for"].is_object(); }));
    const auto gate = hub.execution(waits)["waiting_for"];
    EXPECT_EQ(gate["kind"], "memory");
    EXPECT_EQ(gate["numbers"], (Json{{"asks_mb", 250}, {"reserved_mb", 800}, {"limit_mb", 1000}}));
    const auto memory = hub.get("/v1/state")["resource_status"]["memory"];
    EXPECT_EQ(memory["reserved_mb"], 800);
    EXPECT_EQ(memory["limit_mb"], 1000);
    hub.enqueue("elsewhere");
    ASSERT_TRUE(peer.wait_for(3)) << "what declares none waits for none";

    const auto first = peer.asked()[0];
    EXPECT_EQ(Peer::call_back(first, {{"status", "completed"}, {"metrics", {{"database_queries", 12}}}}).status, 200);
    ASSERT_TRUE(peer.wait_for(4));
    const auto asked = peer.asked()[3];
    EXPECT_EQ(asked.execution_id(), waits);
    Peer::call_back(asked, {{"status", "completed"}, {"metrics", {{"memory_mb", 310}}}});
    hub.await_end(waits);
    const auto used = [&](const std::string& id, const std::string& what) {
        return hub.database.value("select usage_amount from workflow_resource_usage where execution_id = '" + id +
                                  "' and resource_type = '" + what + "'");
    };
    EXPECT_EQ(used(first.execution_id(), "database_query"), "12");
    EXPECT_EQ(used(first.execution_id(), "memory_usage"), "400") << "as declared where it is not said";
    EXPECT_EQ(used(waits, "memory_usage"), "310");
}

TEST(Memory, ANewSchedulerCountsWhatTheOneBeforeGranted) {
    Peer peer;
    HubFixture hub(kThousand);
    hub.register_type("large", peer.url(), {{"memory_mb", 400}});
    for (int i = 0; i < 3; ++i) hub.enqueue("large");
    ASSERT_TRUE(peer.wait_for(2));
    ASSERT_TRUE(eventually([&] {
        return hub.database.value("select count(*) from executions where status = 'running'") == "2" && gated(hub) == 1;
    }));
    hub.hub->kill();
    hub.start();
    const auto waits = hub.database.value("select execution_id from executions where status = 'queued'");
    EXPECT_EQ(peer.count(), 2U);
    for (const auto& asked : peer.asked()) Peer::call_back(asked, {{"status", "completed"}});
    ASSERT_TRUE(peer.wait_for(3, 40));
    EXPECT_EQ(peer.asked()[2].execution_id(), waits);
}

TEST(Memory, WhatCannotEverFitIsRefusedOrSaysWhatToDo) {
    Peer peer;
    HubFixture hub(kThousand);
    for (const Json& bad : {Json(0), Json(-1), Json(1.5), Json("512"), Json(1e300), Json(1001)}) {
        const auto refused =
            hub.api("PUT", "/v1/workflow-types/bad", {{"endpoints", {peer.url()}}, {"memory_mb", bad}});
        EXPECT_EQ(refused.status, 422) << bad;
        EXPECT_EQ(refused.json()["errors"][0]["pointer"], "/memory_mb") << bad;
    }
    hub.register_type("giant", peer.url(), {{"memory_mb", 1000}});
    EXPECT_EQ(hub.get("/v1/workflow-types/seo_monitor")["memory_mb"], 512) << "as in 003";
    hub.register_type("seo_monitor", peer.url());
    EXPECT_EQ(hub.get("/v1/workflow-types/seo_monitor")["memory_mb"], 512) << "left out, it stays";
    hub.api("PUT", "/v1/workflow-types/seo_monitor", {{"memory_mb", nullptr}});
    EXPECT_EQ(hub.get("/v1/workflow-types/seo_monitor")["memory_mb"], nullptr);
    // Set where nobody could say what is shared.
    hub.database.run("update workflow_types set memory_mb = 1001 where name = 'giant'");
    ASSERT_TRUE(eventually([&] { return hub.get("/v1/workflow-types/giant")["memory_mb"] == 1001; }));
    const auto id = hub.enqueue("giant");
    ASSERT_TRUE(hub.await(id, [](const Json& e) { return e["waiting_for"].is_object(); }));
    EXPECT_NE(hub.execution(id)["waiting_for"]["detail"].get<std::string>().find("raise memory.total_mb"),
              std::string::npos);
}

}
}
