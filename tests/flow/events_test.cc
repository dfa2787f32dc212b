// Streams of events on the running program: nothing is left out and nothing comes twice, whatever breaks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/support/crowd.h"
#include "tests/support/event_reader.h"
#include "tests/support/hub.h"
#include "tests/support/sql_proxy.h"

namespace impresario::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> types_of(const std::vector<ReadEvent>& events) {
    std::vector<std::string> types;
    for (const auto& event : events) types.push_back(event.type);
    return types;
}

std::string of_execution(const std::string& id) { return "/v1/executions/" + id + "/events"; }

/// "all.17" as a number.
long number(const std::string& id) { return std::stol(id.substr(id.find('.') + 1)); }

TEST(Events, AnExecutionIsToldFromItsBeginningToItsEnd) {
    HubFixture hub;
    Peer peer;
    hub.register_type("work", peer.url());
    const auto id = hub.enqueue("work");
    const EventReader reader({hub.hub->port()}, of_execution(id), hub.key);
    ASSERT_TRUE(reader.await_count(3)) << "queued, dispatched, accepted";
    EXPECT_THAT(reader.head(), HasSubstr("text/event-stream"));
    EXPECT_EQ(Peer::call_back(peer.asked().back(), {{"status", "completed"}}).status, 200);
    ASSERT_TRUE(reader.await_count(4));
    const auto events = reader.events();
    EXPECT_THAT(types_of(events),
                ElementsAre("execution.queued", "execution.dispatched", "execution.accepted", "execution.completed"));
    for (std::size_t i = 0; i < events.size(); ++i) {
        EXPECT_EQ(events[i].data["seq"], i + 1);
        EXPECT_EQ(events[i].data["type"], events[i].type);
        EXPECT_EQ(number(events[i].id), static_cast<long>(i + 1));
    }
    const EventReader resumed({hub.hub->port()}, of_execution(id), hub.key, events[1].id);
    ASSERT_TRUE(resumed.await_count(2));
    EXPECT_THAT(types_of(resumed.events()), ElementsAre("execution.accepted", "execution.completed"));
    const EventReader by_parameter({hub.hub->port()}, of_execution(id) + "?last_event_id=" + events[2].id, hub.key);
    ASSERT_TRUE(by_parameter.await_count(1));
    EXPECT_THAT(types_of(by_parameter.events()), ElementsAre("execution.completed"));
    const EventReader of_types({hub.hub->port()}, of_execution(id) + "?types=execution.accepted", hub.key);
    ASSERT_TRUE(of_types.await_count(1));
    EXPECT_THAT(types_of(of_types.events()), ElementsAre("execution.accepted"));
}

TEST(Events, OneStreamTellsOfEverythingThatItIsAskedFor) {
    HubFixture hub;
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("work", peer.url());
    hub.register_type("play", peer.url());
    const int port = hub.hub->port();
    const EventReader all({port}, "/v1/events", hub.key);
    const EventReader ends({port}, "/v1/events?types=execution.completed&workflow_types=play", hub.key);
    const EventReader lanes({port}, "/v1/events?topics=lanes,workspaces", hub.key);
    // Whoever acts once it is open hears of that.
    for (const auto* each : {&all, &ends, &lanes}) ASSERT_TRUE(each->await_open());
    const auto work = hub.enqueue("work");
    const auto play = hub.enqueue("play");
    hub.await_end(work);
    hub.await_end(play);
    EXPECT_EQ(hub.api("POST", "/v1/pause", {{"workflow_type", "work"}, {"reason", "a look"}}).status, 200);
    ASSERT_TRUE(ends.await_count(1));
    EXPECT_EQ(ends.events()[0].data["stream_id"], play);
    EXPECT_EQ(ends.events()[0].data["workflow_type"], "play");
    ASSERT_TRUE(lanes.await([](const auto& events) { return !events.empty() && events.back().type == "lane.paused"; }));
    EXPECT_EQ(lanes.events().back().data["workflow_type"], "work");
    for (const auto& event : lanes.events()) EXPECT_EQ(event.data["kind"], "lane");
    ASSERT_TRUE(all.await([](const auto& events) { return !events.empty() && events.back().type == "lane.paused"; }));
    long last = 0;
    for (const auto& event : all.events()) {
        EXPECT_GT(number(event.id), last);
        last = number(event.id);
    }
    EXPECT_EQ(types_of(all.events()).size(), counted(all.events()).size());
}

