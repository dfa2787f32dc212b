// How a lane's starts are paced, on the running program: so far apart, so long after an end, only within its windows.
#include <gtest/gtest.h>

#include "domain/time.h"
#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

Behaviour done(const Asked&) { return {200, R"({"status":"completed","result_data":1})"}; }

/// Seconds between the starts of a type, as granted, earliest first.
std::vector<double> gaps(const HubFixture& hub, const std::string& of) {
    std::vector<double> found;
    const auto rows = hub.database.value(
        "select string_agg(gap::text, ' ' order by granted_at) from (select a.granted_at, extract(epoch from "
        "a.granted_at - "
        "lag(a.granted_at) over (order by a.granted_at)) as gap from attempts a join executions using (execution_id) "
        "where workflow_type = '" +
        of + "') g where gap is not null");
    std::istringstream in(rows);
    for (double gap = 0; in >> gap;) found.push_back(gap);
    return found;
}

Json gate_of(const HubFixture& hub, const std::string& id, const std::string& kind) {
    const auto stopped = [&](const Json& e) {
        return e["waiting_for"].is_object() && e["waiting_for"]["kind"] == kind;
    };
    if (!hub.await(id, stopped)) return nullptr;
    return hub.execution(id)["waiting_for"];
}

TEST(Pace, KeepsTheStartsOfALaneApart) {
    Peer peer(done);
    HubFixture hub;
    hub.register_type("slow", peer.url(), {{"execution_interval_seconds", 1}});
    hub.register_type("other", peer.url());
    std::vector<std::string> ids;
    for (int i = 0; i < 4; ++i) ids.push_back(hub.enqueue("slow"));
    EXPECT_EQ(hub.await_end(hub.enqueue("other"))["status"], "completed") << "nobody else waits";
    for (const auto& id : ids) EXPECT_EQ(hub.await_end(id)["status"], "completed");
    const auto apart = gaps(hub, "slow");
    ASSERT_EQ(apart.size(), 3U);
    for (const auto gap : apart) {
        EXPECT_GE(gap, 1.0);
        EXPECT_LT(gap, 1.5) << "it goes when its time has come";
    }
}

TEST(Pace, OfAnIntervalLastsOverAKill) {
    Peer peer(done);
    HubFixture hub;
    hub.register_type("rare", peer.url(), {{"execution_interval_seconds", 600}});
    hub.await_end(hub.enqueue("rare"));
    hub.hub->kill();
    hub.start();
    const auto waits = hub.enqueue("rare");
    const auto gate = gate_of(hub, waits, "execution_interval");
    EXPECT_EQ(gate["numbers"]["seconds"], 600) << gate;
    EXPECT_NE(gate["detail"].get<std::string>().find("10m"), std::string::npos) << gate;
    const auto why = hub.get("/v1/executions/" + waits + "/explain");
    EXPECT_EQ(why["gates"][0]["kind"], "execution_interval") << why.dump(1);
    EXPECT_NE(why.dump().find("execution_interval_seconds"), std::string::npos) << why.dump(1);
    // Both the type and the state say when it ran and when it runs next.
    const auto type = hub.get("/v1/workflow-types/rare");
    EXPECT_EQ(domain::parse_time(type["next_start_at"].get<std::string>()),
              domain::parse_time(gate["opens_at"].get<std::string>()));
    EXPECT_EQ(*domain::parse_time(type["next_start_at"].get<std::string>()) -
                  *domain::parse_time(type["last_started_at"].get<std::string>()),
              std::chrono::seconds{600});
    for (const auto state = hub.get("/v1/state"); const auto& lane : state["lanes"])
        if (lane["workflow_type"] == "rare") EXPECT_EQ(lane["next_start_at"], type["next_start_at"]);
    EXPECT_EQ(hub.api("PUT", "/v1/workflow-types/rare", type).status, 200) << "what is shown can be sent back";
    hub.register_type("rare", peer.url());
    EXPECT_EQ(hub.await_end(waits)["status"], "completed") << "a type without one goes on";
}

