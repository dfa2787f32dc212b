#pragma once
// Keeps watch over the promises: at every decision, every plan, every commit and at the end. Knows what was promised
// (design, protocol), not how the hub does it.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "orchestrator/board.h"
#include "orchestrator/decide.h"
#include "orchestrator/plan.h"
#include "simulation/tables.h"

namespace impresario::simulation {

class Process;
class Transaction;
class World;

class Auditor {
  public:
    explicit Auditor(World& world) : world_(world) {}

    /// P2, P3 and the retry arithmetic, on one decision of the core.
    void decided(const domain::Execution& row, const orchestrator::Command& command,
                 const orchestrator::Circumstances& circumstances, const orchestrator::Decision& decision);
    /// P6, on one plan: it grants what scanning everything that waits would.
    void planned(const orchestrator::PlanInput& input, domain::TimePoint now, const orchestrator::Plan& plan);

    // What a transaction writes, in its order.
    void begin(const Transaction& tx);
    void inserted(const domain::Execution& row);
    void written(const domain::Execution& before, const domain::Execution& after,
                 const priority_queue::Columns& columns);
    /// `at`: when the transaction that does it began.
    void closed(const webhooks::ClosedAttempt& attempt, domain::TimePoint at);
    void result(const priority_queue::ResultRecord& result);
    void event(const domain::Event& event);
    /// P4, on one entry of the ledger; `state` is what it has left.
    void booked(const resource_manager::Movement& movement, const resource_manager::LedgerEntry& entry,
                const resource_manager::BudgetState& state, domain::TimePoint now);
    void leads(std::int64_t before, std::int64_t epoch, const domain::NodeId& node);
    /// P2, P3, P8, the caps and the constraints, on what has changed.
    void commit();

    // What peers see.
    void asked(const Process& by, const domain::ExecutionId& execution, const domain::AttemptId& attempt);
    void started(const domain::ExecutionId& execution, const domain::AttemptId& attempt,
                 const domain::EndpointId& endpoint);
    void answered(const domain::ExecutionId& execution, const domain::AttemptId& attempt, const std::string& body,
                  int status, const orchestrator::Answer& answer);

    /// Slot conservation and P7: what the scheduler remembers against the rows that have been still for a while.
    void compare(Process& scheduler, const orchestrator::Board& board);
    /// When everything has come to its end.
    void end();

  private:
    struct Stream {
        int seq = 0;
        /// No outcome has been told since it was opened.
        bool open = true;
    };
    struct History {
        std::vector<domain::Execution> versions;
        domain::TimePoint changed_at;
    };
    void fail(std::string promise, const domain::ExecutionId& id, const std::string& how);
    void check_row(const domain::Execution& row);
    void check_moves(const domain::Execution& row, const orchestrator::Command& command,
                     const orchestrator::Decision& decision);
    void check_fences(const domain::Execution& row, const orchestrator::Command& command,
                      const orchestrator::Decision& decision);
    void check_retries(const domain::Execution& row, const orchestrator::Circumstances& at,
                       const orchestrator::Decision& decision);
    /// P5, on one request that has come to its peer, and on what runs at once.
    void check_limits(const domain::Execution& row);
    void check_arrivals(const domain::Execution& row, const std::string& provider,
                        const resource_manager::ProviderLimit& limit, const std::string& subject, std::int64_t calls);
    void check_openings(const orchestrator::PlanInput& input, const orchestrator::Plan& plan);
    void check_concurrency();
    void count_slots(const domain::Execution& before, const domain::Execution& after);
    const domain::Execution* version(const domain::ExecutionId& id, int seq) const;

    World& world_;
    domain::NodeId writer_;
    std::map<domain::ExecutionId, Stream> streams_;
    std::map<domain::ExecutionId, History> histories_;
    std::map<domain::AttemptId, std::pair<domain::ExecutionId, int>> fences_;
    std::map<std::pair<domain::Lane, std::string>, int> slots_;
    std::set<domain::ExecutionId> granted_slots_;
    std::map<domain::Lane, orchestrator::LaneTimes> last_;
    std::int64_t reserved_mb_ = 0;
    std::map<std::string, std::set<domain::ExecutionId>> holders_;
    std::set<domain::ExecutionId> changed_;
    std::map<domain::AttemptId, std::set<domain::EndpointId>> starts_;
    std::map<domain::AttemptId, std::string> taken_words_;
    /// By provider, limit and whom it is for: what came when.
    std::map<std::tuple<std::string, std::string, std::string>, std::vector<std::pair<domain::TimePoint, std::int64_t>>>
        arrivals_;
    domain::TimePoint compared_at_{};
};

}
