// Schedules on the running program: each due time once, whatever breaks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

using ::testing::HasSubstr;

struct Scheduling {
    explicit Scheduling(bool holds = false) : peer(holds ? Peer() : Peer([](const Asked&) { return done(); })) {
        hub.register_type("work", peer.url());
    }
    Json put(const std::string& name, Json definition) {
        definition["workflow_type"] = definition.value("workflow_type", "work");
        const auto reply = hub.api("PUT", "/v1/schedules/" + name, definition);
        EXPECT_EQ(reply.status, 201) << reply.body;
        return reply.json();
    }
    Json runs(const std::string& name) const { return hub.get("/v1/schedules/" + name + "/runs?limit=500")["runs"]; }
    /// How many of its runs have that outcome.
    long count(const std::string& name, const std::string& outcome) const {
        const auto all = runs(name);
        return std::count_if(all.begin(), all.end(), [&](const Json& run) { return run["outcome"] == outcome; });
    }
    bool await(const std::string& name, const std::string& outcome, long least) const {
        return eventually([&] { return count(name, outcome) >= least; });
    }

    HubFixture hub;
    Peer peer;
};

TEST(Schedules, WhatIsDueStartsOnceEach) {
    Scheduling s;
    const auto made = s.put("often", {{"interval_seconds", 1},
                                      {"input", {{"n", 12345678901234567}}},
                                      {"priority", 70},
                                      {"context", {{"why", "test"}}}});
    EXPECT_EQ(made["version"], 1);
    EXPECT_EQ(made["overlap"], "skip");
    ASSERT_TRUE(s.await("often", "started", 3));
    const auto runs = s.runs("often");
    const auto execution = s.hub.await_end(runs.back()["execution_id"]);
    EXPECT_EQ(execution["status"], "completed");
    EXPECT_EQ(execution["priority"], 70);
    const auto asked = s.peer.asked().front();
    EXPECT_EQ(asked.json["input_data"]["n"], 12345678901234567);
    EXPECT_EQ(asked.json["context"]["why"], "test");
    EXPECT_EQ(asked.json["context"]["schedule"]["name"], "often");
    EXPECT_EQ(asked.json["context"]["schedule"]["due_at"], runs.back()["due_at"]);
    const auto late = s.hub.database.value(
        "select min(extract(epoch from x.created_at - r.due_at) * 1000)::int from schedule_runs r join executions x "
        "using "
        "(execution_id)");
    // How late all of them are on a machine that does much else is not said here.
    EXPECT_GE(std::stoi(late), 0);
    EXPECT_LT(std::stoi(late), 500 * patience()) << "milliseconds";
    const auto shown = s.hub.get("/v1/schedules/often");
    EXPECT_GE(shown["runs"], 3);
    EXPECT_FALSE(shown["next_due_at"].is_null());
    EXPECT_EQ(s.hub.get("/v1/schedules")["schedules"][0]["name"], "often");
    EXPECT_EQ(s.hub.api("DELETE", "/v1/schedules/often").status, 200);
    EXPECT_EQ(s.hub.api("GET", "/v1/schedules/often").status, 404);
}

TEST(Schedules, EachDueTimeStartsOnceAcrossKillsAndNodes) {
    Scheduling s;
    const HubProcess second(s.hub.database, s.hub.key_file(), s.hub.config());
    s.put("often", {{"interval_seconds", 1}, {"overlap", "allow"}});
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(s.await("often", "started", 2 * (i + 1)));
        s.hub.hub->kill();
        s.hub.start();
    }
    ASSERT_TRUE(s.await("often", "started", 8));
    EXPECT_EQ(s.hub.api("POST", "/v1/schedules/often/pause", {{"reason", "enough"}}).status, 200);
    const auto& database = s.hub.database;
    EXPECT_EQ(database.value("select count(*) = count(distinct execution_id) from schedule_runs"), "t");
    EXPECT_TRUE(eventually([&] {
        return database.value(
                   "select (select count(*) from executions) = (select count(*) from schedule_runs where outcome = "
                   "'started')") == "t";
    }));
    EXPECT_EQ(database.value("select count(*) = extract(epoch from max(due_at) - min(due_at)) + 1 from schedule_runs"),
              "t")
        << "none is left out";
    EXPECT_EQ(
        database.value("select t.runs = (select count(*) from schedule_runs r where r.schedule_id = t.schedule_id and "
                       "r.outcome = 'started') from schedule_states t"),
        "t");
}

