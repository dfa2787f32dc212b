// R21, R22: other writers of the same rows, and the same request twice, in transactions that overlap.
#include <thread>

#include "orchestrator/intake.h"
#include "tests/protocol/nodes.h"
#include "tests/protocol/rows.h"

namespace impresario::testing {
namespace {

using domain::CallbackStatus;
using orchestrator::Intake;
using orchestrator::IntakeItem;
using orchestrator::IntakeReply;
using platform::Tx;

using R21 = ProtocolRows;

TEST_F(R21, SqlThatWaitedForACallbackFindsTheEnd) {
    const auto [id, attempt] = sent();
    Prompt callback_side(database);
    callback_side.run("begin");
    callback_side.act([&, id = id, attempt = attempt](Tx& tx) {
        applier.apply(tx, {command(id, callback(attempt.id, CallbackStatus::completed))});
    });
    std::string answer;
    std::thread prompt(
        [&, id = id] { answer = database.value("select update_execution_status('" + id.text() + "', 'failed')"); });
    EXPECT_TRUE(waits_in(database, "update_execution_status"));
    callback_side.run("commit");
    prompt.join();
    EXPECT_EQ(answer, "f");
    EXPECT_EQ(column(id, "status"), "completed");
    EXPECT_EQ(events(id, "execution.refused"), "1");
}

TEST_F(R21, ACallbackAfterSqlHasEndedItIsRefusedAndNothingIsSettledTwice) {
    const auto [id, attempt] = sent();
    set(id, "attempt_cost_microusd = 300000");
    Prompt prompt(database);
    prompt.run("begin");
    prompt.run("select update_execution_status('" + id.text() + "', 'cancelled')");
    EXPECT_TRUE(apply(id, callback(attempt.id, CallbackStatus::completed)).held) << "asked again until it is decided";
    prompt.run("commit");
    EXPECT_EQ(apply(id, callback(attempt.id, CallbackStatus::completed)).answer.problem, "execution-already-finished");
    EXPECT_EQ(column(id, "status || ' ' || cost_microusd"), "cancelled 300000");
    EXPECT_EQ(database.value("select count(*) from attempts where execution_id = '" + id.text() + "'"), "1");
    EXPECT_EQ(events(id, "execution.cancelled"), "1");
}

/// now() is when a transaction began; what it changes may have happened since.
TEST_F(R21, ATransactionThatBeganBeforeTheExecutionRanStoresNoNegativeTimes) {
    const auto id = queued();
    Prompt early(database);
    early.run("begin");
    early.run("select now()");
    grant(id, node);
    early.run("select update_execution_status('" + id.text() + "', 'completed')");
    early.run("commit");
    EXPECT_EQ(column(id, "status"), "completed");
    EXPECT_EQ(column(id, "duration_ms"), "0");
    EXPECT_EQ(column(id, "completed_at >= started_at"), "t");
}

class R22 : public ProtocolRows {
  protected:
    IntakeItem item(const std::string& body) {
        priority_queue::NewExecution made;
        auto& e = made.execution;
        const domain::TimePoint at = *domain::parse_time("2026-11-27T12:00:00Z");
        e.id = ids.make<domain::ExecutionId>(at);
        e.lane = {"default", "seo_monitor"};
        e.created_at = e.scheduled_at = at;
        e.ready = true;
        e.ready_at = at;
        e.last_seq = 1;
        IntakeItem item;
        item.executions.push_back(made);
        item.key = {"default", "ann", "POST /v1/executions", "monday",
                    std::string(platform::view(platform::sha256(body)))};
        item.answer = "{\"execution_id\":\"" + e.id.text() + "\"}";
        return item;
    }
    /// The first has not committed yet; what the second is told once the first has ended as `end` says.
    std::pair<IntakeReply, IntakeReply> overlapping(const std::string& end, const std::string& body) {
        Prompt holder(database);
        IntakeReply first;
        holder.run("begin");
        holder.act([&](Tx& tx) { first = Intake(node).enqueue(tx, {item("one")}).at(0); });
        IntakeReply second;
        std::thread asking([&, its = item(body)] {
            database.transact([&](Tx& tx) { second = Intake(other).enqueue(tx, {its}).at(0); });
        });
        EXPECT_TRUE(waits_in(database, "insert into idempotency_keys"));
        holder.run(end);
        asking.join();
        return {first, second};
    }
};

TEST_F(R22, TheSecondIsToldWhatTheFirstWasAnswered) {
    const auto [first, second] = overlapping("commit", "one");
    EXPECT_TRUE(second.replayed);
    EXPECT_FALSE(second.reused);
    EXPECT_TRUE(second.created.empty());
    EXPECT_EQ(Json::parse(second.answer), Json::parse(first.answer));
    EXPECT_EQ(database.value("select count(*) from executions"), "1");
}

TEST_F(R22, AnotherRequestUnderTheSameKeyIsAMistake) {
    const auto [first, second] = overlapping("commit", "two");
    EXPECT_TRUE(second.reused);
    EXPECT_EQ(database.value("select count(*) from executions"), "1");
}

TEST_F(R22, WhereTheFirstGaveUpTheSecondIsTheOne) {
    const auto [first, second] = overlapping("rollback", "one");
    EXPECT_FALSE(second.replayed);
    EXPECT_EQ(second.created.size(), 1U);
    EXPECT_EQ(database.value("select count(*) || ' ' || max(execution_id::text) from executions"),
              "1 " + second.created.at(0).id.text());
}

}
}
