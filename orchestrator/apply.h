#pragma once
// Commands → store calls, one transaction: lock the rows, decide on each, write everything that was decided.

#include <atomic>
#include <set>
#include <vector>

#include "orchestrator/command.h"
#include "orchestrator/decide.h"
#include "platform/id_source.h"
#include "platform/sql.h"

namespace impresario::orchestrator {

/// Runs on database threads; holds no state of its own.
class Applier {
  public:
    Applier(domain::NodeId node, platform::IdSource& ids) : node_(node), ids_(ids) {}

    /// One reply for each command, in order. Several commands about one execution see each other's effect.
    std::vector<Reply> apply(platform::Tx& tx, const std::vector<Command>& commands) const;

    /// Writes decisions about rows that the caller has locked itself (a turn's grants).
    void write(platform::Tx& tx, std::vector<Decision>& decisions) const;

    const domain::NodeId& node() const { return node_; }

    /// Whether there are budgets: then money is booked also of what none was reserved for. Any thread.
    void set_budgets(bool any) { budgets_ = any; }
    bool budgets() const { return budgets_; }

  private:
    using Money = std::vector<resource_manager::LedgerStore::Recorded>;
    /// What became of the parents and of the children that nobody wants any more; in the reply's lists.
    Reply settle_parents(platform::Tx& tx, std::set<domain::ExecutionId> parents,
                         const subworkflows::Catalogue* catalogue, Money& money, std::vector<LaneTimes>& times) const;

    domain::NodeId node_;
    platform::IdSource& ids_;
    std::atomic<bool> budgets_{false};
};

}