TEST(Events, AnOrganizationHearsOfItsOwn) {
    HubFixture hub;
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("work", peer.url());
    hub.database.run("insert into organizations (organization_id, name) values ('acme', 'Acme')");
    const auto key = hub.make_key("viewer", "theirs", "acme");
    const EventReader theirs({hub.hub->port()}, "/v1/events?last_event_id=all.0", key);
    const EventReader everything({hub.hub->port()}, "/v1/events?last_event_id=all.0", hub.key);
    const auto id = hub.enqueue("work");
    hub.await_end(id);
    hub.database.run(
        "insert into events (kind, stream_id, seq, organization_id, type) values ('execution', gen_random_uuid(), 1, "
        "'acme', 'execution.queued')");
    ASSERT_TRUE(theirs.await_count(1));
    ASSERT_TRUE(everything.await(
        [](const auto& events) { return !events.empty() && events.back().data["organization_id"] == "acme"; }));
    EXPECT_EQ(theirs.events().size(), 1U);
    EXPECT_EQ(theirs.events()[0].data["organization_id"], "acme");
    EXPECT_EQ(request(hub.hub->port(), "GET", of_execution(id),
                      {{"authorization", "Bearer " + key}, {"accept", "text/event-stream"}})
                  .status,
              404);
}

TEST(Events, WhatIsAskedWronglyIsNamed) {
    HubFixture hub;
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("work", peer.url());
    const auto id = hub.enqueue("work");
    const auto asked = [&](const std::string& target, const std::string& last = "") {
        std::vector<std::pair<std::string, std::string>> headers{{"accept", "text/event-stream"}};
        if (!last.empty()) headers.emplace_back("last-event-id", last);
        return hub.api("GET", target, nullptr, headers);
    };
    const auto names = [](const Reply& reply, const std::string& field) {
        return reply.status == 422 && reply.body.find("\"pointer\":\"" + field + "\"") != std::string::npos;
    };
    EXPECT_TRUE(names(asked("/v1/events?topics=executions,weather"), "topics"));
    EXPECT_TRUE(names(asked("/v1/events?topics="), "topics"));
    EXPECT_TRUE(names(asked("/v1/events?types=completed"), "types"));
    EXPECT_TRUE(names(asked("/v1/events", "17"), "Last-Event-ID"));
    EXPECT_TRUE(names(asked("/v1/events", "all.-1"), "Last-Event-ID"));
    EXPECT_TRUE(names(asked("/v1/events?last_event_id=all.x"), "last_event_id"));
    EXPECT_TRUE(names(asked(of_execution(id), "all.17"), "Last-Event-ID")) << "the cursor of another stream";
    EXPECT_TRUE(names(asked(of_execution(id), "0123456789ab.1"), "Last-Event-ID")) << "of another execution's";
    EXPECT_EQ(asked(of_execution("01a228e4-4832-7093-8e88-d1fc8ec356ec")).status, 404);
    EXPECT_EQ(request(hub.hub->port(), "GET", "/v1/events").status, 401);
}

TEST(Events, WhatCommitsLateComesInItsPlace) {
    HubFixture hub;
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("work", peer.url());
    const EventReader reader({hub.hub->port()}, "/v1/events?topics=executions", hub.key);
    ASSERT_TRUE(eventually([&] { return !reader.last_id().empty(); }));
    std::string id;
    hub.database.transact([&](platform::Tx& tx) {
        // It has a number now that is lower than those of what follows, and nobody sees it yet.
        tx.run(
            "insert into events (kind, stream_id, seq, organization_id, type) values ('execution', "
            "'00000000-0000-7000-8000-000000000001', 1, 'default', 'execution.updated')");
        id = hub.enqueue("work");
        EXPECT_EQ(hub.await_end(id)["status"], "completed");
        EXPECT_FALSE(reader.await_count(1, 0.5 / patience())) << "what stands behind it waits for it";
    });
    ASSERT_TRUE(reader.await(
        [&](const auto& events) { return !events.empty() && events.back().type == "execution.completed"; }));
    const auto events = reader.events();
    EXPECT_EQ(events[0].type, "execution.updated");
    EXPECT_EQ(events[1].data["stream_id"], id);
}

TEST(Events, WhatIsRolledBackHoldsNobodyUp) {
    HubFixture hub;
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("work", peer.url());
    const EventReader reader({hub.hub->port()}, "/v1/events?topics=executions", hub.key);
    ASSERT_TRUE(eventually([&] { return !reader.last_id().empty(); }));
    struct Undone {};
    EXPECT_THROW(hub.database.transact([&](platform::Tx& tx) {
        tx.run(
            "insert into events (kind, stream_id, seq, organization_id, type) values ('execution', "
            "gen_random_uuid(), 1, 'default', 'execution.updated')");
        throw Undone{};
    }),
                 Undone);
    hub.await_end(hub.enqueue("work"));
    ASSERT_TRUE(reader.await(
        [](const auto& events) { return !events.empty() && events.back().type == "execution.completed"; }));
    EXPECT_EQ(reader.events()[0].type, "execution.queued");
}

