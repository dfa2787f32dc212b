#include "priority_queue/queue_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "platform/id_source.h"
#include "tests/support/database.h"

namespace impresario::priority_queue {
namespace {

using domain::ExecutionId;
using domain::TimePoint;
using platform::Tx;
using testing::TestDatabase;

class QueueStoreTest : public ::testing::Test {
  protected:
    TestDatabase database_;
    platform::IdSource ids_;
    const QueueStore queue_{};

    NewExecution waiting(TimePoint created_at, int priority, TimePoint ready_at) {
        NewExecution made;
        auto& e = made.execution;
        e.id = ids_.make<ExecutionId>(created_at);
        e.lane = {"default", "seo_monitor"};
        e.priority = priority;
        e.created_at = e.scheduled_at = created_at;
        e.ready = true;
        e.ready_at = ready_at;
        e.last_seq = 1;
        made.input = R"({"n":1.50})";
        return made;
    }
};

/// The order by its definition, straight from the table.
std::vector<ExecutionId> naive_sql(Tx& tx, int most, TimePoint now) {
    const auto rows = tx.run(
        "select execution_id from executions where ready and workflow_type = 'seo_monitor' order by "
        "ready_at < $1::timestamptz - interval '4 hours' desc, "
        "case when ready_at < $1::timestamptz - interval '4 hours' then ready_at end, "
        "case when not ready_at < $1::timestamptz - interval '4 hours' then priority * 600000000::bigint "
        "  + least((extract(epoch from $1::timestamptz - created_at) * 1000000)::bigint, 7200000000) "
        "  + case when $1::timestamptz - created_at > interval '30 minutes' then 3000000000 else 0 end end desc, "
        "case when not ready_at < $1::timestamptz - interval '4 hours' then created_at end, execution_id limit $2",
        platform::Params().add(now).add(most));
    std::vector<ExecutionId> ids;
    for (std::size_t i = 0; i < rows.size(); ++i) ids.push_back(platform::RowReader(rows, i).id<ExecutionId>());
    return ids;
}

// Memory, the fast SQL form and the naive sort: the same order on random queues with ties.
TEST_F(QueueStoreTest, ThreeFormsOfTheOrderAreEqual) {
    const TimePoint base = *domain::parse_time("2026-11-27T12:00:00Z");
    for (std::uint32_t seed = 1; seed <= 40; ++seed) {
        std::mt19937 dice(seed);
        database_.run("delete from executions; delete from execution_inputs");
        const auto depth = dice() % 800;
        const auto levels = 1 + dice() % 101;
        const int spread = 1 + static_cast<int>(dice() % 20000);
        std::vector<NewExecution> rows;
        Order order;
        for (std::uint32_t n = 0; n < depth; ++n) {
            const auto created = base - std::chrono::seconds{dice() % static_cast<std::uint32_t>(spread)};
            const auto ready = dice() % 5 == 0 ? created + std::chrono::seconds{dice() % 9000} : created;
            rows.push_back(waiting(created, static_cast<int>(dice() % levels), ready));
            const auto& e = rows.back().execution;
            order.insert({e.id, e.priority, e.created_at, *e.ready_at, "", 1, false});
        }
        const TimePoint now = base + std::chrono::microseconds{dice() % 1000000000};
        const int most = 1 + static_cast<int>(dice() % 150);
        database_.transact([&](Tx& tx) {
            queue_.insert(tx, rows);
            const auto fast = queue_.first_by_table(tx, {"default", "seo_monitor"}, most, now);
            std::vector<ExecutionId> memory;
            for (Cursor cursor(order, now, std::chrono::hours{4});
                 cursor.head() && static_cast<int>(memory.size()) < most; cursor.advance())
                memory.push_back(cursor.head()->id);
            EXPECT_EQ(fast, memory) << "seed " << seed << " depth " << depth << " most " << most;
            EXPECT_EQ(naive_sql(tx, most, now), memory) << "seed " << seed;
        });
    }
}

TEST_F(QueueStoreTest, AnExecutionThatComesGrantedIsReadBackAsItWasInserted) {
    const TimePoint at = *domain::parse_time("2026-11-27T12:00:00.000001Z");
    auto made = waiting(at, 70, at);
    auto& row = made.execution;
    row.concurrency_key = "a \"quoted\" \\ key, {with} é";
    row.batch = ids_.make<domain::BatchId>(at);
    row.status = domain::Status::dispatching;
    row.ready = false;
    row.started_at = at + std::chrono::seconds{1};
    row.timeout_at = at + std::chrono::seconds{301};
    row.attempts = 1;
    row.last_seq = 2;
    domain::LiveAttempt attempt;
    attempt.id = ids_.make<domain::AttemptId>(at);
    attempt.number = 1;
    attempt.state = domain::AttemptState::sending;
    attempt.node = ids_.make<domain::NodeId>(at);
    attempt.fence = 1;
    attempt.lease_until = at + std::chrono::seconds{16};
    attempt.granted_at = at + std::chrono::seconds{1};
    attempt.endpoint = ids_.make<domain::EndpointId>(at);
    attempt.deliveries = 1;
    row.attempt = attempt;
    made.input = R"({"n": 1})";
    database_.transact([&](Tx& tx) {
        queue_.insert_granted(tx, made);
        const auto read = queue_.read(tx, {row.id}).at(0).execution;
        EXPECT_TRUE(changed_columns(row, read).none()) << changed_columns(row, read);
        EXPECT_EQ(read.created_at, row.created_at);
        EXPECT_EQ(read.concurrency_key, row.concurrency_key);
        EXPECT_EQ(read.batch, row.batch);
        EXPECT_EQ(queue_.payload(tx, row.id).input, made.input);
    });
}

TEST_F(QueueStoreTest, WritesBackWhatItRead) {
    const TimePoint at = *domain::parse_time("2026-11-27T12:00:00.000001Z");
    auto made = waiting(at, 70, at);
    made.execution.concurrency_key = "a \"quoted\" \\ key, {with} é";
    made.execution.batch = ids_.make<domain::BatchId>(at);
    database_.transact([&](Tx& tx) { queue_.insert(tx, {made}); });
    domain::Execution changed = made.execution;
    changed.status = domain::Status::dispatching;
    changed.ready = false;
    changed.attempts = 1;
    domain::LiveAttempt attempt;
    attempt.id = ids_.make<domain::AttemptId>(at);
    attempt.number = 1;
    attempt.state = domain::AttemptState::granted;
    attempt.node = ids_.make<domain::NodeId>(at);
    attempt.fence = 3;
    attempt.lease_until = at + std::chrono::seconds{15};
    attempt.granted_at = at;
    attempt.endpoint = ids_.make<domain::EndpointId>(at);
    attempt.deliveries = 2;
    changed.attempt = attempt;
    changed.timeout_at = at + std::chrono::minutes{5};
    changed.last_seq = 2;
    changed.cost = domain::MicroUsd{12345};
    changed.progress = R"({"done":1})";
    changed.gate = domain::Gate{domain::GateKind::key_concurrency, "k", "detail", {{"limit", "1"}}, at};
    changed.gate_since = at;
    database_.transact([&](Tx& tx) { queue_.write(tx, {&changed}); });
    database_.transact([&](Tx& tx) {
        const auto read = queue_.read(tx, {made.execution.id});
        ASSERT_EQ(read.size(), 1U);
        const auto& e = read[0].execution;
        EXPECT_EQ(e.attempt, changed.attempt);
        EXPECT_EQ(e.concurrency_key, changed.concurrency_key);
        EXPECT_EQ(e.timeout_at, changed.timeout_at);
        EXPECT_EQ(e.created_at, at);
        EXPECT_EQ(e.cost, changed.cost);
        ASSERT_TRUE(e.gate);
        EXPECT_EQ(e.gate->numbers, changed.gate->numbers);
        EXPECT_EQ(queue_.payload(tx, e.id).input, R"({"n":1.50})") << "payloads keep their bytes";
        EXPECT_EQ(queue_.granted_to(tx, attempt.node).size(), 1U);
    });
}

// A transition writes the columns that it changes and no others: each of them alone, there and back.
TEST_F(QueueStoreTest, WritesOnlyTheColumnsThatDiffer) {
    using domain::Execution;
    const TimePoint at = *domain::parse_time("2026-11-27T12:00:00Z");
    const TimePoint later = at + std::chrono::microseconds{1'000'001};
    auto made = waiting(at, 70, at);
    database_.transact([&](Tx& tx) { queue_.insert(tx, {made}); });
    Execution sent = made.execution;
    sent.status = domain::Status::dispatching;
    sent.ready = false;
    sent.ready_at.reset();
    sent.attempts = 1;
    sent.timeout_at = later;
    sent.started_at = at;
    sent.attempt.emplace();
    sent.attempt->id = ids_.make<domain::AttemptId>(at);
    sent.attempt->number = 1;
    sent.attempt->state = domain::AttemptState::sending;
    sent.attempt->node = ids_.make<domain::NodeId>(at);
    sent.attempt->endpoint = ids_.make<domain::EndpointId>(at);
    sent.attempt->lease_until = later;
    sent.attempt->granted_at = at;
    sent.attempt->deliveries = 1;

    using Change = std::function<void(Execution&)>;
    const std::vector<std::pair<std::size_t, Change>> changes = {
        {1, [](Execution& e) { e.priority = 71; }},
        {1, [&](Execution& e) { e.scheduled_at = later; }},
        {1, [&](Execution& e) { e.due_at = later; }},
        {1, [&](Execution& e) { e.started_at = later; }},
        {1, [](Execution& e) { e.timeout_at.reset(); }},
        {1, [](Execution& e) { e.retry_count = 2; }},
        {1, [](Execution& e) { e.max_retries = 9; }},
        {1, [](Execution& e) { e.attempts = 2; }},
        {1, [&](Execution& e) { e.attempt->id = ids_.make<domain::AttemptId>(later); }},
        {2, [](Execution& e) { e.attempt->state = domain::AttemptState::granted; }},
        {1, [](Execution& e) { e.attempt->fence = 3; }},
        {1, [&](Execution& e) { e.attempt->lease_until = later + std::chrono::seconds{1}; }},
        {1, [&](Execution& e) { e.attempt->granted_at = later; }},
        {1, [&](Execution& e) { e.attempt->accepted_at = later; }},
        {1, [&](Execution& e) { e.attempt->endpoint = ids_.make<domain::EndpointId>(later); }},
        {1, [](Execution& e) { e.attempt->deliveries = 2; }},
        {1, [](Execution& e) { e.attempt->cost = domain::MicroUsd{5}; }},
        {1, [](Execution& e) { e.opening = 2; }},
        {1, [](Execution& e) { e.last_seq = 7; }},
        {1, [](Execution& e) { e.open_children = 2; }},
        {1, [&](Execution& e) { e.gate_since = later; }},
        {1, [](Execution& e) { e.reason = "a \"quoted\" reason, {so} \\ é"; }},
        {1, [](Execution& e) { e.duration_ms = 12; }},
        {1, [](Execution& e) { e.cost = domain::MicroUsd{7}; }},
        {1, [](Execution& e) { e.items_processed = 3; }},
        {1, [](Execution& e) { e.progress = R"({"done":1})"; }},
        {7, [](Execution& e) { e.attempt.reset(); }},
    };
    database_.transact([&](Tx& tx) { queue_.write(tx, {&sent}, changed_columns(made.execution, sent)); });
    for (std::size_t i = 0; i < changes.size(); ++i) {
        Execution after = sent;
        changes[i].second(after);
        const auto columns = changed_columns(sent, after);
        EXPECT_EQ(columns.count(), changes[i].first) << "change " << i << ": " << columns;
        database_.transact([&](Tx& tx) {
            queue_.write(tx, {&after}, columns);
            const auto there = queue_.read(tx, {after.id}).at(0).execution;
            EXPECT_TRUE(changed_columns(there, after).none())
                << "change " << i << ": " << changed_columns(there, after);
            queue_.write(tx, {&sent}, columns);
            const auto back = queue_.read(tx, {after.id}).at(0).execution;
            EXPECT_TRUE(changed_columns(back, sent).none()) << "change " << i << ": " << changed_columns(back, sent);
        });
    }
}

// Claims leave out what another transaction holds instead of waiting for it.
TEST_F(QueueStoreTest, AClaimDoesNotWaitForAnyone) {
    const TimePoint at = *domain::parse_time("2026-11-27T12:00:00Z");
    const auto one = waiting(at, 50, at);
    const auto two = waiting(at, 50, at);
    database_.transact([&](Tx& tx) { queue_.insert(tx, {one, two}); });
    database_.transact([&](Tx& tx) {
        ASSERT_EQ(queue_.lock(tx, {one.execution.id}).rows.size(), 1U);
        TestDatabase& other = database_;
        other.transact([&](Tx& second) {
            const auto got = queue_.lock_claimable(second, {one.execution.id, two.execution.id});
            ASSERT_EQ(got.size(), 1U);
            EXPECT_EQ(got[0].execution.id, two.execution.id);
        });
    });
}

// Constraints repeat the invariants: even we cannot write a row that breaks them.
TEST_F(QueueStoreTest, TheTableRefusesImpossibleRows) {
    const TimePoint at = *domain::parse_time("2026-11-27T12:00:00Z");
    const auto made = waiting(at, 50, at);
    database_.transact([&](Tx& tx) { queue_.insert(tx, {made}); });
    const std::string where = " where execution_id = '" + made.execution.id.text() + "'";
    for (const auto* change :
         {"status = 'pending'", "priority = 101", "priority = -1", "due_at = now()", "status = 'running'",
          "attempt_id = gen_random_uuid()", "status = 'completed', ready = false, due_at = now()", "retry_count = -1",
          "cost_microusd = -1"})
        EXPECT_THROW(database_.run("update executions set " + std::string(change) + where), platform::StatementRefused)
            << change;
}

}
}
