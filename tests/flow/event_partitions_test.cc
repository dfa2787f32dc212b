// The journal's partitions under the running program.
#include <gtest/gtest.h>

#include <set>

#include "tests/support/event_reader.h"
#include "tests/support/hub.h"
#include "tests/support/prompt.h"

namespace impresario::testing {
namespace {

struct Parted {
    explicit Parted(const std::string& config = "[retention]\nevery_seconds = 1\n")
        : hub(config), peer([](const Asked&) { return done(); }) {
        hub.register_type("work", peer.url());
    }
    std::string value(const std::string& sql) const { return hub.database.value(sql); }
    /// The latest number becomes that of `from` plus so many.
    void jump(const std::string& from, int plus) const {
        value("select setval('event_numbers', (select " + from + " from event_partitions) + " + std::to_string(plus) +
              ")");
    }
    bool two_ahead() const {
        return eventually([&] {
            return value(
                       "select count(*) from event_partitions where next is not null and first > (select last_value "
                       "from event_numbers)") == "2";
        });
    }
    std::vector<std::string> enqueue(int count) const {
        std::vector<std::string> ids;
        for (int i = 0; i < count; ++i) ids.push_back(hub.enqueue("work"));
        for (const auto& id : ids) EXPECT_EQ(hub.await_end(id)["status"], "completed");
        return ids;
    }
    /// All the events of executions were told to who reads on, each once.
    bool heard(const EventReader& reader) const {
        const auto all = journal_of_executions(hub.database, 0);
        return reader.await([&](const auto& events) { return counted(events) == all; });
    }
    void expect_sound() const {
        const auto checked = hub.api("POST", "/v1/fsck", Json::object()).json();
        EXPECT_EQ(checked["found"], 0) << checked.dump(1);
    }

    HubFixture hub;
    Peer peer;
};

TEST(EventPartitions, AreMadeAheadAndEveryReaderGoesOn) {
    Parted p;
    EXPECT_EQ(
        p.hub.api("PUT", "/v1/subscribers/ear", {{"url", p.peer.url("/heard")}, {"topics", {"executions"}}}).status,
        201);
    EventReader reader({p.hub.hub->port()}, "/v1/events?topics=executions", p.hub.key, "all.0");
    ASSERT_TRUE(p.two_ahead());
    for (int i = 0; i < 3; ++i) {
        // The next executions lie on both sides of where the next partition begins.
        p.jump("min(next)  filter (where next > (select last_value from event_numbers))", -6);
        p.enqueue(4);
        EXPECT_TRUE(p.two_ahead()) << i;
    }
    EXPECT_EQ(p.value("select count(distinct tableoid) from events"), "4");
    EXPECT_EQ(
        p.value(
            "select count(*) from events e join event_partitions p on p.partition = e.tableoid where p.next is null"),
        "0");
    EXPECT_TRUE(p.heard(reader));
    // One execution lies in two, and is read whole.
    const auto both = p.value(
        "select stream_id from events where kind = 'execution' group by 1 having count(distinct tableoid) > 1 limit 1");
    EXPECT_GE(p.hub.event_types(both).size(), 3U);
    EXPECT_EQ(p.hub.event_types(both).back(), "execution.completed");
    std::set<std::string> untold;
    EXPECT_TRUE(eventually([&] {
        untold.clear();
        for (const auto& each : journal_of_executions(p.hub.database, 0)) untold.insert(each.first);
        for (const auto& asked : p.peer.asked())
            if (asked.path == "/heard")
                untold.erase(asked.json["data"].value("stream_id", "") + "/" +
                             std::to_string(asked.json["data"].value("seq", 0)));
        return untold.empty();
    })) << untold.size();
    p.expect_sound();
}

TEST(EventPartitions, WhatRetentionHasEmptiedGoes) {
    Parted p;
    ASSERT_TRUE(p.two_ahead());
    const auto old = p.enqueue(3);
    const auto first = p.value("select min(partition::text) from event_partitions where first is null");
    p.jump("min(next)", 0);
    const auto young = p.enqueue(3);
    const auto aged = [&](const std::string& where) {
        p.hub.database.run(
            "update executions set created_at = created_at - interval '100 days', completed_at = completed_at - "
            "interval '100 days' where " +
            where);
        p.hub.database.run("update events set at = at - interval '100 days' where tableoid = '" + first +
                           "'::regclass");
    };
    aged("execution_id in ('" + old[0] + "', '" + old[1] + "')");
    // Also those of lanes and nodes, down to the last.
    const auto left = [&] {
        return p.value("select count(distinct kind) || ' ' || count(distinct stream_id) from " + first);
    };
    EXPECT_TRUE(eventually([&] { return left() == "1 1"; })) << left();
    EXPECT_EQ(p.value("select to_regclass('" + first + "') is not null"), "t") << "one is still in it";
    p.expect_sound();
    // Somebody looks at the journal for as long as he likes: nothing is dropped, and nobody waits.
    Prompt reader(p.hub.database);
    reader.run("begin");
    reader.run("select count(*) from events");
    p.hub.database.run(
        "update executions set created_at = created_at - interval '100 days', completed_at = completed_at - "
        "interval '100 days' where execution_id = '" +
        old[2] + "'");
    EXPECT_TRUE(eventually([&] { return p.value("select count(*) from " + first) == "0"; }));
    p.enqueue(2);
    EXPECT_EQ(p.value("select to_regclass('" + first + "') is not null"), "t");
    reader.run("commit");
    EXPECT_TRUE(eventually([&] { return p.value("select to_regclass('" + first + "') is null") == "t"; }, 30));
    for (const auto& id : young) EXPECT_EQ(p.hub.status(id), "completed");
    p.enqueue(1);
    p.expect_sound();
}

TEST(EventPartitions, WhoComesBackCutsWhatHasFilledMeanwhile) {
    Parted p("[retention]\ncompleted_days = 0\nfailed_days = 0\ncancelled_days = 0\ndead_days = 0\nevents_days = 0\n");
    ASSERT_TRUE(p.two_ahead());
    p.enqueue(1);
    p.hub.hub->kill();
    // Plain SQL goes on, over all that was made ahead.
    p.jump("max(next)", 10);
    for (int i = 0; i < 20; ++i) p.value("select enqueue_workflow_task('work', 50, '{}')");
    EXPECT_EQ(
        p.value("select count(distinct e.stream_id) from events e join event_partitions p on p.partition = e.tableoid "
                "where p.next is null"),
        "20");
    p.hub.start();
    ASSERT_TRUE(p.two_ahead());
    EXPECT_TRUE(
        eventually([&] { return p.value("select count(*) from executions where status = 'completed'") == "21"; }));
    EXPECT_EQ(
        p.value(
            "select count(*) from events e join event_partitions p on p.partition = e.tableoid where p.next is null"),
        "0");
    EventReader reader({p.hub.hub->port()}, "/v1/events?topics=executions", p.hub.key, "all.0");
    EXPECT_TRUE(p.heard(reader));
    p.expect_sound();
}

}
}