TEST(Pace, ARepeatedRequestStartsNothingAndDelaysNothing) {
    Peer peer(done);
    HubFixture hub;
    hub.register_type("rare", peer.url(), {{"execution_interval_seconds", 3}});
    const auto enqueue = [&](const std::string& key) {
        return hub.api("POST", "/v1/executions", {{"workflow_type", "rare"}}, {{"idempotency-key", key}});
    };
    hub.await_end(enqueue("a").json()["execution_id"]);
    const auto last = hub.get("/v1/workflow-types/rare")["last_started_at"];
    // Its time has come: the next request finds nothing in its way. It is the one from before.
    ASSERT_TRUE(eventually([&] {
        return hub.database.value(
                   "select now() > max(started_at) + interval '3.2 seconds' from lane_times where "
                   "workflow_type = 'rare'") == "t";
    }));
    EXPECT_EQ(enqueue("a").status, 201);
    hub.await_end(enqueue("b").json()["execution_id"], 2);
    const auto apart = gaps(hub, "rare");
    ASSERT_EQ(apart.size(), 1U) << "the second one went at once";
    EXPECT_LT(apart[0], 5.0);
    EXPECT_NE(hub.get("/v1/workflow-types/rare")["last_started_at"], last);
}

TEST(Pace, CoolsDownAfterEachEndAndOverAKill) {
    Peer peer;
    HubFixture hub;
    hub.register_type("hot", peer.url(), {{"cool_down_seconds", 600}});
    const auto first = hub.enqueue("hot");
    const auto beside = hub.enqueue("hot");
    ASSERT_TRUE(peer.wait_for(2)) << "nothing has ended yet";
    const auto asked = peer.asked()[0];
    ASSERT_EQ(Peer::call_back(asked, {{"status", "completed"}, {"result_data", 1}}).status, 200);
    hub.hub->kill();
    hub.start();
    const auto waits = hub.enqueue("hot");
    const auto gate = gate_of(hub, waits, "cool_down");
    EXPECT_EQ(gate["numbers"]["seconds"], 600) << gate;
    EXPECT_NE(hub.execution(asked.execution_id() == first ? beside : first)["timeout_at"], nullptr) << "it goes on";
    EXPECT_EQ(peer.count(), 2U);
}

/// Begun an hour ago, or to begin in an hour, whatever the time is.
Json window(const std::string& begin, const std::string& end, const HubFixture& hub) {
    const auto clock = [&](const std::string& when) {
        return hub.database.value("select to_char((now() at time zone 'utc') + interval '" + when + "', 'HH24:MI')");
    };
    return {{"time_zone", "UTC"}, {"windows", {{{"from", clock(begin)}, {"to", clock(end)}}}}};
}

TEST(Pace, StartsOnlyWithinItsWindows) {
    Peer peer(done);
    HubFixture hub;
    hub.register_type("nightly", peer.url(), {{"run_windows", window("1 hour", "3 hours", hub)}});
    hub.register_type("now", peer.url(), {{"run_windows", window("-1 hour", "2 hours", hub)}});
    const auto waits = hub.enqueue("nightly");
    EXPECT_EQ(hub.await_end(hub.enqueue("now"))["status"], "completed");
    const auto gate = gate_of(hub, waits, "maintenance_window");
    EXPECT_EQ(gate["numbers"]["time_zone"], "UTC");
    const auto opens = domain::parse_time(gate["opens_at"].get<std::string>());
    const auto now =
        domain::parse_time(hub.database.value("select to_char(now() at time zone 'utc', "
                                              "'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"));
    EXPECT_LE(*opens - *now, std::chrono::minutes{60});
    EXPECT_GE(*opens - *now, std::chrono::minutes{58});
    EXPECT_EQ(hub.get("/v1/workflow-types/nightly")["next_start_at"], gate["opens_at"]);
    hub.register_type("nightly", peer.url(), {{"run_windows", nullptr}});
    EXPECT_EQ(hub.await_end(waits)["status"], "completed");
}

TEST(Pace, NextStartIsThatOfItsScheduleWhereNothingWaits) {
    Peer peer(done);
    HubFixture hub;
    hub.register_type("daily", peer.url());
    EXPECT_EQ(hub.get("/v1/workflow-types/daily")["next_start_at"], nullptr);
    ASSERT_EQ(hub.api("PUT", "/v1/schedules/daily", {{"workflow_type", "daily"}, {"cron", "0 4 * * *"}}).status, 201);
    const auto next = hub.get("/v1/schedules/daily")["next_due_at"];
    EXPECT_EQ(hub.get("/v1/workflow-types/daily")["next_start_at"], next);
    const Json off{{"workflow_type", "daily"}, {"cron", "0 3 * * *"}, {"enabled", false}};
    ASSERT_EQ(hub.api("PUT", "/v1/schedules/off", off).status, 201);
    EXPECT_EQ(hub.get("/v1/workflow-types/daily")["next_start_at"], next) << "one that is switched off starts nothing";
    ASSERT_EQ(hub.api("POST", "/v1/schedules/daily/pause", {{"reason", "moving"}}).status, 200);
    EXPECT_EQ(hub.get("/v1/workflow-types/daily")["next_start_at"], nullptr);
}

}
}
