#pragma once
// Executions in a database without a hub around them: what is asked of their rows, by whom and in which transaction.

#include <gtest/gtest.h>

#include "orchestrator/apply.h"
#include "platform/crypto.h"
#include "platform/id_source.h"
#include "tests/support/prompt.h"

namespace impresario::testing {

class ProtocolRows : public ::testing::Test {
  protected:
    domain::ExecutionId queued() const {
        return domain::ExecutionId::parse(
                   database.value("select enqueue_workflow_task('seo_monitor', 50, '{\"a\": 1}')"))
            .value();
    }
    /// Granted to `to`: to be begun by it, or (`own`) already under way.
    domain::LiveAttempt grant(const domain::ExecutionId& id, const domain::NodeId& to, bool own = true) {
        domain::LiveAttempt attempt;
        database.transact([&](platform::Tx& tx) {
            auto rows = priority_queue::QueueStore().lock_claimable(tx, {id});
            orchestrator::GrantTerms terms;
            terms.fresh_attempt = ids.make<domain::AttemptId>(rows.at(0).now);
            terms.node = to;
            terms.own = own;
            orchestrator::Circumstances circumstances;
            circumstances.now = rows.at(0).now;
            std::vector<orchestrator::Decision> decisions{
                orchestrator::decide_grant(rows.at(0).execution, terms, circumstances).value()};
            attempt = *decisions[0].after.attempt;
            applier.write(tx, decisions);
        });
        return attempt;
    }
    /// One attempt under way at this node.
    std::pair<domain::ExecutionId, domain::LiveAttempt> sent() {
        const auto id = queued();
        return {id, grant(id, node)};
    }
    orchestrator::CallbackReceived callback(const domain::AttemptId& attempt, domain::CallbackStatus status,
                                            const std::string& body = "") const {
        orchestrator::CallbackReceived received;
        received.attempt = attempt;
        received.callback.status = status;
        received.body = body.empty() ? "{\"status\":\"" + std::string(name(status)) + "\"}" : body;
        received.sha256 = std::string(platform::view(platform::sha256(received.body)));
        return received;
    }
    static orchestrator::Command command(const domain::ExecutionId& id, orchestrator::Happening happening) {
        return {id, std::move(happening), 0.5, {}, {}};
    }
    /// In one transaction.
    std::vector<orchestrator::Reply> apply(const std::vector<orchestrator::Command>& commands) const {
        std::vector<orchestrator::Reply> replies;
        database.transact([&](platform::Tx& tx) { replies = applier.apply(tx, commands); });
        return replies;
    }
    orchestrator::Reply apply(const domain::ExecutionId& id, orchestrator::Happening happening) const {
        return apply({command(id, std::move(happening))}).at(0);
    }
    std::string column(const domain::ExecutionId& id, const std::string& what) const {
        return database.value("select " + what + " from executions where execution_id = '" + id.text() + "'");
    }
    void set(const domain::ExecutionId& id, const std::string& what) const {
        database.run("update executions set " + what + " where execution_id = '" + id.text() + "'");
    }
    std::string events(const domain::ExecutionId& id, const std::string& type) const {
        return database.value("select count(*) from events where stream_id = '" + id.text() + "' and type = '" + type +
                              "'");
    }

    TestDatabase database;
    platform::IdSource ids;
    const domain::NodeId node = ids.make<domain::NodeId>(domain::TimePoint{std::chrono::hours{500000}});
    const domain::NodeId other = ids.make<domain::NodeId>(domain::TimePoint{std::chrono::hours{500000}});
    const orchestrator::Applier applier{node, ids};
};

}