TEST(Schedules, OverlapDecidesAboutWhatIsDueMeanwhile) {
    Scheduling s(true);
    s.put("skips", {{"interval_seconds", 1}});
    s.put("one", {{"interval_seconds", 1}, {"overlap", "buffer_one"}});
    s.put("all", {{"interval_seconds", 1}, {"overlap", "buffer_all"}});
    s.put("last", {{"interval_seconds", 1}, {"overlap", "cancel_running"}});
    ASSERT_TRUE(s.await("skips", "skipped", 2));
    ASSERT_TRUE(s.await("one", "skipped", 1));
    ASSERT_TRUE(s.await("all", "waiting", 2));
    ASSERT_TRUE(s.await("last", "started", 3));
    EXPECT_EQ(s.count("skips", "started"), 1);
    EXPECT_EQ(s.count("one", "started"), 1);
    EXPECT_EQ(s.count("one", "waiting"), 1);
    EXPECT_EQ(s.count("all", "started"), 1);
    const auto first = s.runs("last").back();
    EXPECT_EQ(s.hub.status(first["execution_id"]), "cancelled");
    // Once the one that runs has ended, the next that waits starts.
    const auto running = s.runs("all").back()["execution_id"].get<std::string>();
    for (const auto& asked : s.peer.asked())
        if (asked.execution_id() == running) EXPECT_EQ(Peer::call_back(asked, {{"status", "completed"}}).status, 200);
    EXPECT_TRUE(s.await("all", "started", 2));
}

TEST(Schedules, WhatWasDueInADowntimeIsStartedOrSaidToBeMissed) {
    Scheduling s;
    s.put("minutes", {{"interval_seconds", 60},
                      {"overlap", "allow"},
                      {"catch_up_seconds", 150},
                      {"anchor", "2026-01-01T00:00:00Z"}});
    s.hub.hub->kill();
    // As if it had been down for ten minutes.
    s.hub.database.run("update schedule_states set next_due_at = next_due_at - interval '10 minutes'");
    s.hub.start();
    ASSERT_TRUE(s.await("minutes", "started", 2));
    EXPECT_EQ(s.count("minutes", "missed"), 1);
    EXPECT_THAT(s.runs("minutes").back()["detail"].get<std::string>(), HasSubstr("nobody could start it in time"));
    EXPECT_LE(s.count("minutes", "started"), 3);
}

TEST(Schedules, APauseAnEndAndANumberOfRuns) {
    Scheduling s;
    s.put("often", {{"interval_seconds", 1}});
    ASSERT_TRUE(s.await("often", "started", 1));
    const auto paused = s.hub.api("POST", "/v1/schedules/often/pause", {{"reason", "maintenance"}}).json();
    EXPECT_EQ(paused["paused"]["reason"], "maintenance");
    const auto before = s.runs("often").size();
    s.put("twice", {{"interval_seconds", 1}, {"most_runs", 2}});
    ASSERT_TRUE(s.await("twice", "started", 2));
    ASSERT_TRUE(eventually([&] { return s.hub.get("/v1/schedules/twice")["next_due_at"].is_null(); }));
    EXPECT_LE(s.runs("often").size(), before + 1) << "one may have been on its way";
    const auto resumed = s.hub.api("POST", "/v1/schedules/often/resume").json();
    EXPECT_TRUE(resumed["paused"].is_null());
    ASSERT_TRUE(s.await("often", "started", static_cast<long>(before) + 1));
    EXPECT_EQ(s.count("often", "missed"), 0) << "what was due in the pause is left out";
    EXPECT_EQ(s.hub.api("POST", "/v1/schedules/none/pause", {{"reason", "x"}}).status, 404);
}

