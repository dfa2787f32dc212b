#include "orchestrator/schedule_runner.h"

#include "platform/json_writer.h"
#include "platform/log.h"

namespace impresario::orchestrator {

namespace log = platform::log;
using domain::ExecutionId;
using domain::TimePoint;
using platform::Task;
using platform::Tx;
using schedules::Overlap;
using schedules::RunOutcome;
using schedules::Schedule;
using schedules::ScheduleStore;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {
/// Without having been told that anything has changed, all of them are read this often.
constexpr std::chrono::seconds kReload{10};
/// How often is looked whether what one waits for has ended.
constexpr milliseconds kLookForEnd{250};
/// Due times of one transaction.
constexpr std::size_t kMostAtOnce = 100;
/// After it could not be written.
constexpr std::chrono::minutes kFaultyPause{1};
/// After its queue was full.
constexpr std::chrono::seconds kFullPause{1};
}

std::string request_of(const Schedule& schedule, TimePoint due) {
    platform::JsonWriter about;
    about.open();
    about.field("name", schedule.name).field("due_at", due);
    about.close();
    std::string context = schedule.context.empty() ? "{}" : schedule.context;
    const auto end = context.rfind('}');
    const bool empty = context.find_first_not_of(" \t\r\n", 1) == end;
    context.resize(end);
    context += std::string(empty ? "" : ",") + "\"schedule\":" + about.text() + "}";
    platform::JsonWriter request;
    request.open();
    request.field("workflow_type", schedule.workflow_type).field("priority", schedule.priority);
    if (!schedule.input.empty()) request.raw("input", schedule.input);
    request.raw("context", context);
    request.close();
    return std::move(request).text();
}

ScheduleRunner::ScheduleRunner(Node& node, Hub& hub, MakeExecution make)
    : LeaderLoop(node, hub, "schedules have to wait"), make_(std::move(make)) {}

Task<steady_clock::duration> ScheduleRunner::turn() {
    if (!loaded_ || steady_clock::now() - loaded_at_ > kReload) co_await load();
    co_await start_due();
    co_return loaded_ ? idle_for() : steady_clock::duration{0};
}

Task<void> ScheduleRunner::load() {
    // Who asks for another reading meanwhile gets it.
    loaded_ = true;
    loaded_at_ = steady_clock::now();
    struct Read {
        std::vector<Schedule> schedules;
        std::set<schedules::ScheduleId> waiting;
    };
    auto reading = node_.database().read([](Tx& tx) {
        const ScheduleStore store;
        return Read{store.list(tx, ""), store.waiting(tx)};
    });
    auto read = co_await std::move(reading);
    schedules_.clear();
    for (auto& each : read.schedules) {
        const auto id = each.id;
        schedules_.emplace(id, std::move(each));
    }
    waiting_ = std::move(read.waiting);
}

Task<void> ScheduleRunner::start_due() {
    const auto now = node_.clock().now();
    std::vector<Schedule> due;
    for (const auto& [id, schedule] : schedules_) {
        if (const auto off = put_off_.find(id); off != put_off_.end() && off->second > now) continue;
        if (!schedule.enabled || schedule.paused(now)) continue;
        if (waiting_.contains(id) || (schedule.next_due && schedules::starts_at(schedule, *schedule.next_due) <= now))
            due.push_back(schedule);
    }
    for (auto& schedule : due) {
        if (!goes_on()) co_return;
        const auto id = schedule.id;
        const auto name = schedule.name;
        std::string fault;
        try {
            co_await advance(std::move(schedule));
        } catch (const platform::StatementRefused& refused) {
            // It keeps nobody else waiting.
            fault = refused.what();
        }
        if (fault.empty()) continue;
        put_off_[id] = now + kFaultyPause;
        log::error("a schedule cannot be moved on",
                   {{"schedule", name}, {"error", fault}, {"next", "it is tried again in a minute"}});
    }
}

/// What is due, and the executions that it makes.
ScheduleRunner::Planned ScheduleRunner::plan(const Schedule& schedule, const schedules::RunFacts& facts, TimePoint now,
                                             std::size_t most) {
    Planned planned;
    planned.advance.due = due_runs(schedule, facts, now, most);
    for (auto& run : planned.advance.due.runs) {
        if (run.outcome != RunOutcome::started) continue;
        auto made = make_(schedule.organization_id, request_of(schedule, run.due));
        if (!made.execution) {
            run.outcome = RunOutcome::refused;
            run.detail = made.fault.pointer + " " + made.fault.what;
            log::warn("what a schedule asks for was refused", {{"schedule", schedule.name},
                                                               {"due_at", domain::rfc3339(run.due)},
                                                               {"error", run.detail},
                                                               {"next", "see impresario schedules runs"}});
            continue;
        }
        planned.advance.executions.push_back(made.execution->execution.id);
        planned.executions.push_back(*std::move(made.execution));
    }
    return planned;
}

/// Decides by what is there, and writes that down with what it makes, if nobody has moved it meanwhile.
Task<void> ScheduleRunner::advance(Schedule schedule) {
    auto reading = node_.database().read([id = schedule.id](Tx& tx) { return ScheduleStore().facts(tx, id); });
    const auto facts = co_await std::move(reading);
    const auto now = node_.clock().now();
    auto planned = plan(schedule, facts.facts, now, kMostAtOnce);
    const bool unchanged = planned.advance.due.runs.empty() && planned.advance.due.next_due == schedule.next_due;
    if (unchanged) {
        if (facts.facts.waiting.empty()) waiting_.erase(schedule.id);
        co_return;
    }
    auto joined = hub_.join_queue(planned.executions);
    if (joined.full && planned.executions.size() > 1) {
        // There may be room for one of them.
        planned = plan(schedule, facts.facts, now, 1);
        joined = hub_.join_queue(planned.executions);
    }
    if (joined.full) {
        const bool before = put_off_.contains(schedule.id);
        put_off_[schedule.id] = now + kFullPause;
        if (!before)
            log::warn("a schedule waits until there is room in the queue",
                      {{"schedule", schedule.name},
                       {"waiting", joined.full->waiting},
                       {"limit", joined.full->limit},
                       {"next", "it starts by itself then; impresario queue shows what holds the others"}});
        co_return;
    }
    put_off_.erase(schedule.id);
    if (planned.advance.due.cancel && !planned.executions.empty())
        for (const auto& execution : facts.running) {
            Happening cancel = Cancel{"schedule " + schedule.name, "its next run is due"};
            auto cancelling = node_.submit(execution, std::move(cancel), schedule.organization_id);
            co_await std::move(cancelling);
        }
    const bool led = hub_.leads();
    if (!led) co_return;
    using Created = std::optional<std::vector<domain::Execution>>;
    auto writing = node_.database().transact([this, epoch = hub_.epoch(), schedule, planned](Tx& tx) -> Created {
        SchedulerStore().fence(tx, epoch, node_.id());
        const auto started = ScheduleStore().advance(tx, schedule, planned.advance);
        // Somebody else has moved it.
        if (!started) return std::nullopt;
        std::vector<domain::Execution> created;
        IntakeItem item;
        for (const auto& each : planned.executions)
            if (started->contains(each.execution.id)) item.executions.push_back(each);
        if (item.executions.empty()) return created;
        return Intake(node_.id()).enqueue(tx, {item}).front().created;
    });
    bool in_doubt = false;
    std::optional<std::vector<domain::Execution>> moved;
    try {
        moved = co_await std::move(writing);
    } catch (const platform::DatabaseInDoubt&) {
        in_doubt = true;
    }
    if (moved) count(schedule, planned.advance.due.runs);
    const auto created = moved.value_or(std::vector<domain::Execution>{});
    // How far it has come is read again: this node is not the only one that changes it.
    reload();
    if (in_doubt && node_.on_in_doubt) node_.on_in_doubt();
    for (const auto& execution : created) {
        node_.probe().enqueued(execution.lane, 1);
        if (node_.on_row) node_.on_row(execution);
    }
    if (!created.empty()) hub_.wake();
}

void ScheduleRunner::count(const Schedule& schedule, const std::vector<schedules::Run>& runs) {
    const auto now = node_.clock().now();
    for (const auto& run : runs) {
        std::optional<domain::Duration> late;
        if (run.outcome == RunOutcome::started)
            late = std::max(now - schedules::starts_at(schedule, run.due), domain::Duration{0});
        node_.probe().schedule_run(name(run.outcome), late);
    }
}

steady_clock::duration ScheduleRunner::idle_for() const {
    const auto now = node_.clock().now();
    domain::Duration longest = kReload;
    if (!waiting_.empty()) longest = kLookForEnd;
    for (const auto& [id, schedule] : schedules_) {
        if (!schedule.enabled) continue;
        // What waits of one that has ended is looked after as it is above.
        if (!schedule.next_due) continue;
        auto next = schedules::starts_at(schedule, *schedule.next_due);
        if (schedule.pause) {
            if (!schedule.pause->until) continue;
            next = std::max(next, *schedule.pause->until);
        }
        if (const auto off = put_off_.find(id); off != put_off_.end()) next = std::max(next, off->second);
        longest = std::min(longest, std::max(next - now, domain::Duration{milliseconds{1}}));
    }
    return longest;
}

}
