#pragma once
// The execution row in the database: the only writer of executions, execution_inputs and execution_results. Borrows a
// transaction, never opens one. Stateless; any thread.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "domain/execution.h"
#include "platform/sql.h"
#include "priority_queue/columns.h"
#include "priority_queue/order.h"

namespace impresario::priority_queue {

struct NewExecution {
    domain::Execution execution;
    /// JSON text; empty is null.
    std::string input;
    std::string context;
    /// platform/trace_context.h; empty: it came with none.
    std::string trace_context = {};
};

/// A locked row and the transaction's time.
struct LockedExecution {
    domain::Execution execution;
    domain::TimePoint now;
};

struct ClaimableExecution {
    domain::Execution execution;
    std::string input;
    std::string context;
    domain::TimePoint now;
    std::string trace_context = {};
};

struct ResultRecord {
    domain::ExecutionId execution;
    int opening = 1;
    std::string result_data;
    std::string error_data;
    std::string items;
    bool sanitised = false;
    std::string peer_reference;
};

struct ChildResult {
    domain::ExecutionId parent;
    domain::ExecutionId id;
    domain::Status status;
    int retry_count = 0;
    std::string result_data;
    std::string items;
    std::string error_data;
    std::optional<domain::MicroUsd> cost;
    std::string reason;
};

/// How many rows of a lane's level are in the ready index.
struct LevelCount {
    domain::Lane lane;
    int priority = 0;
    std::size_t count = 0;
};

struct ExecutionFilter {
    std::string organization_id;
    /// Comma-separated statuses; empty: all.
    std::string statuses;
    std::string workflow_type;
    std::optional<domain::BatchId> batch;
    std::optional<domain::ExecutionId> parent;
    std::optional<domain::TimePoint> created_after;
    std::optional<domain::TimePoint> created_before;
    /// Page: what is older than this place.
    std::optional<domain::TimePoint> before_at;
    std::optional<domain::ExecutionId> before_id;
    int most = 50;
};

class QueueStore {
  public:
    void insert(platform::Tx& tx, const std::vector<NewExecution>& executions) const;
    /// One whose attempt its own node sends: granted before it has ever been ready in the table.
    void insert_granted(platform::Tx& tx, const NewExecution& granted) const;

    /// Waits for nobody: what another transaction holds is named instead. What is in neither does not exist.
    struct Locked {
        std::vector<LockedExecution> rows;
        std::vector<domain::ExecutionId> held;
    };
    Locked lock(platform::Tx& tx, const std::vector<domain::ExecutionId>& ids) const;
    /// Without what another transaction holds at the moment.
    std::vector<ClaimableExecution> lock_claimable(platform::Tx& tx, const std::vector<domain::ExecutionId>& ids) const;
    /// Of those that came with one.
    std::map<domain::ExecutionId, std::string> trace_contexts(platform::Tx& tx,
                                                              const std::vector<domain::ExecutionId>& ids) const;
    std::vector<LockedExecution> read(platform::Tx& tx, const std::vector<domain::ExecutionId>& ids) const;
    std::vector<LockedExecution> list(platform::Tx& tx, const ExecutionFilter& filter) const;
    std::vector<LockedExecution> sent_by(platform::Tx& tx, const domain::NodeId& node) const;
    std::vector<ClaimableExecution> granted_to(platform::Tx& tx, const domain::NodeId& node) const;

    /// Writes rows that this transaction has locked, in one statement: of each at least the `columns` in which it
    /// differs from what is in the table. `granted_to` is set for attempts in state granted.
    void write(platform::Tx& tx, const std::vector<const domain::Execution*>& executions,
               const Columns& columns = every_column()) const;
    void write_results(platform::Tx& tx, const std::vector<ResultRecord>& results) const;
    void write_input(platform::Tx& tx, const domain::ExecutionId& id, const std::string& input) const;

    struct Payload {
        std::string input;
        std::string context;
        std::string trace_context;
    };
    Payload payload(platform::Tx& tx, const domain::ExecutionId& id) const;
    /// Of each parent's current opening.
    std::vector<ChildResult> children(platform::Tx& tx, const std::vector<domain::ExecutionId>& parents) const;
    std::vector<ResultRecord> results(platform::Tx& tx,
                                      const std::vector<std::pair<domain::ExecutionId, int>>& of) const;

    /// What a new scheduler's memory is built from: how deep the levels are, then their rows page by page.
    std::vector<LevelCount> count_levels(platform::Tx& tx) const;
    std::vector<Entry> load_level(platform::Tx& tx, const domain::Lane& lane, const Order::Refill& refill) const;
    /// Rows that wait behind a gate of their own: outside the ready index.
    std::vector<LockedExecution> load_gated(platform::Tx& tx) const;
    /// The first of a lane by the order that SQL computes: for safety scans.
    std::vector<domain::ExecutionId> first_by_table(platform::Tx& tx, const domain::Lane& lane, int most,
                                                    domain::TimePoint now) const;
    /// The last of a lane by score, what waits behind gates of their own included; of equals the youngest. Last first.
    struct LastByScore {
        domain::ExecutionId id;
        Score score = 0;
        domain::TimePoint created_at;
        domain::Lane lane;
    };
    std::vector<LastByScore> last_by_score(platform::Tx& tx, const domain::Lane& lane, int most,
                                           domain::TimePoint now) const;
    std::vector<LockedExecution> load_unsettled(platform::Tx& tx) const;

    /// What has become due, without those that are `put_off`.
    std::vector<domain::ExecutionId> due(platform::Tx& tx, domain::TimePoint now, int most,
                                         const std::vector<domain::ExecutionId>& put_off) const;
    std::optional<domain::TimePoint> next_due(platform::Tx& tx, const std::vector<domain::ExecutionId>& put_off) const;
};

}
