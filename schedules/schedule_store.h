#pragma once
// Schedules, how far they have come, and what became of each due time.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "platform/sql.h"
#include "schedules/due_runs.h"
#include "schedules/schedule.h"

namespace impresario::schedules {

struct RunRecord {
    domain::TimePoint due{};
    RunOutcome outcome = RunOutcome::started;
    std::string detail;
    std::optional<domain::ExecutionId> execution;
    domain::TimePoint at{};
    /// Of its execution; empty: there is none, or not any more.
    std::string status;
};

/// What is written about a schedule at once.
struct Advance {
    DueRuns due;
    /// Of each run of `due` that started, in order.
    std::vector<domain::ExecutionId> executions;
};

/// Borrows a transaction. Stateless; any thread.
class ScheduleStore {
  public:
    /// "": of all organizations. One whose definition cannot be read any more is left out.
    std::vector<Schedule> list(platform::Tx& tx, const std::string& organization_id) const;
    std::optional<Schedule> find(platform::Tx& tx, const std::string& organization_id, const std::string& name) const;
    /// Its next due time is `schedule.next_due`.
    void put(platform::Tx& tx, const Schedule& schedule) const;
    /// False: there is none.
    bool remove(platform::Tx& tx, const std::string& organization_id, const std::string& name) const;
    bool pause(platform::Tx& tx, const std::string& organization_id, const std::string& name,
               const Schedule::Pause& pause) const;
    bool resume(platform::Tx& tx, const Schedule& schedule, std::optional<domain::TimePoint> next_due) const;

    struct Facts {
        RunFacts facts;
        /// What runs of it.
        std::vector<domain::ExecutionId> running;
    };
    Facts facts(platform::Tx& tx, const ScheduleId& id) const;
    /// Those of which a due time waits.
    std::set<ScheduleId> waiting(platform::Tx& tx) const;
    /// Those of its executions that are to be made: a due time that has started before does not start again, whatever
    /// brought it back. nullopt: somebody else has moved the schedule since it was read.
    std::optional<std::set<domain::ExecutionId>> advance(platform::Tx& tx, const Schedule& schedule,
                                                         const Advance& advance) const;
    /// Lets these due times wait for their turn; those that have started stay as they are. Returns how many wait.
    std::size_t let_wait(platform::Tx& tx, const ScheduleId& id, const std::vector<domain::TimePoint>& due,
                         const std::string& why) const;
    /// The latest first, those before `before`.
    std::vector<RunRecord> runs(platform::Tx& tx, const ScheduleId& id, std::optional<domain::TimePoint> before,
                                int most) const;
};

}
