#include "schedules/schedule_store.h"

#include "platform/log.h"
#include "platform/read_rows.h"
#include "schedules/schedule_json.h"
#include "schedules_sql.h"

namespace impresario::schedules {

using domain::ExecutionId;
using domain::TimePoint;
using platform::Params;
using platform::RowReader;
using platform::Rows;
using platform::SqlArray;
using platform::Tx;

namespace {
std::optional<Schedule> read(const Rows& rows, std::size_t i) {
    RowReader row(rows, i);
    const auto id = row.id<ScheduleId>();
    const auto organization = row.text();
    const auto name = row.text();
    auto parsed = parse_schedule(row.view());
    if (!parsed) {
        const auto fault = parsed.error().front();
        platform::log::warn("a schedule cannot be read and is left alone",
                            {{"schedule", name}, {"error", fault.pointer + " " + fault.what}, {"next", "put it anew"}});
        return std::nullopt;
    }
    auto schedule = *std::move(parsed);
    schedule.id = id;
    schedule.organization_id = organization;
    schedule.name = name;
    schedule.version = row.small();
    schedule.updated_at = row.time();
    schedule.updated_by = row.text();
    const auto paused_at = row.maybe_time();
    Schedule::Pause pause{paused_at.value_or(TimePoint{}), row.text(), row.text(), {}};
    pause.until = row.maybe_time();
    if (paused_at) schedule.pause = std::move(pause);
    schedule.moves = row.integer();
    schedule.next_due = row.maybe_time();
    schedule.runs = row.integer();
    schedule.last_due = row.maybe_time();
    schedule.last_execution = row.maybe_id<ExecutionId>();
    return schedule;
}
}

std::vector<Schedule> ScheduleStore::list(Tx& tx, const std::string& organization_id) const {
    const auto rows = tx.exec(sql::list_schedules, Params().add(organization_id));
    std::vector<Schedule> schedules;
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (auto schedule = read(rows, i)) schedules.push_back(*std::move(schedule));
    return schedules;
}

std::optional<Schedule> ScheduleStore::find(Tx& tx, const std::string& organization_id, const std::string& name) const {
    const auto rows = tx.exec(sql::find_schedule, Params().add(organization_id).add(name));
    return rows.empty() ? std::nullopt : read(rows, 0);
}

void ScheduleStore::put(Tx& tx, const Schedule& schedule) const {
    tx.exec(sql::put_schedule, Params()
                                   .add(schedule.organization_id)
                                   .add(schedule.name)
                                   .add(definition_json(schedule))
                                   .add(schedule.updated_by)
                                   .add(schedule.next_due));
}

bool ScheduleStore::remove(Tx& tx, const std::string& organization_id, const std::string& name) const {
    return tx.exec(sql::delete_schedule, Params().add(organization_id).add(name)).affected() > 0;
}

bool ScheduleStore::pause(Tx& tx, const std::string& organization_id, const std::string& name,
                          const Schedule::Pause& pause) const {
    auto values = Params().add(organization_id).add(name).add(pause.by).add(pause.reason).add(pause.until);
    return tx.exec(sql::pause_schedule, std::move(values)).affected() > 0;
}

bool ScheduleStore::resume(Tx& tx, const Schedule& schedule, std::optional<TimePoint> next_due) const {
    auto values = Params().add(schedule.organization_id).add(schedule.name).add(next_due);
    return tx.exec(sql::resume_schedule, std::move(values)).affected() > 0;
}

ScheduleStore::Facts ScheduleStore::facts(Tx& tx, const ScheduleId& id) const {
    Facts found;
    const auto running = tx.exec(sql::running_of_schedule, Params().add(id));
    for (std::size_t i = 0; i < running.size(); ++i) found.running.push_back(RowReader(running, i).id<ExecutionId>());
    found.facts.running = !found.running.empty();
    const auto waiting = tx.exec(sql::waiting_runs, Params().add(id));
    for (std::size_t i = 0; i < waiting.size(); ++i) found.facts.waiting.push_back(RowReader(waiting, i).time());
    return found;
}

std::set<ScheduleId> ScheduleStore::waiting(Tx& tx) const {
    const auto rows = tx.exec(sql::schedules_that_wait);
    std::set<ScheduleId> ids;
    for (std::size_t i = 0; i < rows.size(); ++i) ids.insert(RowReader(rows, i).id<ScheduleId>());
    return ids;
}

std::optional<std::set<ExecutionId>> ScheduleStore::advance(Tx& tx, const Schedule& schedule,
                                                            const Advance& advance) const {
    const auto held = tx.exec(sql::lock_schedule, Params().add(schedule.id).add(schedule.moves).add(schedule.version));
    if (held.empty()) return std::nullopt;
    SqlArray due;
    SqlArray outcomes;
    SqlArray details;
    SqlArray executions;
    std::size_t next = 0;
    for (const auto& run : advance.due.runs) {
        due.add(run.due);
        outcomes.add(name(run.outcome));
        details.add(run.detail);
        if (run.outcome == RunOutcome::started) {
            executions.add(advance.executions.at(next++));
        } else {
            executions.null();
        }
    }
    std::set<ExecutionId> started;
    std::optional<TimePoint> last_due;
    std::optional<ExecutionId> last;
    if (!advance.due.runs.empty()) {
        auto values = Params().add(schedule.id).add(std::move(due)).add(std::move(outcomes));
        values.add(std::move(details)).add(std::move(executions));
        const auto recorded = tx.exec(sql::record_runs, std::move(values));
        for (std::size_t i = 0; i < recorded.size(); ++i) {
            RowReader row(recorded, i);
            const auto at = row.time();
            const auto execution = row.maybe_id<ExecutionId>();
            if (!execution) continue;
            started.insert(*execution);
            if (last_due && at < *last_due) continue;
            last_due = at;
            last = execution;
        }
        tx.send(sql::forget_runs, Params().add(schedule.id));
    }
    auto values = Params().add(schedule.id).add(advance.due.next_due).add(static_cast<std::int64_t>(started.size()));
    tx.send(sql::advance_schedule, std::move(values).add(last_due).add(last));
    return started;
}

std::size_t ScheduleStore::let_wait(Tx& tx, const ScheduleId& id, const std::vector<TimePoint>& due,
                                    const std::string& why) const {
    SqlArray times;
    for (const auto at : due) times.add(at);
    tx.send(sql::announce_schedule, Params().add(id));
    return tx.exec(sql::let_runs_wait, Params().add(id).add(std::move(times)).add(why)).affected();
}

std::vector<RunRecord> ScheduleStore::runs(Tx& tx, const ScheduleId& id, std::optional<TimePoint> before,
                                           int most) const {
    const auto rows = tx.exec(sql::list_runs, Params().add(id).add(before).add(most));
    return platform::read_rows(rows, [](RowReader& row) {
        RunRecord run;
        run.due = row.time();
        run.outcome = parse_run_outcome(row.view()).value_or(RunOutcome::skipped);
        run.detail = row.text();
        run.execution = row.maybe_id<ExecutionId>();
        run.at = row.time();
        run.status = row.text();
        return run;
    });
}

}