TEST(Events, NothingIsLeftOutAndNothingComesTwiceAcrossKillsAndNodes) {
    HubFixture hub;
    // What may have left is sent again when its node is gone: its end is not to be waited for.
    Peer peer([](const Asked&) {
        auto behaviour = done();
        behaviour.headers = {{"webhook-deduplicates", "true"}};
        return behaviour;
    });
    hub.register_type("work", peer.url(), {{"retry_policy", quick_retries(5)}});
    hub.await_end(hub.enqueue("work"));
    const int port = free_port();
    auto second = std::make_unique<HubProcess>(hub.database, hub.key_file(), hub.config(), port);
    // Of two readers each begins on another node, and goes on to the next when its own breaks.
    const EventReader one({hub.hub->port(), port}, "/v1/events?topics=executions", hub.key);
    const EventReader two({port, hub.hub->port()}, "/v1/events?topics=executions", hub.key);
    ASSERT_TRUE(eventually([&] { return !one.last_id().empty() && !two.last_id().empty(); }));
    const long from_one = number(one.last_id());
    const long from_two = number(two.last_id());
    std::vector<std::string> ids;
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 60; ++i) ids.push_back(hub.enqueue("work"));
        if (round == 1) {
            second->kill();
            second = std::make_unique<HubProcess>(hub.database, hub.key_file(), hub.config(), port);
        } else {
            hub.hub->kill();
            hub.start();
        }
    }
    for (const auto& id : ids) EXPECT_EQ(hub.await_end(id)["status"], "completed");
    for (const auto& [reader, from] : {std::pair{&one, from_one}, std::pair{&two, from_two}}) {
        const auto expected = journal_of_executions(hub.database, from);
        EXPECT_TRUE(reader->await([&](const auto& events) { return counted(events).size() >= expected.size(); }));
        EXPECT_EQ(counted(reader->events()), expected);
        std::map<std::string, int> latest;
        for (const auto& event : reader->events()) {
            auto& seq = latest[event.data["stream_id"]];
            EXPECT_EQ(event.data["seq"], seq + 1) << "of one execution in order";
            seq = event.data["seq"];
        }
    }
    EXPECT_GE(one.connections() + two.connections(), 5);
}

TEST(Events, WhoComesBackTooLateIsToldToLookAnew) {
    HubFixture hub;
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("work", peer.url());
    for (int i = 0; i < 5; ++i) hub.await_end(hub.enqueue("work"));
    hub.database.run("delete from events where event_id <= (select max(event_id) - 3 from events)");
    const int port = hub.hub->port();
    const EventReader late({port}, "/v1/events", hub.key, "all.2");
    const EventReader ahead({port}, "/v1/events", hub.key, "all.9000000");
    const EventReader beginning({port}, "/v1/events", hub.key, "all.0");
    ASSERT_TRUE(late.await_count(1));
    ASSERT_TRUE(ahead.await_count(1));
    ASSERT_TRUE(beginning.await_count(3)) << "what is kept";
    hub.await_end(hub.enqueue("work"));
    for (const auto* each : {&late, &ahead}) {
        ASSERT_TRUE(each->await([](const auto& events) { return events.back().type == "execution.completed"; }));
        const auto types = types_of(each->events());
        EXPECT_EQ(std::count(types.begin(), types.end(), "resync"), 1);
        EXPECT_EQ(types.front(), "resync");
        EXPECT_EQ(types[1], "execution.queued") << "and then what happens";
    }
    EXPECT_THAT(late.events()[0].data["reason"], HasSubstr("not kept"));
    EXPECT_THAT(ahead.events()[0].data["reason"], HasSubstr("ahead"));
}

TEST(Events, AStreamOnWhichNothingHappensSaysSo) {
    HubFixture hub("[events]\ncomment_ms = 200\n");
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("work", peer.url());
    const EventReader reader({hub.hub->port()}, "/v1/events?types=execution.dead", hub.key);
    ASSERT_TRUE(eventually([&] { return reader.comments() >= 2; }));
    hub.await_end(hub.enqueue("work"));
    // What it did not want to hear is behind it all the same: it need not be looked through again.
    ASSERT_TRUE(eventually([&] {
        return !reader.last_id().empty() &&
               std::to_string(number(reader.last_id())) == hub.database.value("select max(event_id) from events");
    }));
    EXPECT_TRUE(reader.events().empty());
    EXPECT_EQ(reader.connections(), 1);
}

