// The journal's partitions, in a database of the test's own.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "journal/event_store.h"
#include "journal/partition_store.h"
#include "journal/retention_store.h"
#include "journal/stream_store.h"
#include "migrations/migrations.h"
#include "tests/support/prompt.h"

namespace impresario::journal {
namespace event_partitions_test {

using platform::StatementRefused;
using platform::Tx;
using testing::Prompt;
using testing::TestDatabase;

constexpr const char* kStream = "01a228e4-4832-7093-8e88-d1fc8ec356ec";

class EventPartitions : public ::testing::Test {
  protected:
    /// The next so many events of one stream.
    void append(int events) {
        db_.run("insert into events (kind, stream_id, seq, organization_id, type) select 'lane', '" +
                std::string(kStream) + "', i, 'default', 'lane.changed' from generate_series(" +
                std::to_string(seq_ + 1) + ", " + std::to_string(seq_ + events) + ") i order by i");
        seq_ += events;
    }
    std::int64_t make(std::int64_t size) const {
        std::int64_t next = 0;
        db_.transact([&](Tx& tx) { next = PartitionStore().make(tx, size, 2); });
        return next;
    }
    int drop() const {
        int dropped = 0;
        db_.transact([&](Tx& tx) { dropped = PartitionStore().drop(tx, latest()); });
        return dropped;
    }
    std::int64_t latest() const { return std::stoll(db_.value("select last_value from event_numbers")); }
    void jump(std::int64_t number) const {
        db_.value("select setval('event_numbers', " + std::to_string(number) + ")");
    }
    /// Partitions with an end beyond the latest number.
    std::string ahead() const {
        return db_.value(
            "select count(*) from event_partitions where next is not null and first > (select last_value from "
            "event_numbers)");
    }
    std::string lying_in() const { return db_.value("select count(distinct tableoid) from events"); }
    std::string all() const {
        return db_.value("select md5(string_agg(e::text, ',' order by event_id)) from events e");
    }

