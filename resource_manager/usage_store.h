#pragma once
// What executions used, in workflow_resource_usage. Borrows a transaction. Stateless; any thread.

#include <optional>
#include <string>
#include <vector>

#include "domain/id.h"
#include "domain/money.h"
#include "platform/sql.h"

namespace impresario::resource_manager {

struct UsageRecord {
    domain::ExecutionId execution;
    /// api_call, tokens, database_query, memory_usage …
    std::string resource_type;
    std::string provider;
    std::int64_t amount = 0;
    std::optional<domain::MicroUsd> cost;
    /// Twice the same is recorded once.
    std::string usage_id;
};

class UsageStore {
  public:
    void record(platform::Tx& tx, const std::vector<UsageRecord>& usage) const;
    /// Of executions that are removed.
    void remove(platform::Tx& tx, const std::vector<domain::ExecutionId>& executions) const;
};

}
