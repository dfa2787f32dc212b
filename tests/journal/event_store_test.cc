#include "journal/event_store.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <set>

#include "platform/database.h"
#include "platform/id_source.h"
#include "tests/support/database.h"

namespace impresario::journal {
namespace event_store_test {

using domain::NodeId;
using platform::Tx;
using testing::TestDatabase;

class FeedTest : public ::testing::Test {
  protected:
    FeedTest() {
        settings_.url = database_.url();
        const domain::TimePoint now{std::chrono::hours{500000}};
        reader_ = ids_.make<NodeId>(now);
        other_ = ids_.make<NodeId>(now);
    }

    /// A session whose transaction the test opens and ends by itself.
    std::unique_ptr<platform::Connection> session() const {
        return std::make_unique<platform::Connection>(settings_, nullptr);
    }
    static void run(platform::Connection& session, const std::string& sql) {
        session.autocommit([&](Tx& tx) { tx.run(sql); });
    }
    void append(platform::Connection& session, const NodeId& writer, int events = 1) {
        session.autocommit([&](Tx& tx) {
            std::vector<domain::Event> list;
            for (int i = 0; i < events; ++i) {
                domain::Event event;
                event.kind = "execution";
                event.stream = ids_.make<domain::ExecutionId>(domain::TimePoint{}).value;
                event.seq = 1;
                event.organization_id = "default";
                event.type = "test." + std::to_string(++made_);
                event.payload = "{}";
                list.push_back(event);
            }
            EventStore().append(tx, list, writer);
        });
    }
    FeedStart begin() const {
        FeedStart start;
        database_.transact([&](Tx& tx) { start = EventStore().begin_feed(tx); });
        return start;
    }
    Feed read(const std::string& from, const FeedStart& start, int most = 1000) const {
        Feed feed;
        database_.transact([&](Tx& tx) { feed = EventStore().feed(tx, from, start.begun, reader_, most); });
        return feed;
    }

    TestDatabase database_;
    platform::DatabaseSettings settings_;
    platform::IdSource ids_;
    NodeId reader_;
    NodeId other_;
    int made_ = 0;
};

TEST_F(FeedTest, TellsEachEventOnceInWhateverOrderTransactionsEnd) {
    const auto start = begin();
    std::string at = start.position;
    std::map<std::string, int> told;
    const auto look = [&] {
        const auto feed = read(at, start);
        ASSERT_FALSE(feed.overflow);
        at = feed.position;
        for (const auto& event : feed.events) ++told[event.type];
    };
    std::mt19937 dice(20261128);
    std::vector<std::unique_ptr<platform::Connection>> sessions;
    std::vector<bool> open(4, false);
    std::vector<std::vector<int>> written(4);
    std::set<int> committed;
    for (int i = 0; i < 4; ++i) sessions.push_back(session());
    for (int step = 0; step < 400; ++step) {
        const auto which = dice() % 4;
        auto& each = *sessions[which];
        switch (dice() % 4) {
            case 0:
            case 1:
                if (!open[which]) run(each, "begin");
                open[which] = true;
                append(each, other_);
                written[which].push_back(made_);
                break;
            case 2:
                if (!open[which]) break;
                if (dice() % 3 == 0) {
                    run(each, "rollback");
                } else {
                    run(each, "commit");
                    committed.insert(written[which].begin(), written[which].end());
                }
                written[which].clear();
                open[which] = false;
                break;
            default:
                look();
        }
    }
    for (std::size_t i = 0; i < 4; ++i)
        if (open[i]) run(*sessions[i], "rollback");
    look();
    ASSERT_GT(committed.size(), 50U);
    std::map<std::string, int> expected;
    for (const int number : committed) expected["test." + std::to_string(number)] = 1;
    EXPECT_EQ(told, expected) << "each of what was committed once, nothing of what was not";
}

TEST_F(FeedTest, AnOpenTransactionDoesNotFillItWithWhatWasReadBefore) {
    const auto open = session();
    run(*open, "begin");
    append(*open, other_);
    const auto writer = session();
    const auto start = begin();
    std::string at = start.position;
    for (int round = 0; round < 3; ++round) {
        append(*writer, other_, 80);
        const auto feed = read(at, start, 100);
        EXPECT_FALSE(feed.overflow) << "only what is new counts, in round " << round;
        EXPECT_EQ(feed.events.size(), 80U);
        at = feed.position;
    }
    append(*writer, other_, 101);
    EXPECT_TRUE(read(at, start, 100).overflow);
    run(*open, "commit");
}

TEST_F(FeedTest, LeavesOutWhatTheReaderWroteButNotWhatWasInDoubtWhenItBegan) {
    const auto doubtful = session();
    run(*doubtful, "begin");
    append(*doubtful, reader_);
    const auto start = begin();
    const auto writer = session();
    append(*writer, reader_);
    auto feed = read(start.position, start);
    EXPECT_TRUE(feed.events.empty());
    run(*doubtful, "commit");
    feed = read(feed.position, start);
    ASSERT_EQ(feed.events.size(), 1U) << "nobody has it in memory";
    EXPECT_EQ(feed.events.front().type, "test.1");
    EXPECT_TRUE(read(feed.position, start).events.empty());
}

}
}