    TestDatabase db_;
    int seq_ = 0;
};

TEST(PartitionSize, IsOfADayWithinReason) {
    EXPECT_EQ(partition_size(1, 900, 1000), 1'000'000) << "no crumbs";
    EXPECT_EQ(partition_size(50'000'000, 50'000'000, 55'000'000), 5'000'000) << "a day";
    EXPECT_EQ(partition_size(0, 319'000'000, 320'000'000), 10'000'000) << "whatever is kept for ever lies in few";
    EXPECT_EQ(partition_size(0, 0, 0), 1'000'000);
}

TEST_F(EventPartitions, AreThereBeforeTheNumbersAre) {
    append(10);
    const auto next = make(100);
    EXPECT_GT(next, latest());
    EXPECT_EQ(ahead(), "2") << "those of the migration";
    EXPECT_EQ(make(100), next) << "nothing to do";
    jump(next - 1);
    EXPECT_EQ(make(100), next);
    jump(next);
    EXPECT_EQ(ahead(), "1");
    const auto then = make(100);
    EXPECT_GT(then, next);
    EXPECT_EQ(ahead(), "2");
    append(5);
    EXPECT_EQ(lying_in(), "2");
    EXPECT_EQ(db_.value("select count(*) from event_partitions where next - first = 100"), "1")
        << "of the size asked for";
    EXPECT_EQ(
        db_.value("select count(*) from (select next, lead(first) over (order by first nulls first) as after from "
                  "event_partitions) p where next is distinct from after"),
        "0")
        << "one after the other, without holes";
}

TEST_F(EventPartitions, WhatFilledTheLastOneIsGivenItsEnd) {
    append(10);
    jump(std::stoll(db_.value("select first + 50 from event_partitions where next is null")));
    append(1000);
    const auto before = all();
    EXPECT_EQ(ahead(), "0");
    make(100);
    EXPECT_EQ(ahead(), "2");
    EXPECT_EQ(all(), before);
    append(99);
    EXPECT_EQ(
        db_.value(
            "select count(*) from events e join event_partitions p on p.partition = e.tableoid where p.next is null"),
        "0");
    // A partition takes a number of a stream once.
    EXPECT_THROW(db_.run("insert into events (kind, stream_id, seq, organization_id, type) values ('node', '" +
                         std::string(kStream) + "', " + std::to_string(seq_) + ", 'default', 'x')"),
                 StatementRefused);
}

TEST_F(EventPartitions, NobodyWaitsBehindWhoMakesThem) {
    append(10);
    jump(std::stoll(db_.value("select first from event_partitions where next is null")));
    Prompt writer(db_);
    writer.run("begin");
    writer.run(
        "insert into events (kind, stream_id, seq, organization_id, type) values ('node', gen_random_uuid(), 1, "
        "'default', 'x')");
    for (int i = 0; i < 3; ++i) {
        const auto begun = std::chrono::steady_clock::now();
        bool later = false;
        try {
            make(100);
        } catch (const StatementRefused& refused) {
            later = refused.later();
        }
        EXPECT_TRUE(later);
        append(1);
        EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds{2});
    }
    EXPECT_EQ(ahead(), "0");
    writer.run("commit");
    make(100);
    EXPECT_EQ(ahead(), "2");
    // The same for who drops one: whoever only reads is in its way.
    jump(std::stoll(db_.value("select max(next) from event_partitions")));
    append(1);
    Prompt reader(db_);
    reader.run("begin");
    reader.run("select count(*) from events");
    EXPECT_THROW(drop(), StatementRefused);
    append(1);
    reader.run("commit");
    EXPECT_GT(drop(), 0);
}

TEST_F(EventPartitions, EmptyOnesGoWithTheirSpace) {
    for (int i = 0; i < 4; ++i) {
        append(2000);
        jump(make(1'000'000) - 1);
    }
    append(10);
    const auto partitions = [&] { return std::stoi(db_.value("select count(*) from event_partitions")); };
    const auto bytes = [&] { return std::stol(db_.value("select sum(bytes) from event_partitions")); };
    EXPECT_EQ(lying_in(), "5");
    EXPECT_EQ(drop(), 0) << "there are events in all";
    const int before = partitions();
    const auto space = bytes();
    // What keeps one, keeps only that one.
    db_.run("delete from events where seq <= 6000 and seq <> 2500");
    int nothing = -1;
    db_.transact([&](Tx& tx) { nothing = PartitionStore().drop(tx, 0); });
    EXPECT_EQ(nothing, 0) << "somebody may still be under way with a number of theirs";
    EXPECT_EQ(drop(), 2);
    EXPECT_EQ(partitions(), before - 2);
    EXPECT_LT(bytes(), space * 3 / 4);
    EXPECT_EQ(db_.value("select count(*) from events"), "2011");
    EXPECT_EQ(drop(), 0);
    make(100);
    EXPECT_EQ(drop(), 0);
    EXPECT_EQ(ahead(), "2") << "those that are still to be filled are empty as well, and stay";
}

TEST_F(EventPartitions, EveryReaderGoesOverTheBoundaries) {
    FeedStart start;
    db_.transact([&](Tx& tx) { start = EventStore().begin_feed(tx); });
    for (int i = 0; i < 5; ++i) {
        append(97);
        make(10);
        jump(std::max(latest(), make(10) - 50));
    }
    EXPECT_GE(std::stoi(lying_in()), 4);
    db_.transact([&](Tx& tx) {
        std::vector<int> seqs;
        const StreamStore streams;
        const auto last = streams.last_event(tx, std::numeric_limits<std::int64_t>::max());
        for (std::int64_t at = 0; at < last;) {
            const auto page = streams.page(tx, at, last, 7);
            for (const auto& event : page.events) seqs.push_back(event.seq);
            ASSERT_GT(page.until, at);
            at = page.until;
        }
        ASSERT_EQ(seqs.size(), static_cast<std::size_t>(seq_));
        for (int i = 0; i < seq_; ++i) EXPECT_EQ(seqs[i], i + 1);
        domain::Id<struct StreamTag> stream = *domain::Id<struct StreamTag>::parse(kStream);
        EXPECT_EQ(EventStore().stream(tx, stream.value, 90, 200).size(), 200U);
        EXPECT_EQ(EventStore().stream(tx, stream.value, 0, 1000).size(), static_cast<std::size_t>(seq_));
        for (const auto settled : {std::int64_t{0}, start.mark.number}) {
            const auto feed = EventStore().feed(tx, start.position, start.begun, {}, 1000, settled);
            EXPECT_EQ(feed.events.size(), static_cast<std::size_t>(seq_));
        }
    });
}

TEST_F(EventPartitions, WhereAllHasGoneTheNumbersGoOn) {
    append(100);
    db_.transact([&](Tx& tx) {
        const StreamStore streams;
        const auto last = streams.last_event(tx, std::numeric_limits<std::int64_t>::max());
        std::vector<std::int64_t> numbers;
        for (auto number = last - 99; number <= last; ++number) numbers.push_back(number);
        EXPECT_EQ(RetentionStore().forget_events(tx, numbers), 100);
        EXPECT_EQ(streams.last_event(tx, std::numeric_limits<std::int64_t>::max()), last);
        EXPECT_EQ(streams.first(tx), last + 1) << "who comes back from before is told that he has missed something";
    });
    EXPECT_EQ(db_.value("select seq from forgotten_events where stream_id = '" + std::string(kStream) + "'"), "100");
}

TEST_F(EventPartitions, NoEventIsLostWhoeverMakesThemMeanwhile) {
    std::atomic<bool> stop{false};
    std::atomic<int> written{0};
    std::vector<std::thread> writers;
    for (int w = 0; w < 3; ++w)
        writers.emplace_back([&, w] {
            const auto stream = "01a228e4-4832-7093-8e88-00000000000" + std::to_string(w);
            Prompt prompt(db_);
            for (int seq = 1; !stop; seq += 7) {
                prompt.run("begin; insert into events (kind, stream_id, seq, organization_id, type) select 'node', '" +
                           stream + "', i, 'default', 'x' from generate_series(" + std::to_string(seq) + ", " +
                           std::to_string(seq + 6) + ") i; commit");
                written += 7;
                std::this_thread::sleep_for(std::chrono::milliseconds{2});
            }
        });
    int made = 0;
    int refused = 0;
    jump(std::stoll(db_.value("select first - 1 from event_partitions where next is null")));
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{3};
    while (std::chrono::steady_clock::now() < until) {
        try {
            make(20);
            ++made;
        } catch (const StatementRefused& refusal) {
            EXPECT_TRUE(refusal.later()) << refusal.what();
            ++refused;
        }
    }
    stop = true;
    for (auto& each : writers) each.join();
    EXPECT_GT(made, 2) << refused;
    EXPECT_EQ(db_.value("select count(*) from events where type = 'x'"), std::to_string(written.load()));
    EXPECT_EQ(
        db_.value("select count(*) from (select stream_id from events where type = 'x' group by 1 having count(*) <> "
                  "max(seq) or count(distinct seq) <> count(*)) s"),
        "0");
    EXPECT_GT(std::stoi(lying_in()), 2);
}

TEST_F(EventPartitions, TheMigrationGoesUpAndDownWithAllThereIs) {
    const auto migrate = [&](int target) {
        platform::DatabaseSettings settings;
        settings.url = db_.url();
        platform::Connection connection(settings, nullptr);
        migrations::all().migrate(connection, target, [](std::string_view, const platform::Migration&) {});
    };
    append(100);
    for (int i = 0; i < 3; ++i) {
        jump(make(50) - 20);
        append(100);
    }
    EXPECT_GE(std::stoi(lying_in()), 3);
    const auto before = all();
    const auto number = latest();
    migrate(37);
    EXPECT_EQ(db_.value("select relkind from pg_class where oid = 'events'::regclass"), "r");
    EXPECT_EQ(
        db_.value(
            "select count(*) from pg_class where relkind in ('r', 'p', 'S') and relname ~ '^events?_' and relname "
            "<> 'event_numbers'"),
        "0");
    EXPECT_EQ(all(), before);
    EXPECT_EQ(latest(), number);
    append(10);
    EXPECT_THROW(db_.run("insert into events (kind, stream_id, seq, organization_id, type) values ('node', '" +
                         std::string(kStream) + "', 5, 'default', 'x')"),
                 StatementRefused);
    const auto then = all();
    migrate(migrations::all().latest());
    EXPECT_EQ(all(), then);
    EXPECT_EQ(ahead(), "2");
    EXPECT_EQ(latest(), number + 11) << "the refused one has taken one as well";
    append(10);
    EXPECT_EQ(db_.value("select max(event_id) - min(event_id) from events where seq > 410"), "9");
    // And all the way, as every step was made on the table of before.
    migrate(27);
    EXPECT_EQ(db_.value("select count(*) from events"), "420");
    migrate(migrations::all().latest());
    EXPECT_EQ(db_.value("select count(*) from events"), "420");
    append(1);
}

}
}