TEST(Events, ASlowReaderIsHungUpOnAndResumes) {
    HubFixture hub("[events]\nbuffer_kib = 64\n");
    Line slow(hub.hub->port(), 4096);
    ASSERT_TRUE(
        slow.send("GET /v1/events HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer " + hub.key + "\r\n\r\n"));
    ASSERT_TRUE(slow.wait_status(200, 20));
    ASSERT_TRUE(eventually([&] { return slow.received().find("id: all.") != std::string::npos; }));
    const auto fill = [&](int count) {
        hub.database.run(
            "insert into events (kind, stream_id, seq, organization_id, type, payload) select 'execution', "
            "gen_random_uuid(), 1, 'default', 'execution.updated', json_build_object('text', repeat('x', 4000)) "
            "from generate_series(1, " +
            std::to_string(count) + ")");
    };
    const auto dropped = [&] {
        return hub.api("GET", "/metrics").body.find("impresario_event_streams_dropped_total 1") != std::string::npos;
    };
    // What the kernel keeps for it is beyond what the hub keeps.
    for (int i = 0; i < 100 && !dropped(); ++i) fill(200);
    // Streams wait for whatever transaction is open on the server, others' too.
    ASSERT_TRUE(eventually(dropped, 60));
    EXPECT_TRUE(slow.wait_closed(20));
    std::string last;
    const auto& got = slow.received();
    const auto whole = got.rfind("\n\n");
    const auto at = got.rfind("id: all.", whole);
    last = got.substr(at + 4, got.find('\n', at) - at - 4);
    const EventReader resumed({hub.hub->port()}, "/v1/events", hub.key, last);
    const auto left =
        hub.database.value("select count(*) from events where event_id > " + std::to_string(number(last)));
    EXPECT_TRUE(resumed.await_count(std::stoul(left), 60));
    EXPECT_EQ(resumed.events().size(), std::stoul(left));
    EXPECT_EQ(resumed.connections(), 1) << "what happened before comes as fast as it is read";
}

TEST(Events, AKeyThatIsTakenAwayEndsItsStreams) {
    HubFixture hub;
    const auto key = hub.make_key("viewer", "for a while");
    const EventReader theirs({hub.hub->port()}, "/v1/events", key);
    const EventReader mine({hub.hub->port()}, "/v1/events", hub.key);
    ASSERT_TRUE(eventually([&] { return !theirs.last_id().empty() && !mine.last_id().empty(); }));
    hub.database.run("update api_keys set revoked_at = now() where name = 'for a while'");
    ASSERT_TRUE(eventually([&] { return theirs.head().starts_with("HTTP/1.1 401"); }));
    EXPECT_EQ(mine.connections(), 1);
}

TEST(Events, ANodeThatIsNotReadyAsksItsReadersToComeBack) {
    HubFixture hub;
    SqlProxy proxy(hub.database);
    proxy.hold();
    const HubProcess deaf(hub.database, hub.key_file(), hub.config(), 0, false, proxy.url());
    Reply reply;
    ASSERT_TRUE(eventually([&] {
        reply = request(deaf.port(), "GET", "/v1/events",
                        {{"authorization", "Bearer " + hub.key}, {"accept", "text/event-stream"}});
        return reply.status != 0;
    }));
    EXPECT_EQ(reply.status, 200) << "after any other a browser never comes back";
    EXPECT_EQ(reply.body, "retry: 1000\n\n");
    EXPECT_EQ(request(deaf.port(), "GET", "/v1/events", {{"authorization", "Bearer " + hub.key}}).status, 503)
        << "who is no browser is told";
    proxy.let_go();
}

TEST(Events, StreamsHaveTheirNumber) {
    HubFixture hub("[events]\nstreams = 2\n");
    auto one = std::make_unique<EventReader>(std::vector{hub.hub->port()}, "/v1/events", hub.key);
    const EventReader two({hub.hub->port()}, "/v1/events", hub.key);
    ASSERT_TRUE(one->await_open());
    ASSERT_TRUE(two.await_open());
    const auto third = hub.api("GET", "/v1/events");
    EXPECT_EQ(third.status, 503);
    EXPECT_THAT(third.body, HasSubstr("events.streams"));
    one.reset();
    // That it has gone is seen at once, not with the next event.
    const EventReader next({hub.hub->port()}, "/v1/events", hub.key);
    EXPECT_TRUE(eventually([&] { return next.head().starts_with("HTTP/1.1 200"); }, 5));
}

