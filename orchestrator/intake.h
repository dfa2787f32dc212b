#pragma once
// Intake: executions, their first events and the caller's idempotency key, one transaction.

#include <optional>
#include <string>
#include <vector>

#include "domain/event.h"
#include "platform/sql.h"
#include "priority_queue/queue_store.h"

namespace impresario::orchestrator {

/// The caller's name for a request (protocol R22).
struct IdempotencyKey {
    std::string organization_id;
    /// Whose key it is: the API key's id.
    std::string owner;
    std::string route;
    std::string key;
    /// SHA-256 of the raw body: the same key with another body is a mistake.
    std::string body_sha256;
};

struct IntakeItem {
    std::vector<priority_queue::NewExecution> executions;
    std::optional<IdempotencyKey> key;
    /// What happens to them once they are queued, in the same transaction (an arrival's grant).
    std::vector<domain::Event> events;
    /// What the caller is answered if this creates them.
    int status = 201;
    std::string answer;
};

struct IntakeReply {
    /// The executions that were created; empty where the key had been used.
    std::vector<domain::Execution> created;
    bool replayed = false;
    /// The key was used with another body.
    bool reused = false;
    int status = 201;
    std::string answer;
};

/// Runs on database threads; one reply for each item, in order.
class Intake {
  public:
    explicit Intake(domain::NodeId node) : node_(node) {}
    std::vector<IntakeReply> enqueue(platform::Tx& tx, const std::vector<IntakeItem>& items) const;
    /// Keys older than 24 h; returns how many went.
    std::size_t forget_old_keys(platform::Tx& tx) const;

  private:
    domain::NodeId node_;
};

}
