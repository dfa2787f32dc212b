// Timers on the running program: each comes due once, at its time, whatever breaks and however many there are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/support/event_reader.h"
#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

using ::testing::HasSubstr;

struct Timing {
    explicit Timing(const std::string& config = "") : hub(config) {}
    Json set(const std::string& name, Json body) const {
        const auto reply = hub.api("PUT", "/v1/timers/" + name, body);
        EXPECT_EQ(reply.status, 200) << reply.body;
        return reply.json();
    }
    bool await_due(const std::string& name, double seconds = 20) const {
        return eventually([&] { return hub.get("/v1/timers/" + name).value("state", "") == "due"; }, seconds);
    }
    std::string count(const std::string& type) const {
        return hub.database.value("select count(*) from events where type = '" + type + "'");
    }

    HubFixture hub;
};

TEST(Timers, OneComesDueAtItsTimeAndItsStreamSaysSoOnce) {
    const Timing t;
    const EventReader reader({t.hub.hub->port()}, "/v1/events?topics=timers", t.hub.key, "all.0");
    ASSERT_TRUE(reader.await_open());
    std::map<std::string, std::string> tokens;
    for (int i = 0; i < 8; ++i) {
        const auto name = "t" + std::to_string(i);
        const auto due = t.hub.database.value("select to_char((now() + interval '500 ms' + " + std::to_string(i) +
                                              " * interval '150 ms') at time zone 'UTC', "
                                              "'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')");
        const auto set = t.set(name, {{"due_at", due}, {"payload", {{"order", i}}}});
        EXPECT_EQ(set["state"], "waiting");
        EXPECT_EQ(set["due_at"], due);
        tokens[name] = set["waiting_token"];
    }
    ASSERT_TRUE(reader.await_count(16));
    std::set<std::string> heard;
    for (const auto& event : reader.events()) {
        if (event.type != "timer.due") continue;
        const auto& payload = event.data["payload"];
        const std::string name = payload["name"];
        EXPECT_EQ(payload["waiting_token"], tokens[name]);
        EXPECT_EQ(payload["payload"]["order"], std::stoi(name.substr(1)));
        EXPECT_TRUE(heard.insert(name).second) << name << " twice";
        EXPECT_EQ(event.data["seq"], 2);
    }
    EXPECT_EQ(heard.size(), 8U);
    const auto late = t.hub.database.value(
        "select percentile_cont(0.5) within group (order by extract(epoch from e.at - t.due_at) * 1000)::int from "
        "events "
        "e join timers t on t.timer_id = e.stream_id where e.type = 'timer.due'");
    // How late all of them are on a machine that does much else is not said here.
    EXPECT_GE(std::stoi(late), 0);
    EXPECT_LT(std::stoi(late), sanitized() ? 500 : 50) << "milliseconds";
    EXPECT_THAT(t.hub.api("GET", "/metrics").body, HasSubstr("impresario_timer_delay_seconds_count 8"));
    const auto shown = t.hub.get("/v1/timers?state=due")["timers"];
    ASSERT_EQ(shown.size(), 8U);
    EXPECT_EQ(shown[0]["name"], "t7") << "the latest first";
    EXPECT_TRUE(t.hub.get("/v1/timers")["timers"].empty());
}

