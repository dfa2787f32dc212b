// Commands on a real database, without a hub around them.
#include "orchestrator/apply.h"

#include <gtest/gtest.h>

#include "platform/crypto.h"
#include "tests/support/database.h"

namespace impresario::orchestrator {
namespace apply_test {

using domain::ExecutionId;
using platform::Tx;

class Apply : public ::testing::Test {
  protected:
    /// An execution whose request has left.
    ExecutionId sent() {
        const auto id =
            ExecutionId::parse(db_.value("select enqueue_workflow_task('seo_monitor', 50, '{\"a\": 1}')")).value();
        db_.transact([&](Tx& tx) {
            auto rows = priority_queue::QueueStore().lock_claimable(tx, {id});
            GrantTerms terms;
            terms.fresh_attempt = attempt_ = ids_.make<domain::AttemptId>(rows.at(0).now);
            terms.node = node_;
            Circumstances circumstances;
            circumstances.now = rows.at(0).now;
            std::vector<Decision> decisions{decide_grant(rows.at(0).execution, terms, circumstances).value()};
            fence_ = decisions[0].after.attempt->fence;
            applier_.write(tx, decisions);
        });
        return id;
    }
    DeliveryReported accepted(const ExecutionId& id) const {
        DeliveryReported report;
        report.attempt = attempt_;
        report.fence = fence_;
        report.outcome = webhooks::Accepted{};
        report.record.execution = id;
        report.record.attempt = attempt_;
        report.record.number = 1;
        report.record.status = 202;
        report.record.outcome = "accepted";
        return report;
    }
    CallbackReceived completed() const {
        CallbackReceived received;
        received.attempt = attempt_;
        received.body = R"({"status":"completed"})";
        received.sha256 = std::string(platform::view(platform::sha256(received.body)));
        return received;
    }
    Reply apply(const Command& command) {
        Reply reply;
        db_.transact([&](Tx& tx) { reply = applier_.apply(tx, {command}).at(0); });
        return reply;
    }
    std::string events(const ExecutionId& id) const {
        return db_.value("select string_agg(seq || ' ' || type, ', ' order by seq) from events where stream_id = '" +
                         id.text() + "'");
    }

    testing::TestDatabase db_;
    platform::IdSource ids_;
    domain::NodeId node_ = ids_.make<domain::NodeId>(domain::TimePoint{std::chrono::hours{500000}});
    Applier applier_{node_, ids_};
    domain::AttemptId attempt_;
    int fence_ = 0;
};

const std::string kWhole = "1 execution.queued, 2 execution.dispatched, 3 execution.accepted, 4 execution.completed";

TEST_F(Apply, ACallbackBringsTheDeliveryItCameFor) {
    const auto id = sent();
    Command command{id, completed(), 0.5, {}, {}, accepted(id)};
    const Reply reply = apply(command);
    EXPECT_EQ(reply.answer.status, 200);
    ASSERT_TRUE(reply.endpoint) << "what the endpoint did is news as always";
    EXPECT_EQ(reply.endpoint->kind, EndpointNews::Kind::accepted);
    EXPECT_EQ(reply.after->status, domain::Status::completed);
    EXPECT_EQ(events(id), kWhole);
    EXPECT_EQ(db_.value("select count(*) || ' ' || max(status) from deliveries"), "1 202");
    EXPECT_EQ(db_.value("select outcome from attempts where accepted_at is not null"), "completed");

    // Said again, by a node that did not learn how its first try ended.
    const Reply again = apply(command);
    EXPECT_EQ(again.answer.status, 200);
    EXPECT_EQ(events(id), kWhole);
    EXPECT_EQ(db_.value("select count(*) from deliveries"), "1");
    EXPECT_EQ(db_.value("select count(*) from attempts"), "1");
}

TEST_F(Apply, ADeliveryThatIsToldAfterItsCallbackChangesNothingButTheLog) {
    const auto id = sent();
    EXPECT_EQ(apply({id, completed(), 0.5, {}, {}}).answer.status, 200);
    const auto before = events(id);
    apply({id, accepted(id), 0.5, {}, {}});
    EXPECT_EQ(events(id), before);
    EXPECT_EQ(db_.value("select count(*) from deliveries"), "1");
}

}
}
