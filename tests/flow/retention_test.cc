// What has ended long ago goes from the running program's tables, and nothing else does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/event_reader.h"
#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

using ::testing::HasSubstr;

struct Keeping {
    explicit Keeping(const std::string& config = "[retention]\nevery_seconds = 1\n")
        : hub(config), peer([](const Asked& asked) {
              if (asked.path == "/bad") return Behaviour{422, "no"};
              if (asked.path == "/holds") return Behaviour{};
              return done();
          }) {
        for (const auto* type : {"good", "bad", "holds"}) hub.register_type(type, peer.url(std::string("/") + type));
    }
    /// As if everything of it had happened so many days earlier.
    void age(const std::string& id, int days) const {
        const auto back = " - interval '" + std::to_string(days) + " days'";
        hub.database.run("update executions set created_at = created_at" + back + ", scheduled_at = scheduled_at" +
                         back + ", started_at = started_at" + back + ", completed_at = completed_at" + back +
                         " where execution_id = '" + id + "'");
        hub.database.run("update events set at = at" + back + " where stream_id = '" + id + "'");
    }
    std::string ended(const std::string& type, int days) const {
        const auto id = hub.enqueue(type);
        hub.await_end(id);
        age(id, days);
        return id;
    }
    bool gone(const std::string& id) const { return hub.api("GET", "/v1/executions/" + id).status == 404; }
    long rows_of(const std::string& id) const {
        long rows = 0;
        for (const auto* table : {"executions", "execution_inputs", "execution_results", "attempts", "deliveries",
                                  "dead_letters", "workflow_resource_usage"})
            rows += std::stol(hub.database.value(std::string("select count(*) from ") + table +
                                                 " where execution_id = '" + id + "'"));
        return rows + std::stol(hub.database.value("select count(*) from events where stream_id = '" + id + "'"));
    }
    /// Waits for the end of a look that began after this.
    bool passes() const {
        for (int i = 0; i < 2; ++i) {
            const auto before = hub.database.value("select last_pass_at from retention");
            if (!eventually([&] { return hub.database.value("select last_pass_at from retention") != before; }))
                return false;
        }
        return true;
    }

    HubFixture hub;
    Peer peer;
};

TEST(Retention, WhatEndedLongAgoGoesAndWhatItCameToStays) {
    Keeping k;
    const auto by_day = [&] {
        return k.hub.database.value(
            "select string_agg(day || ' ' || workflow_type || ' ' || status || ' ' || executions || ' ' || attempts || "
            "' ' || "
            "duration_ms || ' ' || cost_usd, ', ' order by day, workflow_type, status) from executions_by_day");
    };
    k.hub.api("POST", "/v1/pause", {{"workflow_type", "holds"}});
    const auto waiting = k.hub.enqueue("holds");
    k.age(waiting, 1000);
    const auto young = k.ended("good", 80);
    const auto letter = k.ended("bad", 300);
    const auto decided = k.ended("bad", 300);
    EXPECT_EQ(k.hub.api("POST", "/v1/dead-letters/" + decided + "/discard").status, 200);
    ASSERT_TRUE(k.passes());
    EXPECT_FALSE(k.gone(decided)) << "its time counts from what happened to it last";
    k.age(decided, 300);
    std::vector<std::string> old;
    for (int i = 0; i < 5; ++i) {
        old.push_back(k.hub.enqueue("good"));
        k.hub.await_end(old.back());
    }
    for (const auto& id : old) k.age(id, 100);
    const auto before = by_day();
    for (const auto& id : old) EXPECT_TRUE(eventually([&] { return k.gone(id); })) << id;
    ASSERT_TRUE(eventually([&] { return k.gone(decided); }));
    ASSERT_TRUE(k.passes());
    for (const auto& id : old) EXPECT_EQ(k.rows_of(id), 0);
    EXPECT_FALSE(k.gone(young));
    EXPECT_FALSE(k.gone(waiting)) << "it lives, however old it is";
    EXPECT_FALSE(k.gone(letter)) << "nobody has decided about it";
    EXPECT_EQ(by_day(), before) << "what it came to stays";
    EXPECT_THAT(before, HasSubstr("good completed 5"));
    const auto shown = k.hub.get("/v1/retention");
    EXPECT_EQ(shown["removed_executions"], 6);
    EXPECT_GT(shown["removed_events"], 10);
    EXPECT_EQ(shown["policy"]["completed_days"], 90);
    EXPECT_THAT(k.hub.api("GET", "/metrics").body,
                HasSubstr("impresario_retention_removed_total{what=\"executions\"} 6"));
    // The promises are kept by what is left.
    const auto checked = k.hub.api("POST", "/v1/fsck", Json::object()).json();
    EXPECT_EQ(checked["found"], 0) << checked.dump(1);
}

