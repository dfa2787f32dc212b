// How an execution stands, read from real tables.
#include "orchestrator/explain_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>

#include "platform/id_source.h"
#include "priority_queue/queue_store.h"
#include "tests/support/database.h"

namespace impresario::orchestrator {
namespace explain_store_test {

using domain::Execution;
using domain::ExecutionId;
using domain::TimePoint;
using platform::RowReader;
using platform::Tx;
using std::chrono::hours;
using std::chrono::seconds;
using testing::TestDatabase;

class ExplainStoreTest : public ::testing::Test {
  protected:
    TestDatabase database_;
    platform::IdSource ids_;
    const ExplainStore store_{};
    const subworkflows::Catalogue catalogue_{};

    Execution waiting(const std::string& type, TimePoint created_at, TimePoint ready_at, int priority) {
        Execution e;
        e.id = ids_.make<ExecutionId>(created_at);
        e.lane = {"default", type};
        e.priority = priority;
        e.created_at = e.scheduled_at = created_at;
        e.ready = true;
        e.ready_at = ready_at;
        e.last_seq = 1;
        return e;
    }
    static bool goes_before(const Execution& a, const Execution& b, TimePoint now) {
        const auto starves = [&](const Execution& e) { return now - *e.ready_at > hours{4}; };
        if (starves(a) != starves(b)) return starves(a);
        if (starves(a)) return std::tie(*a.ready_at, a.id) < std::tie(*b.ready_at, b.id);
        const auto sa = priority_queue::score(a.priority, a.created_at, now);
        const auto sb = priority_queue::score(b.priority, b.created_at, now);
        return sa != sb ? sa > sb : std::tie(a.created_at, a.id) < std::tie(b.created_at, b.id);
    }
};

struct Undo {};

// The rank that SQL counts is the place in the order, on random queues with ties.
TEST_F(ExplainStoreTest, TheRankIsThePlaceInTheOrder) {
    database_.run("insert into pauses (organization_id, workflow_type) values ('default', 'revenue_optimizer')");
    const std::vector<std::string> types{"seo_monitor", "content_pipeline", "revenue_optimizer"};
    for (unsigned seed = 1; seed <= 30; ++seed) {
        std::mt19937 dice(seed);
        try {
            database_.transact([&](Tx& tx) {
                const auto clock = tx.run("select now()");
                const auto now = RowReader(clock, 0).time();
                std::vector<priority_queue::NewExecution> rows;
                // Half of the queues are full of ties.
                const bool narrow = dice() % 2;
                const auto levels = narrow ? 1 + dice() % 4 : 101;
                for (std::size_t i = 0; i < 1 + dice() % 150; ++i) {
                    const auto created = now - seconds{60 * (dice() % (narrow ? 12 : 400))};
                    const auto ready = dice() % 2 ? created : now - seconds{dice() % 20000};
                    rows.push_back({waiting(types[dice() % 3], created, std::max(created, ready),
                                            static_cast<int>(dice() % levels)),
                                    {},
                                    {}});
                }
                priority_queue::QueueStore().insert(tx, rows);
                for (int each = 0; each < 10; ++each) {
                    const auto& e = rows[dice() % rows.size()].execution;
                    std::vector<Execution> before;
                    std::int64_t overall = 0;
                    for (const auto& other : rows) {
                        if (!goes_before(other.execution, e, now)) continue;
                        if (other.execution.lane == e.lane) before.push_back(other.execution);
                        overall +=
                            other.execution.lane == e.lane || other.execution.lane.workflow_type != "revenue_optimizer";
                    }
                    const auto s = store_.now(tx, e.id, "default", catalogue_, 100);
                    ASSERT_TRUE(s && s->before_in_lane && s->before_overall);
                    ASSERT_EQ(s->before_in_lane->value, static_cast<std::int64_t>(before.size())) << seed;
                    ASSERT_EQ(s->before_overall->value, overall) << seed;
                    std::sort(before.begin(), before.end(),
                              [&](const auto& a, const auto& b) { return goes_before(a, b, now); });
                    ASSERT_EQ(s->first.size(), std::min<std::size_t>(before.size(), 5));
                    for (std::size_t i = 0; i < s->first.size(); ++i) ASSERT_EQ(s->first[i].id, before[i].id) << seed;
                }
                throw Undo{};
            });
        } catch (const Undo&) {
        }
    }
}

// The numbers of a gate are written anew while it is closed.
TEST_F(ExplainStoreTest, OfThePastItIsSaidWhichNumbersAreOfLater) {
    database_.transact([&](Tx& tx) {
        const auto now = domain::parse_time("2026-12-01T10:48:41Z").value();
        const auto e = waiting("seo_monitor", now - hours{1}, now - hours{1}, 50);
        priority_queue::QueueStore().insert(tx, {{e, {}}});
        tx.run(
            "insert into lane_gates (organization_id, workflow_type, gate, subject, detail, numbers, numbers_last, "
            "since, closed_since) values ('default', 'seo_monitor', 'budget', 'daily', 'why', "
            "'{\"settled\": \"5\", \"reserved\": \"5\"}', '{\"settled\": \"9.5\", \"reserved\": \"0\"}', "
            "'2026-12-01T10:48:00Z', '2026-12-01T10:48:00Z')");
        const auto s = store_.then(tx, e.id, "default", catalogue_, now);
        ASSERT_TRUE(s && s->gates.size() == 1U);
        EXPECT_EQ(s->gates[0].gate.numbers[0].second, "9.5");
        ASSERT_FALSE(s->notes.empty());
        EXPECT_EQ(
            s->notes.back(),
            "budget (daily): its numbers are those of later; when it first closed they were settled 5, reserved 5");
    });
}

// However deep the queue, only so much is read.
TEST_F(ExplainStoreTest, TheAnswerDoesNotCostWhatTheQueueIsDeep) {
    database_.run(
        "insert into executions (execution_id, organization_id, workflow_type, status, priority, created_at, "
        "scheduled_at, "
        "  ready, ready_at, last_seq) "
        "select uuid_v7(), 'default', 'seo_monitor', 'queued', (i * 7919) % 101, at, at, true, at, 1 from ("
        "  select i, now() - interval '3 hours' * ((i * 104729) % 1000003) / 1000003.0 as at "
        "  from generate_series(1::bigint, 200000) i) s");
    database_.run("analyze executions");
    const auto last = ExecutionId::parse(
        database_.value("select execution_id from executions order by priority, created_at desc limit 1"));
    double best = 1e9;
    std::optional<Situation> s;
    const auto timed = [&](auto look) {
        for (int i = 0; i < 5; ++i)
            database_.transact([&](Tx& tx) {
                const auto begun = std::chrono::steady_clock::now();
                s = look(tx);
                best = std::min(
                    best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count());
            });
        return std::exchange(best, 1e9);
    };
    const auto now = timed([&](Tx& tx) { return store_.now(tx, *last, "default", catalogue_, 100); });
    ASSERT_TRUE(s && s->before_in_lane);
    EXPECT_EQ(s->before_in_lane->value, 10000);
    EXPECT_TRUE(s->before_in_lane->at_least);
    EXPECT_EQ(s->first.size(), 5U);
    const auto at = s->at;
    const auto then = timed([&](Tx& tx) { return store_.then(tx, *last, "default", catalogue_, at); });
    EXPECT_FALSE(s->before_in_lane) << "too many to go through, and it says so";
    EXPECT_FALSE(s->rank_note.empty());
    std::cout << "explained behind 200,000: in " << now << " ms now, in " << then << " ms as of a time" << std::endl;
    EXPECT_LE(now, 300);
    EXPECT_LE(then, 300);
}

}
}
