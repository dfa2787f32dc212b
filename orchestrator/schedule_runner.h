#pragma once
// Starts what schedules say is due, each due time once, as long as this node leads.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "domain/definition_fault.h"
#include "orchestrator/leader_loop.h"
#include "priority_queue/queue_store.h"
#include "schedules/schedule_store.h"

namespace impresario::orchestrator {

/// An execution as a request for one would make it, or why it would be refused.
struct MadeExecution {
    std::optional<priority_queue::NewExecution> execution;
    domain::DefinitionFault fault;
};
using MakeExecution = std::function<MadeExecution(const std::string& organization_id, const std::string& request)>;

/// The request that a schedule makes for a due time: its name and that time are in the context, under "schedule".
std::string request_of(const schedules::Schedule& schedule, domain::TimePoint due);

/// One per process. Network thread only.
class ScheduleRunner final : public LeaderLoop {
  public:
    ScheduleRunner(Node& node, Hub& hub, MakeExecution make);

    /// Schedules may have changed: they are read again.
    void reload() {
        loaded_ = false;
        wake();
    }

  private:
    platform::Task<std::chrono::steady_clock::duration> turn() override;
    void forget() override { loaded_ = false; }
    platform::Task<void> load();
    platform::Task<void> start_due();
    struct Planned {
        schedules::Advance advance;
        std::vector<priority_queue::NewExecution> executions;
    };
    Planned plan(const schedules::Schedule& schedule, const schedules::RunFacts& facts, domain::TimePoint now,
                 std::size_t most);
    platform::Task<void> advance(schedules::Schedule schedule);
    void count(const schedules::Schedule& schedule, const std::vector<schedules::Run>& runs);
    std::chrono::steady_clock::duration idle_for() const;

    MakeExecution make_;
    std::map<schedules::ScheduleId, schedules::Schedule> schedules_;
    /// Of which a due time waits for what runs.
    std::set<schedules::ScheduleId> waiting_;
    /// Their queue is full, or they cannot be written: not before then.
    std::map<schedules::ScheduleId, domain::TimePoint> put_off_;
    std::chrono::steady_clock::time_point loaded_at_{};
    bool loaded_ = false;
};

}