TEST(Retention, AFamilyGoesAsAWhole) {
    Keeping k;
    const auto first = k.hub.enqueue("good");
    k.hub.await_end(first);
    const auto child =
        k.hub.api("POST", "/v1/executions/" + first + "/replay").json().at("execution_id").get<std::string>();
    k.hub.await_end(child);
    k.age(first, 100);
    k.age(child, 89);
    ASSERT_TRUE(k.passes());
    EXPECT_FALSE(k.gone(first)) << "its replay is young";
    EXPECT_FALSE(k.gone(child));
    k.age(child, 2);
    EXPECT_TRUE(eventually([&] { return k.gone(first) && k.gone(child); }));
    EXPECT_EQ(k.rows_of(first) + k.rows_of(child), 0);
}

TEST(Retention, WhatASubscriberHasNotBeenToldStays) {
    Keeping k;
    EXPECT_EQ(k.hub.api("PUT", "/v1/subscribers/deaf", {{"url", "http://127.0.0.1:9/"}, {"backoff_seconds", 1}}).status,
              201);
    const auto id = k.ended("good", 100);
    ASSERT_TRUE(eventually([&] { return k.hub.get("/v1/subscribers/deaf")["health"] == "failing"; }));
    ASSERT_TRUE(k.passes());
    EXPECT_FALSE(k.gone(id));
    const auto preview = k.hub.api("POST", "/v1/retention/preview", Json::object()).json();
    EXPECT_EQ(preview["held"], 1) << preview;
    EXPECT_EQ(preview["total_executions"], 0);
    EXPECT_EQ(k.hub.api("POST", "/v1/subscribers/deaf/disable").status, 200);
    EXPECT_TRUE(eventually([&] { return k.gone(id); })) << "who is told nothing holds nothing";
}

TEST(Retention, WhatTheDatabaseRefusesIsSaidAndTriedAgain) {
    Keeping k;
    k.hub.database.run("alter table execution_days add constraint spoilt check (executions < 0) not valid");
    const auto id = k.ended("good", 100);
    ASSERT_TRUE(eventually(
        [&] { return k.hub.hub->log().find("what ended long ago could not be removed") != std::string::npos; }));
    EXPECT_FALSE(k.gone(id));
    k.hub.database.run("alter table execution_days drop constraint spoilt");
    EXPECT_TRUE(eventually([&] { return k.gone(id); }));
}

TEST(Retention, APreviewCountsAndChangesNothing) {
    Keeping k("[retention]\nevery_seconds = 86400\n");
    for (int i = 0; i < 3; ++i) k.ended("good", 100);
    const auto preview = k.hub.api("POST", "/v1/retention/preview", Json::object()).json();
    EXPECT_EQ(preview["total_executions"], 3) << preview;
    ASSERT_EQ(preview["executions"].size(), 1U);
    EXPECT_EQ(preview["executions"][0]["workflow_type"], "good");
    EXPECT_EQ(preview["executions"][0]["status"], "completed");
    EXPECT_EQ(preview["complete"], true);
    std::map<std::string, long> rows;
    for (const auto& each : preview["tables"]) {
        rows[each["table"]] = each["rows"];
        if (each["rows"] > 0) EXPECT_GT(each["bytes"], 0) << each;
    }
    EXPECT_EQ(rows["executions"], 3);
    EXPECT_EQ(rows["events"], std::stol(k.hub.database.value("select count(*) from events where kind = 'execution'")));
    EXPECT_GT(preview["total_bytes"], 1000);
    EXPECT_EQ(k.hub.database.value("select count(*) from executions"), "3");
}

TEST(Retention, EventsOfLanesGoAndItIsKnownWhereTheyGoOn) {
    Keeping k;
    for (int i = 0; i < 3; ++i) {
        k.hub.api("POST", "/v1/pause", {{"workflow_type", "good"}});
        k.hub.api("POST", "/v1/resume", {{"workflow_type", "good"}});
    }
    const std::string lane = "select count(*) from events where kind = 'lane'";
    ASSERT_GE(std::stol(k.hub.database.value(lane)), 6);
    k.hub.database.run("update events set at = at - interval '100 days'");
    EXPECT_TRUE(eventually([&] { return k.hub.database.value(lane) == "0"; }));
    const auto found = [&] { return k.hub.api("POST", "/v1/fsck", {{"checks", {"streams"}}}).json(); };
    EXPECT_EQ(found()["found"], 0) << found().dump(1);
    k.hub.api("POST", "/v1/pause", {{"workflow_type", "good"}});
    k.hub.api("POST", "/v1/resume", {{"workflow_type", "good"}});
    EXPECT_EQ(found()["found"], 0) << found().dump(1);
    k.hub.database.run("delete from events where event_id = (select min(event_id) from events where kind = 'lane')");
    EXPECT_EQ(found()["found"], 1) << "what goes by itself is missed";
    // Who comes back with an id from before is told to read anew.
    EventReader reader({k.hub.hub->port()}, "/v1/events", k.hub.key, "all.1");
    EXPECT_TRUE(reader.await([](const auto& events) { return !events.empty() && events[0].type == "resync"; }, 20));
}

}
}