TEST(Timers, MovedOrCancelledItWaitsUnderAnotherTokenAndTheOldOneIsStale) {
    const Timing t;
    const auto first = t.set("review", {{"in_seconds", 3600}, {"payload", {{"n", 1}}}});
    const auto same = t.set("review", {{"due_at", first["due_at"]}, {"payload", {{"n", 1}}}});
    EXPECT_EQ(same["waiting_token"], first["waiting_token"]) << "an answer that got lost is asked for again";
    const auto moved =
        t.set("review", {{"in_seconds", 7200}, {"waiting_token", first["waiting_token"]}, {"payload", {{"n", 1}}}});
    EXPECT_NE(moved["waiting_token"], first["waiting_token"]);
    EXPECT_EQ(moved["stream_id"], first["stream_id"]);

    const std::string stale = first["waiting_token"];
    const auto refused = t.hub.api("PUT", "/v1/timers/review", {{"in_seconds", 0}, {"waiting_token", stale}});
    EXPECT_EQ(refused.status, 409);
    EXPECT_THAT(refused.body, HasSubstr("does not wait under this token"));
    EXPECT_EQ(t.hub.api("DELETE", "/v1/timers/review?waiting_token=" + stale).status, 409);
    EXPECT_EQ(t.hub.api("PUT", "/v1/timers/nobody", {{"in_seconds", 0}, {"waiting_token", stale}}).status, 409);
    EXPECT_EQ(t.hub.api("GET", "/v1/timers/nobody").status, 404) << "a token sets nothing anew";
    EXPECT_EQ(t.hub.get("/v1/timers/review")["due_at"], moved["due_at"]);

    const std::string token = moved["waiting_token"];
    const auto cancelled = t.hub.api("DELETE", "/v1/timers/review?waiting_token=" + token).json();
    EXPECT_EQ(cancelled["state"], "cancelled");
    EXPECT_NE(cancelled["waiting_token"], token);
    EXPECT_EQ(t.hub.api("DELETE", "/v1/timers/review").status, 409);
    EXPECT_EQ(t.hub.api("DELETE", "/v1/timers/nobody").status, 404);
    EXPECT_EQ(t.hub.get("/v1/timers?state=cancelled")["timers"].size(), 1U);

    // One that has ended waits again when it is set again, and what is past is due at once.
    t.set("review", {{"due_at", "2020-01-01T00:00:00Z"}});
    EXPECT_TRUE(t.await_due("review"));
    EXPECT_EQ(t.hub.database.value("select string_agg(type, ' ' order by seq) from events where kind = 'timer'"),
              "timer.set timer.set timer.cancelled timer.set timer.due");
    EXPECT_EQ(t.hub.database.value("select last_seq from timers"), "5");
}

TEST(Timers, SqlDoesTheSameAndIsHeardAtOnce) {
    const Timing t;
    const auto token = t.hub.database.value("select set_timer('far', now() + interval '1 day', '{\"n\": 1}')");
    EXPECT_EQ(t.hub.get("/v1/timers/far")["waiting_token"], token);
    EXPECT_EQ(t.hub.get("/v1/timers/far")["updated_by"], "sql");
    EXPECT_EQ(t.hub.database.value("select cancel_timer('far', gen_random_uuid())"), "f");
    // Long before the net of 10 s.
    t.hub.database.run("update timers set due_at = now() where name = 'far'");
    EXPECT_TRUE(t.await_due("far", 5));
    EXPECT_NE(t.hub.get("/v1/timers/far")["waiting_token"], token);
    t.hub.database.run("insert into timers (organization_id, name, due_at) values ('default', 'bare', now())");
    EXPECT_TRUE(t.await_due("bare", 5));
    EXPECT_EQ(t.hub.database.value("select cancel_timer('bare')"), "f") << "it has come due";
    t.hub.database.run(
        "insert into timers (organization_id, name, due_at) values ('default', 'gone', now() + interval "
        "'1 day'); delete from timers where name = 'gone'");
    EXPECT_EQ(t.count("timer.cancelled"), "1") << "who deletes one that waits is told of as well";
    EXPECT_EQ(t.hub.database.value("select count(*) from events where type = 'timer.due' and writer is not null"), "2");
    EXPECT_EQ(t.hub.database.value("select count(*) from events where type = 'timer.set' and writer is null"), "4");
    for (const auto* wrong : {"insert into timers (organization_id, name, due_at, state, ended_at) values ('default', "
                              "'born_due', now(), 'due', now())",
                              "update timers set state = 'cancelled' where name = 'bare'",
                              "update timers set due_at = 'infinity' where name = 'bare'"})
        EXPECT_ANY_THROW(t.hub.database.run(wrong)) << wrong;
    const auto checked = t.hub.cli({"fsck", "--json"});
    EXPECT_EQ(checked.code, 0) << checked.text;
}

