// R2, R5, R8–R11: interleavings of transactions, played on the rows they are about.
#include <atomic>
#include <thread>

#include "orchestrator/scheduler_store.h"
#include "tests/protocol/nodes.h"
#include "tests/protocol/rows.h"

namespace impresario::testing {
namespace {

using domain::CallbackStatus;
using orchestrator::DeadlinePassed;
using orchestrator::Fenced;
using orchestrator::Lead;
using orchestrator::SchedulerStore;
using platform::Tx;
using std::chrono::seconds;

using R02Rows = ProtocolRows;
using R05Rows = ProtocolRows;
using R08 = ProtocolRows;
using R09 = ProtocolRows;
using R10 = ProtocolRows;
using R11 = ProtocolRows;

TEST_F(R02Rows, ATakeoverWaitsForWhatTheOldSchedulerHasUnderWay) {
    const SchedulerStore store;
    std::optional<Lead> lead;
    database.transact([&](Tx& tx) { lead = store.take_lead(tx, node, 0, seconds{15}, 0); });
    ASSERT_TRUE(lead);
    database.run("update scheduler set lease_until = clock_timestamp() - interval '1 second'");
    Prompt writer(database);
    writer.run("begin");
    writer.act([&](Tx& tx) { store.fence(tx, lead->epoch, node); });
    std::optional<Lead> taken;
    std::thread heir(
        [&] { database.transact([&](Tx& tx) { taken = store.take_lead(tx, other, 0, seconds{15}, 0); }); });
    EXPECT_TRUE(waits_in(database, "from scheduler s for update"));
    writer.run("insert into orchestrator_metrics (metric_type, metric_value) values ('of the old one', 1)");
    writer.run("commit");
    heir.join();
    ASSERT_TRUE(taken);
    EXPECT_EQ(taken->epoch, lead->epoch + 1);
    EXPECT_EQ(database.value("select count(*) from orchestrator_metrics"), "1") << "what it waited for is there";
    database.transact([&](Tx& tx) {
        EXPECT_THROW(store.fence(tx, lead->epoch, node), Fenced) << "and nothing comes after it";
        EXPECT_THROW(store.fence(tx, taken->epoch, node), Fenced);
    });
}

TEST_F(R05Rows, AGrantThatWasWithdrawnCannotBeBegun) {
    const auto id = queued();
    const auto before = grant(id, other, false);
    EXPECT_EQ(apply(id, orchestrator::LeaseLost{before.id, before.fence, false}).after->status, domain::Status::queued);
    const auto after = grant(id, node);
    EXPECT_EQ(after.id, before.id) << "nothing had left: it is the same attempt";
    EXPECT_GT(after.fence, before.fence);
    const auto late = apply(id, orchestrator::SendingBegun{before.id, before.fence, other});
    EXPECT_EQ(late.answer.problem, "lease-lost") << "who held it wakes up and must not send";
    EXPECT_FALSE(apply(id, orchestrator::NeverSent{before.id, before.fence}).after) << "nor give back what is not his";
    EXPECT_EQ(column(id, "attempt_state || ' ' || deliveries"), "sending 1");
}

TEST_F(R05Rows, AGrantIsBegunUntilItsLeaseIsOverAndNotLater) {
    const auto id = queued();
    const auto attempt = grant(id, other, false);
    const orchestrator::SendingBegun begun{attempt.id, attempt.fence, other};
    set(id, "lease_until = clock_timestamp() - interval '1 millisecond'");
    EXPECT_EQ(apply(id, begun).answer.problem, "lease-lost");
    EXPECT_EQ(column(id, "attempt_state"), "granted");
    set(id, "lease_until = clock_timestamp() + interval '5 seconds'");
    EXPECT_EQ(apply(id, begun).answer.status, 200);
    EXPECT_EQ(column(id, "attempt_state || ' ' || deliveries"), "sending 1");
}

TEST_F(R08, ADeadlineThatAHeartbeatHasJustMovedEndsNobody) {
    const auto [id, attempt] = sent();
    set(id, "timeout_at = clock_timestamp() - interval '1 millisecond'");
    // The sweeper has seen it pass; before it comes to the row, a heartbeat holds it.
    Prompt heartbeat(database);
    heartbeat.run("begin");
    heartbeat.act([&, id = id, attempt = attempt](Tx& tx) {
        const auto reply = applier.apply(tx, {command(id, callback(attempt.id, CallbackStatus::running))}).at(0);
        ASSERT_EQ(reply.answer.status, 200);
    });
    const auto first = apply(id, DeadlinePassed{attempt.id});
    EXPECT_TRUE(first.held) << "it waits for nobody, and asks again";
    heartbeat.run("commit");
    EXPECT_FALSE(apply(id, DeadlinePassed{attempt.id}).after);
    EXPECT_EQ(column(id, "status"), "running");
    EXPECT_EQ(column(id, "timeout_at > clock_timestamp()"), "t");
}

TEST_F(R08, BatchesInAnyOrderNeitherWaitInACircleNorLoseAnything) {
    std::vector<domain::ExecutionId> all;
    for (int i = 0; i < 8; ++i) all.push_back(queued());
    constexpr int kRounds = 60;
    std::atomic<int> held{0};
    const auto write = [&](bool backwards) {
        platform::DatabaseSettings settings;
        settings.url = database.url();
        platform::Connection connection(settings, nullptr);
        for (int i = 0; i < kRounds; ++i)
            connection.transact([&](Tx& tx) {
                std::vector<orchestrator::Command> commands;
                for (const auto& id : all)
                    commands.push_back(command(id, orchestrator::Reprioritise{i % 100, {}, backwards ? "b" : "a"}));
                if (backwards) std::reverse(commands.begin(), commands.end());
                for (const auto& reply : applier.apply(tx, commands)) held += reply.held ? 1 : 0;
            });
    };
    std::thread one([&] { write(false); });
    std::thread two([&] { write(true); });
    one.join();
    two.join();
    EXPECT_EQ(database.value("select count(*) from events where type = 'execution.updated'"),
              std::to_string(static_cast<std::size_t>(2 * kRounds) * all.size() - static_cast<std::size_t>(held)));
    EXPECT_EQ(database.value("select bool_and(last_seq = (select count(*) from events where stream_id = execution_id) "
                             "and last_seq = (select max(seq) from events where stream_id = execution_id)) "
                             "from executions"),
              "t")
        << "numbers without gaps";
}

TEST_F(R09, UntilTheSweeperHasCommittedADeadlineACallbackIsTaken) {
    const auto [id, attempt] = sent();
    set(id, "timeout_at = clock_timestamp() - interval '1 minute'");
    EXPECT_EQ(apply(id, callback(attempt.id, CallbackStatus::completed)).answer.status, 200);
    EXPECT_FALSE(apply(id, DeadlinePassed{attempt.id}).after);
    EXPECT_EQ(column(id, "status"), "completed");

    const auto [late, its] = sent();
    set(late, "timeout_at = clock_timestamp() - interval '1 minute'");
    EXPECT_TRUE(apply(late, DeadlinePassed{its.id}).after);
    EXPECT_EQ(apply(late, callback(its.id, CallbackStatus::completed)).answer.status, 409);
}

TEST_F(R10, CallbacksOfOneFlushAreAnsweredOneAfterTheOther) {
    const auto [id, attempt] = sent();
    const auto won = command(id, callback(attempt.id, CallbackStatus::completed));
    const auto lost = command(id, callback(attempt.id, CallbackStatus::failed));
    const auto replies = apply({won, lost, won});
    EXPECT_EQ(replies[0].answer.status, 200);
    EXPECT_EQ(replies[1].answer.problem, "execution-already-finished");
    EXPECT_EQ(replies[2].answer.status, 200);
    EXPECT_NE(replies[2].answer.body.find("replayed"), std::string::npos);
    EXPECT_EQ(column(id, "status"), "completed");
    EXPECT_EQ(events(id, "execution.completed"), "1");
    EXPECT_EQ(events(id, "execution.failed"), "0");
}

TEST_F(R11, AClosedAttemptsCallbackIsRefusedAndTheSameAgainAnsweredAsTheFirstWas) {
    const auto [id, first] = sent();
    set(id, "timeout_at = clock_timestamp() - interval '1 second'");
    apply(id, DeadlinePassed{first.id});
    ASSERT_EQ(column(id, "status"), "retrying");
    set(id, "ready = true, ready_at = now(), due_at = null");
    const auto second = grant(id, node);
    ASSERT_NE(second.id, first.id);
    const auto late = apply(id, callback(first.id, CallbackStatus::completed));
    EXPECT_EQ(late.answer.status, 409);
    EXPECT_EQ(late.answer.problem, "attempt-closed");
    const auto answer = apply(id, callback(second.id, CallbackStatus::completed)).answer;
    EXPECT_EQ(answer.status, 200);
    const auto again = apply(id, callback(second.id, CallbackStatus::completed)).answer;
    EXPECT_EQ(again.status, 200);
    EXPECT_EQ(again.body, answer.body.substr(0, answer.body.size() - 1) + ",\"replayed\":true}");
    const auto spaced = apply(id, callback(second.id, CallbackStatus::completed, R"({"status": "completed"})")).answer;
    EXPECT_EQ(spaced.problem, "execution-already-finished") << "the same is the same bytes";
    EXPECT_EQ(apply(id, callback(first.id, CallbackStatus::completed)).answer.problem, "execution-already-finished");
}

}
}