TEST(Schedules, ABackfillRunsARangeOneAfterTheOther) {
    Scheduling s;
    s.put("daily", {{"cron", "0 9 * * *"}, {"time_zone", "Europe/Berlin"}});
    const auto asked = s.hub.api("POST", "/v1/schedules/daily/backfill",
                                 {{"from", "2026-03-27T00:00:00Z"}, {"to", "2026-03-31T00:00:00Z"}});
    EXPECT_EQ(asked.json(), (Json{{"due", 4}, {"waiting", 4}})) << asked.body;
    ASSERT_TRUE(s.await("daily", "started", 4));
    const auto runs = s.runs("daily");
    EXPECT_EQ(runs[3]["due_at"], "2026-03-27T08:00:00.000000Z");
    EXPECT_EQ(runs[0]["due_at"], "2026-03-30T07:00:00.000000Z") << "the clocks have changed";
    const auto again = s.hub.api("POST", "/v1/schedules/daily/backfill",
                                 {{"from", "2026-03-27T00:00:00Z"}, {"to", "2026-03-31T00:00:00Z"}});
    EXPECT_EQ(again.json()["waiting"], 0) << "each due time once";
    const auto wrong = s.hub.api("POST", "/v1/schedules/daily/backfill",
                                 {{"from", "2020-01-01T00:00:00Z"}, {"to", "2026-01-01T00:00:00Z"}});
    EXPECT_EQ(wrong.status, 422);
    EXPECT_EQ(s.hub.api("POST", "/v1/schedules/daily/backfill", {{"from", "2026-03-27T00:00:00Z"}}).status, 422);
}

TEST(Schedules, WhatTheyWillDoCanBeSeenBefore) {
    Scheduling s;
    const Json definition{{"workflow_type", "work"},
                          {"cron", "30 2 * * *"},
                          {"time_zone", "Europe/Berlin"},
                          {"begins_at", "2027-03-27T00:00:00Z"},
                          {"ends_at", "2027-03-29T12:00:00Z"}};
    const auto preview = s.hub.api("POST", "/v1/schedules/new/preview?limit=5", definition).json();
    ASSERT_EQ(preview["due"].size(), 3U) << preview;
    EXPECT_EQ(preview["due"][1]["due_at"], "2027-03-28T01:00:00.000000Z") << "at the skip";
    EXPECT_EQ(s.hub.api("GET", "/v1/schedules/new").status, 404);
    s.put("new", definition);
    EXPECT_EQ(s.hub.get("/v1/schedules/new/next?limit=5"), preview);
    s.put("calendar", {{"calendar", {{"times", {"09:00", "17:30"}}, {"weekdays", {"monday"}}, {"days", {-1, 1}}}}});
    EXPECT_EQ(s.hub.get("/v1/schedules/calendar/next?limit=2")["due"].size(), 2U);
    EXPECT_EQ(s.hub.get("/v1/schedules/calendar")["calendar"]["times"], (Json{"09:00", "17:30"}));
}

TEST(Schedules, WhatIsAskedWronglyIsNamed) {
    Scheduling s;
    const auto names = [&](Json definition, const std::string& field) {
        definition["workflow_type"] = definition.value("workflow_type", "work");
        const auto preview = s.hub.api("POST", "/v1/schedules/wrong/preview", definition);
        // Whether there is such a type is asked when it is made.
        EXPECT_EQ(preview.status, field == "/workflow_type" || field == "/ends_at" ? 200 : 422) << preview.body;
        const auto reply = s.hub.api("PUT", "/v1/schedules/wrong", definition);
        return reply.status == 422 && reply.body.find("\"pointer\":\"" + field + "\"") != std::string::npos
                   ? std::string{}
                   : reply.body;
    };
    EXPECT_EQ(names({{"cron", "0 0 30 2 *"}}, "/cron"), "") << "30 February";
    EXPECT_EQ(names({{"cron", "61 * * * *"}}, "/cron"), "");
    EXPECT_EQ(names(Json::object(), "/cron"), "");
    EXPECT_EQ(names({{"cron", "@daily"}, {"interval_seconds", 5}}, "/cron"), "");
    EXPECT_EQ(names({{"cron", "@daily"}, {"time_zone", "Europe/Atlantis"}}, "/time_zone"), "");
    EXPECT_EQ(names({{"interval_seconds", 0}}, "/interval_seconds"), "");
    EXPECT_EQ(names({{"interval_seconds", 1.5}}, "/interval_seconds"), "");
    EXPECT_EQ(names({{"interval_seconds", 5}, {"workflow_type", "nothing"}}, "/workflow_type"), "");
    EXPECT_EQ(names({{"interval_seconds", 5}, {"overlap", "maybe"}}, "/overlap"), "");
    EXPECT_EQ(names({{"interval_seconds", 5}, {"ends_at", "2020-01-01T00:00:00Z"}}, "/ends_at"), "");
    EXPECT_EQ(names({{"interval_seconds", 5}, {"jitter", 1}}, "/jitter"), "");
    EXPECT_EQ(names({{"calendar", {{"times", {"25:00"}}}}}, "/calendar/times"), "");
    EXPECT_EQ(names({{"calendar", {{"times", {"09:00"}}, {"days", {31}}, {"months", {2, 4}}}}}, "/calendar"), "");
    EXPECT_EQ(s.hub.get("/v1/schedules")["schedules"].size(), 0U);
}