TEST(Timers, EachComesDueOnceAcrossKillsAndNodes) {
    const Timing t;
    const HubProcess second(t.hub.database, t.hub.key_file(), t.hub.config());
    t.hub.database.run(
        "select set_timer('t' || i, now() + make_interval(secs => i * 0.02)) from generate_series(1, 400) i");
    auto& fixture = const_cast<HubFixture&>(t.hub);
    for (const auto* least : {"50", "150"}) {
        ASSERT_TRUE(eventually([&] { return std::stoi(t.count("timer.due")) >= std::stoi(least); }));
        fixture.hub->kill();
        fixture.start();
    }
    ASSERT_TRUE(eventually([&] { return t.count("timer.due") == "400"; }, 60));
    EXPECT_EQ(t.hub.database.value("select count(*) from timers where state = 'due'"), "400");
    EXPECT_EQ(t.hub.database.value("select count(distinct stream_id) from events where type = 'timer.due'"), "400");
    EXPECT_EQ(
        t.hub.database.value("select bool_and(e.at >= t.due_at)::text from (select stream_id, at from events where "
                             "type = 'timer.due') e join timers t on t.timer_id = e.stream_id"),
        "true");
}

TEST(Timers, OneThatSomebodyHoldsKeepsNobodyElseWaiting) {
    const Timing t;
    t.set("held", {{"in_seconds", 1}});
    t.hub.database.transact([&](platform::Tx& tx) {
        tx.run("select from timers where name = 'held' for update");
        ASSERT_TRUE(eventually(
            [&] { return t.hub.database.value("select due_at < now() from timers where name = 'held'") == "t"; }));
        t.set("free", {{"in_seconds", 0}});
        EXPECT_TRUE(t.await_due("free", 5));
        EXPECT_EQ(t.hub.get("/v1/timers/held")["state"], "waiting");
        const auto asked = t.hub.api("PUT", "/v1/timers/held", {{"in_seconds", 1}});
        EXPECT_EQ(asked.status, 503) << asked.body;
    });
    EXPECT_TRUE(t.await_due("held", 5));
}

TEST(Timers, AHundredThousandCostNoPolling) {
    const Timing t;
    // Without its triggers: as if they had been set long ago.
    t.hub.database.transact([](platform::Tx& tx) {
        tx.run("set local session_replication_role = replica");
        tx.run(
            "insert into timers (organization_id, name, due_at) select 'default', 't' || i, now() + interval '1 day' + "
            "make_interval(secs => i) from generate_series(1, 100000) i");
    });
    t.hub.database.run("analyze timers");
    const auto reads = [&] {
        return std::stol(t.hub.database.value(
            "select coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) from pg_stat_user_tables where relname = "
            "'timers'"));
    };
    t.set("soon", {{"in_seconds", 1}});
    ASSERT_TRUE(t.await_due("soon"));
    const auto before = reads();
    t.set("next", {{"in_seconds", 2}});
    ASSERT_TRUE(t.await_due("next"));
    EXPECT_LT(reads() - before, 2000) << "rows read for one that came due";
    EXPECT_LT(std::stoi(t.hub.database.value("select extract(epoch from e.at - t.due_at) * 1000 from events e join "
                                             "timers t on t.timer_id = e.stream_id where e.type = 'timer.due' and "
                                             "t.name = 'next'")),
              1000)
        << "milliseconds";
    EXPECT_EQ(t.count("timer.due"), "2");
}