TEST(Events, ANodeThatStopsLetsItsReadersGo) {
    HubFixture hub;
    const HubProcess second(hub.database, hub.key_file(), hub.config());
    const EventReader reader({hub.hub->port(), second.port()}, "/v1/events", hub.key);
    ASSERT_TRUE(eventually([&] { return !reader.last_id().empty(); }));
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_EQ(hub.hub->terminate(), 0);
    EXPECT_LT(seconds_since(begun), 5 * patience());
    EXPECT_TRUE(eventually([&] { return reader.connections() == 2; }));
}

TEST(Events, AThousandStreamsAreCheap) {
    HubFixture hub("[events]\nstreams = 1000\n");
    Peer peer([](const Asked&) { return done(); });
    hub.register_type("work", peer.url());
    const int count = raise_connections(1000);
    const auto before = hub.hub->memory_kib();
    auto lines = crowd(hub.hub->port(), count);
    for (const auto& line : lines)
        ASSERT_TRUE(
            line.send("GET /v1/events HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer " + hub.key + "\r\n\r\n"));
    for (auto& line : lines)
        ASSERT_TRUE(eventually([&] { return line.received().find("id: all.") != std::string::npos; }));
    std::string last;
    for (int i = 0; i < 20; ++i) last = hub.enqueue("work");
    hub.await_end(last);
    for (auto& line : lines)
        ASSERT_TRUE(eventually([&] { return line.received().find("execution.completed") != std::string::npos; }));
    const auto after = hub.hub->memory_kib();
    RecordProperty("kib_a_stream", static_cast<int>((after - before) / static_cast<std::size_t>(count)));
    if (!sanitized()) EXPECT_LT(after - before, 150U * 1024) << count << " streams";
}

TEST(Events, TellWhatIsDefinedWhoeverChangesIt) {
    HubFixture hub;
    const EventReader reader({hub.hub->port()}, "/v1/events?topics=workspaces", hub.key);
    ASSERT_TRUE(reader.await_open());
    hub.register_type("t", "http://127.0.0.1:1/", {{"bearer", "s3cret"}});
    hub.register_type("t", "http://127.0.0.1:1/", {{"bearer", "s3cret"}});
    hub.register_type("t", "http://127.0.0.1:1/",
                      {{"bearer", "s3cret"}, {"max_concurrency", 3}, {"cool_down_seconds", 5}});
    hub.database.run("update workflow_types set enabled = false where name = 't'");
    ASSERT_EQ(hub.api("DELETE", "/v1/workflow-types/t").status, 204);
    const Json limits{{"limits", {{{"name", "rpm"}, {"of", "requests"}, {"limit", 7}, {"per", "minute"}}}},
                      {"reason", "a plan"}};
    ASSERT_EQ(hub.api("PUT", "/v1/providers/p", limits).status, 201);
    ASSERT_EQ(hub.api("PUT", "/v1/providers/p", limits).status, 200);
    hub.database.run("update providers set limits = '[]' where name = 'p'");
    ASSERT_EQ(hub.api("DELETE", "/v1/providers/p").status, 204);
    ASSERT_TRUE(
        reader.await([](const auto& events) { return !events.empty() && events.back().type == "provider.removed"; }));
    std::vector<std::string> told;
    for (const auto& event : reader.events()) {
        told.push_back(event.type);
        EXPECT_EQ(event.data.dump().find("s3cret"), std::string::npos);
    }
    EXPECT_EQ(told, (std::vector<std::string>{"lane.registered", "lane.changed", "lane.changed", "lane.removed",
                                              "provider.changed", "provider.changed", "provider.removed"}))
        << "the same again is no change";
    EXPECT_EQ(reader.events()[1].data["payload"]["changed"],
              Json::parse(R"(["cool_down_seconds", "max_concurrency"])"));
    EXPECT_EQ(reader.events()[2].data["payload"]["changed"], Json::parse(R"(["enabled"])"));
    EXPECT_EQ(reader.events()[1].data["payload"]["workflow_type"], "t");
    EXPECT_EQ(reader.events()[4].data["payload"]["reason"], "a plan");
    EXPECT_EQ(reader.events()[5].data["payload"]["limits"], Json::array());
    EXPECT_EQ(hub.database.value("select count(*) from (select count(*) - max(seq) as gap from events where kind in "
                                 "('lane', 'provider') group by stream_id) s where gap <> 0"),
              "0")
        << "P8: no gaps";
    EXPECT_EQ(hub.api("POST", "/v1/fsck", Json::object()).json()["found"], 0);
}

}
}