TEST(Schedules, WhereTheQueueIsFullTheyWaitOutsideAndThatIsSaid) {
    Scheduling s;
    s.hub.register_type("narrow", s.peer.url(), {{"enabled", false}, {"queue_soft_limit", 1}, {"queue_hard_limit", 1}});
    s.hub.enqueue("narrow");
    s.put("outside", {{"interval_seconds", 1}, {"overlap", "allow"}, {"workflow_type", "narrow"}});
    ASSERT_TRUE(eventually([&] {
        return s.hub.hub->log().find("a schedule waits until there is room in the queue") != std::string::npos;
    }));
    EXPECT_TRUE(s.runs("outside").empty());
    s.hub.register_type("narrow", s.peer.url(), {{"queue_soft_limit", 1}, {"queue_hard_limit", 1}});
    EXPECT_TRUE(s.await("outside", "started", 2)) << "one after the other, as there is room";
}

TEST(Schedules, WhatCannotBeMadeIsRefusedAndSaid) {
    Scheduling s;
    s.hub.register_type("short_lived", s.peer.url());
    // Whatever became of one that started before its type was deleted.
    s.put("orphan", {{"interval_seconds", 1}, {"workflow_type", "short_lived"}, {"overlap", "allow"}});
    // One that a later version may have written keeps nobody else from starting.
    s.hub.database.run(
        "with made as (insert into schedules (organization_id, name, definition, updated_by) values ('default', "
        "'foreign', "
        "'{\"sundial\": 1}', 'test') returning schedule_id) insert into schedule_states (schedule_id, next_due_at) "
        "select "
        "schedule_id, now() from made");
    EXPECT_EQ(s.hub.api("DELETE", "/v1/workflow-types/short_lived").status / 100, 2);
    ASSERT_TRUE(s.await("orphan", "refused", 1));
    EXPECT_THAT(s.runs("orphan")[0]["detail"].get<std::string>(), HasSubstr("workflow_type"));
    EXPECT_THAT(s.hub.hub->log(), HasSubstr("a schedule cannot be read and is left alone"));
}

TEST(Schedules, NextSaysWhichRunsWouldNotFit) {
    Scheduling s;
    s.hub.register_type("dear", s.peer.url(), {{"cost_estimate_usd", "0.4"}});
    ASSERT_EQ(s.hub
                  .api("PUT", "/v1/budgets/day",
                       {{"limit_usd", "1"}, {"window", "day"}, {"steps", Json::array()}, {"reason", "test"}})
                  .status,
              201);
    const Json definition{{"workflow_type", "dear"}, {"interval_seconds", 3 * 3600}};
    ASSERT_EQ(s.hub.api("PUT", "/v1/schedules/often", definition).status, 201);
    const auto next = s.hub.get("/v1/schedules/often/next?limit=16")["due"];
    std::map<std::string, int> fitting;
    for (const auto& each : next) {
        fitting[each["due_at"].get<std::string>().substr(0, 10)] += each["fits"] == true ? 1 : 0;
        EXPECT_EQ(each["fits"] == true, each["stopped_by"].is_null()) << each;
        if (each["fits"] == false) {
            EXPECT_EQ(each["stopped_by"]["kind"], "budget");
            EXPECT_EQ(each["stopped_by"]["subject"], "day");
        }
    }
    for (const auto& [day, count] : fitting) EXPECT_LE(count, 2) << day;
    EXPECT_EQ(
        std::max_element(fitting.begin(), fitting.end(), [](auto a, auto b) { return a.second < b.second; })->second, 2)
        << next.dump(1);
    const auto preview =
        s.hub.api("POST", "/v1/schedules/other/preview", {{"workflow_type", "nobody"}, {"cron", "0 4 * * *"}}).json();
    EXPECT_EQ(preview["due"][0]["fits"], false);
    EXPECT_NE(preview["due"][0]["stopped_by"]["detail"].get<std::string>().find("not registered"), std::string::npos);
    EXPECT_NE(s.hub.cli({"schedules", "next", "often", "--table"}).text.find("budget: "), std::string::npos);
}

}
}