TEST(Timers, WhatIsWrongIsRefusedByName) {
    const Timing t;
    const auto fault = [&](const Json& body) {
        const auto reply = t.hub.api("PUT", "/v1/timers/x", body);
        EXPECT_EQ(reply.status, 422) << reply.body;
        return reply.json().value("detail", "");
    };
    EXPECT_THAT(fault(Json::object()), HasSubstr("due_at"));
    EXPECT_THAT(fault({{"in_seconds", 1}, {"due_at", "2026-12-01T00:00:00Z"}}), HasSubstr("due_at"));
    EXPECT_THAT(fault({{"due_at", "tomorrow"}}), HasSubstr("due_at"));
    EXPECT_THAT(fault({{"in_seconds", -1}}), HasSubstr("in_seconds"));
    EXPECT_THAT(fault({{"in_seconds", 1}, {"waiting_token", "x"}}), HasSubstr("waiting_token"));
    EXPECT_THAT(fault({{"in_seconds", 1}, {"payload", std::string(17000, 'x')}}), HasSubstr("payload"));
    EXPECT_THAT(fault({{"in_seconds", 1}, {"note", "x"}}), HasSubstr("note"));
    EXPECT_EQ(t.hub.api("PUT", "/v1/timers/" + std::string(201, 'x'), {{"in_seconds", 1}}).status, 422);
    EXPECT_EQ(t.hub.api("GET", "/v1/timers?state=late").status, 422);
    EXPECT_EQ(t.hub.api("GET", "/v1/timers?cursor=x").status, 422);
    EXPECT_EQ(t.hub.api("DELETE", "/v1/timers/x?waiting_token=x").status, 422);
    EXPECT_EQ(t.hub.database.value("select count(*) from timers"), "0");
}

TEST(Timers, TheCommandLineAndPages) {
    const Timing t;
    EXPECT_EQ(t.hub.cli({"timers", "set", "a", "--in", "3600", "--payload", R"({"n": 1})"}).code, 0);
    EXPECT_EQ(t.hub.cli({"timers", "set", "b", "--at", "2090-01-01T00:00:00Z"}).code, 0);
    EXPECT_EQ(t.hub.cli({"timers", "set", "c", "--in", "60"}).code, 0);
    const auto all = t.hub.cli({"timers", "list", "--table"});
    EXPECT_THAT(all.text, HasSubstr("waiting token"));
    EXPECT_LT(all.text.find("\nc "), all.text.find("\na ")) << "the earliest first";
    EXPECT_EQ(t.hub.cli({"timers", "show", "a"}).json()["payload"]["n"], 1);
    EXPECT_EQ(t.hub.cli({"timers", "cancel", "a", "--token", "6c0fd8f5-0000-4000-8000-000000000000"}).code, 4);
    EXPECT_EQ(t.hub.cli({"timers", "cancel", "a"}).json()["state"], "cancelled");
    std::string cursor;
    std::vector<std::string> seen;
    for (int i = 0; i < 3; ++i) {
        const auto page = t.hub.get("/v1/timers?limit=1&cursor=" + cursor);
        for (const auto& each : page["timers"]) seen.push_back(each["name"]);
        cursor = page.value("next_cursor", "");
        if (cursor.empty()) break;
    }
    EXPECT_EQ(seen, (std::vector<std::string>{"c", "b"}));
    const auto viewer = t.hub.cli({"timers", "set", "d", "--in", "1"}, t.hub.make_key("viewer", "looks"));
    EXPECT_NE(viewer.code, 0);
}

TEST(Timers, WhatEndedLongAgoGoesWithItsEvents) {
    const Timing t("[retention]\nevery_seconds = 1\n");
    t.set("old", {{"in_seconds", 0}});
    ASSERT_TRUE(t.await_due("old"));
    t.set("young", {{"in_seconds", 0}});
    ASSERT_TRUE(t.await_due("young"));
    t.hub.database.run(
        "update events set at = at - interval '91 days' where event_id < (select min(event_id) from events join timers "
        "on timer_id = stream_id where name = 'young'); update timers set ended_at = ended_at - interval '91 days' "
        "where name = 'old'");
    EXPECT_TRUE(eventually([&] { return t.hub.api("GET", "/v1/timers/old").status == 404; }));
    EXPECT_TRUE(
        eventually([&] { return t.hub.database.value("select count(*) from events where kind = 'timer'") == "2"; }));
    EXPECT_EQ(t.hub.get("/v1/timers/young")["state"], "due");
}

}
}
