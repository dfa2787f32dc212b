#pragma once
// The dead-letter queue in the database. Borrows a transaction. Stateless; any thread.

#include <optional>
#include <string>
#include <vector>

#include "domain/id.h"
#include "domain/lane.h"
#include "domain/time.h"
#include "platform/sql.h"

namespace impresario::priority_queue {

struct DeadLetter {
    domain::ExecutionId execution;
    int opening = 1;
    domain::Lane lane;
    /// attempts_exhausted, rejected_by_peer, timeout, lost.
    std::string reason;
    std::string error;
    std::string fingerprint;
    std::optional<domain::NodeId> node;
    int attempts = 0;
};

struct Resolution {
    domain::ExecutionId execution;
    int opening = 1;
    /// retried, discarded, accepted.
    std::string how;
    std::string by;
    /// Keep what the input was, because it is about to be replaced.
    bool keep_input = false;
};

struct DeadLetterFilter {
    std::string organization_id;
    std::string workflow_type;
    std::string reason;
    std::string fingerprint;
    std::optional<domain::TimePoint> since;
    bool resolved = false;
    /// Page: entries older than this place.
    std::optional<domain::TimePoint> before_at;
    std::optional<domain::ExecutionId> before_id;
    int most = 50;
};

struct DeadLetterRow {
    DeadLetter letter;
    domain::TimePoint at;
    std::string resolution;
    std::optional<domain::TimePoint> resolved_at;
    std::string resolved_by;
    std::string input;
    std::string original_input;
};

class DeadLetterStore {
  public:
    void add(platform::Tx& tx, const std::vector<DeadLetter>& letters) const;
    void resolve(platform::Tx& tx, const Resolution& resolution) const;
    std::vector<DeadLetterRow> list(platform::Tx& tx, const DeadLetterFilter& filter) const;
    /// The newest letter of an execution.
    std::optional<DeadLetterRow> find(platform::Tx& tx, const std::string& organization_id,
                                      const domain::ExecutionId& id) const;
};

}
