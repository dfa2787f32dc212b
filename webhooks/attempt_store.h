#pragma once
// Closed attempts, deliveries and refused callbacks in the database. Borrows a transaction. Stateless; any thread.

#include <optional>
#include <string>
#include <vector>

#include "domain/execution.h"
#include "platform/sql.h"

namespace impresario::webhooks {

struct ClosedAttempt {
    domain::ExecutionId execution;
    int opening = 1;
    domain::LiveAttempt attempt;
    /// completed, failed, timeout, lost, partial, exhausted, rejected, cancelled, superseded, late.
    std::string outcome;
    std::string detail;
    /// SHA-256 of the raw body of the callback that closed it, and what it was answered; empty when none did.
    std::string callback_sha256;
    std::string callback_answer;
};

/// A closed attempt, as a repeated callback needs it.
struct FoundAttempt {
    domain::ExecutionId execution;
    domain::AttemptId id;
    int number = 0;
    int opening = 1;
    std::string outcome;
    std::string callback_sha256;
    std::string callback_answer;
    /// What of its cost is booked.
    std::optional<domain::MicroUsd> cost;
};

struct DeliveryRecord {
    domain::ExecutionId execution;
    domain::AttemptId attempt;
    int number = 1;
    domain::TimePoint at;
    domain::Duration duration{0};
    std::string url;
    std::string address;
    std::optional<int> status;
    std::string outcome;
    std::string error;
    /// The first 4 KiB of the answer, storable, secrets removed.
    std::string answer;
};

struct RefusedCallback {
    domain::ExecutionId execution;
    domain::AttemptId attempt;
    std::string sha256;
    std::string status;
    /// The problem's short name: attempt-closed, execution-already-finished …
    std::string problem;
    std::string body;
};

class AttemptStore {
  public:
    void close(platform::Tx& tx, const std::vector<ClosedAttempt>& attempts) const;
    /// For late results: gives closed attempts their callback.
    void amend(platform::Tx& tx, const std::vector<ClosedAttempt>& attempts) const;
    std::vector<FoundAttempt> find(platform::Tx& tx,
                                   const std::vector<std::pair<domain::ExecutionId, domain::AttemptId>>& of) const;
    void log_deliveries(platform::Tx& tx, const std::vector<DeliveryRecord>& deliveries) const;
    void keep_refused(platform::Tx& tx, const std::vector<RefusedCallback>& callbacks) const;

    /// Of executions that are removed.
    void remove(platform::Tx& tx, const std::vector<domain::ExecutionId>& executions) const;

    platform::Rows list_attempts(platform::Tx& tx, const domain::ExecutionId& id) const;
    platform::Rows list_deliveries(platform::Tx& tx, const domain::ExecutionId& id) const;
    platform::Rows list_refused(platform::Tx& tx, const domain::ExecutionId& id) const;
};

}
