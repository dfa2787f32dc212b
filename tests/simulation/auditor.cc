#include "simulation/auditor.h"

#include <algorithm>
#include <cmath>

#include "domain/limit_keys.h"
#include "domain/need_amounts.h"
#include "platform/crypto.h"
#include "simulation/process.h"
#include "simulation/transaction.h"
#include "simulation/world.h"

namespace impresario::simulation {

using domain::AttemptState;
using domain::Duration;
using domain::Execution;
using domain::ExecutionId;
using domain::Status;
using domain::TimePoint;
using orchestrator::Command;
using orchestrator::Decision;
using std::chrono::seconds;

namespace {

std::string short_id(const ExecutionId& id) { return id.text().substr(24); }

std::string shown(const Execution& row) {
    std::string text = std::string(name(row.status)) + " seq " + std::to_string(row.last_seq) + " opening " +
                       std::to_string(row.opening) + " failures " + std::to_string(row.retry_count) + "/" +
                       std::to_string(row.max_retries);
    if (row.attempt)
        text += " attempt " + std::to_string(row.attempts) + " " + std::string(name(row.attempt->state)) + " fence " +
                std::to_string(row.attempt->fence);
    if (row.ready) text += " ready";
    if (row.due_at) text += " due " + domain::rfc3339(*row.due_at).substr(11);
    if (row.timeout_at) text += " until " + domain::rfc3339(*row.timeout_at).substr(11);
    if (row.gate) text += " behind " + std::string(name(row.gate->kind));
    if (row.open_children > 0) text += " children " + std::to_string(row.open_children);
    if (!row.reason.empty()) text += " (" + row.reason + ")";
    return text;
}

bool is_outcome(std::string_view type) {
    return type == "execution.completed" || type == "execution.failed" || type == "execution.dead" ||
           type == "execution.cancelled";
}

/// The design's table, written down once more.
bool move_allowed(Status from, Status to) {
    static const std::map<Status, std::set<Status>> table{
        {Status::queued, {Status::analyzing, Status::dispatching, Status::cancelled}},
        {Status::analyzing, {Status::queued, Status::cancelled}},
        {Status::dispatching,
         {Status::running, Status::queued, Status::retrying, Status::completed, Status::failed, Status::dead,
          Status::cancelled}},
        {Status::running, {Status::completed, Status::failed, Status::retrying, Status::dead, Status::cancelled}},
        {Status::retrying, {Status::dispatching, Status::completed, Status::dead, Status::cancelled}},
        {Status::dead, {Status::queued, Status::completed}},
        {Status::failed, {Status::queued, Status::completed}},
    };
    const auto found = table.find(from);
    return found != table.end() && found->second.contains(to);
}

/// Everything that a refusal leaves as it was: all but the number of the event that tells of it.
bool same_but_seq(const Execution& a, const Execution& b) {
    return a.status == b.status && a.priority == b.priority && a.ready == b.ready && a.ready_at == b.ready_at &&
           a.due_at == b.due_at && a.timeout_at == b.timeout_at && a.completed_at == b.completed_at &&
           a.retry_count == b.retry_count && a.attempt == b.attempt && a.attempts == b.attempts &&
           a.opening == b.opening && a.open_children == b.open_children && a.reason == b.reason && a.cost == b.cost;
}

/// The waits of the design, by repeated doubling.
Duration naive_wait(const domain::RetryPolicy& policy, int failure) {
    if (failure <= static_cast<int>(policy.steps.size()))
        return std::min(policy.steps[static_cast<std::size_t>(failure - 1)], policy.cap);
    if (!policy.steps.empty()) return std::min(policy.base, policy.cap);
    double wait = static_cast<double>(policy.base.count());
    for (int i = 1; i < failure; ++i) wait *= policy.factor;
    return std::min(Duration{static_cast<std::int64_t>(std::min(wait, 1e15))}, policy.cap);
}

}

void Auditor::fail(std::string promise, const ExecutionId& id, const std::string& how) {
    world_.fail(std::move(promise), short_id(id) + ": " + how);
}

// Decisions

void Auditor::decided(const Execution& row, const Command& command, const orchestrator::Circumstances& at,
                      const Decision& decision) {
    if (decision.answer.problem == "illegal-move") fail("states", row.id, decision.answer.detail + ", " + shown(row));
    std::size_t outcomes = 0;
    std::size_t reopenings = 0;
    for (const auto& event : decision.events) {
        outcomes += is_outcome(event.type) ? 1 : 0;
        reopenings += event.type == "execution.reopened" ? 1 : 0;
    }
    if (!decision.changed) {
        if (!decision.events.empty() || !decision.closed.empty() || decision.result || decision.dead_letter)
            fail("P8", row.id, "something is written about a row that is not");
        return;
    }
    if (decision.ended != (outcomes == 1) || outcomes > 1)
        fail("P3", row.id, std::to_string(outcomes) + " outcomes of one decision, " + shown(row));
    if (outcomes == 1 && !terminal(decision.after.status)) fail("P3", row.id, "an outcome, but it goes on");
    if (decision.after.opening != row.opening + static_cast<int>(reopenings))
        fail("P3", row.id, "opened without being reopened");
    check_moves(row, command, decision);
    check_fences(row, command, decision);
    check_retries(row, at, decision);
}

void Auditor::check_moves(const Execution& row, const Command& command, const Decision& decision) {
    const auto& after = decision.after;
    const auto moved = [&](const std::string& what) {
        fail("P3", row.id, what + ": " + shown(row) + " -> " + shown(after));
    };
    if (terminal(row.status)) {
        const bool may = row.status == Status::dead || row.status == Status::failed;
        if (after.status == row.status) {
            const bool discarded = std::holds_alternative<orchestrator::Discard>(command.happening);
            Execution same = after;
            if (discarded) same.reason = row.reason;
            if (!same_but_seq(row, same)) moved("an ended execution was changed");
        } else if (!may || after.opening != row.opening + 1) {
            moved("an ended execution goes on without being reopened");
        }
    }
    if (after.status != row.status) {
        const bool by_way = (row.status == Status::queued || row.status == Status::retrying) &&
                            move_allowed(row.status, Status::dispatching) &&
                            (move_allowed(Status::dispatching, after.status) ||
                             (after.status == Status::running || after.status == Status::retrying));
        if (!move_allowed(row.status, after.status) && !by_way) moved("an illegal move");
    }
    if (row.attempt && (!after.attempt || after.attempt->id != row.attempt->id)) {
        const auto closes = std::count_if(decision.closed.begin(), decision.closed.end(),
                                          [&](const auto& each) { return each.attempt.id == row.attempt->id; });
        if (closes != 1) fail("P2", row.id, "its attempt was left behind without being closed");
    }
    if (row.attempt && after.attempt && after.attempt->id != row.attempt->id)
        fail("P2", row.id, "a second attempt while the first lives");
    if (const auto* passed = std::get_if<orchestrator::DeadlinePassed>(&command.happening))
        if (!row.attempt || row.attempt->id != passed->attempt || !row.timeout_at)
            fail("P3", row.id, "a deadline that it does not have has passed");
}

void Auditor::check_fences(const Execution& row, const Command& command, const Decision& decision) {
    const auto& after = decision.after;
    if (row.attempt && after.attempt && after.attempt->fence < row.attempt->fence)
        fail("P2", row.id, "its fence went back");
    const auto fenced = [&](const char* what) {
        if (!same_but_seq(row, after))
            fail("P2", row.id,
                 std::string(what) + " of a fenced node changes it: " + shown(row) + " -> " + shown(after));
    };
    const auto live = [&](const domain::AttemptId& attempt) { return row.attempt && row.attempt->id == attempt; };
    if (const auto* begun = std::get_if<orchestrator::SendingBegun>(&command.happening)) {
        if (!live(begun->attempt) || row.attempt->fence != begun->fence || row.attempt->node != begun->node)
            fenced("the sending");
    } else if (const auto* lost = std::get_if<orchestrator::LeaseLost>(&command.happening)) {
        if (!live(lost->attempt) || row.attempt->fence != lost->fence) fenced("the lost lease");
    } else if (const auto* never = std::get_if<orchestrator::NeverSent>(&command.happening)) {
        if (!live(never->attempt) || row.attempt->fence != never->fence) fenced("what was never sent");
    } else if (const auto* report = std::get_if<orchestrator::DeliveryReported>(&command.happening)) {
        // A result in an answer is worth what a callback is; who was taken for dead may still tell what others wait
        // to learn.
        const bool told = live(report->attempt) &&
                          (row.attempt->fence == report->fence ||
                           (row.attempt->state == AttemptState::unknown && row.attempt->fence == report->fence + 1));
        if (!told && !std::holds_alternative<webhooks::Done>(report->outcome)) fenced("the delivery");
    }
}

void Auditor::check_retries(const Execution& row, const orchestrator::Circumstances& at, const Decision& decision) {
    const auto& after = decision.after;
    if (after.opening != row.opening) return;
    if (after.retry_count < row.retry_count) fail("S04", row.id, "its count of failures went down");
    if (after.retry_count > row.retry_count + 1) fail("S04", row.id, "one failure counted twice");
    const bool failed = after.retry_count == row.retry_count + 1;
    if (failed && after.status == Status::retrying) {
        if (row.retry_count >= row.max_retries) fail("S04", row.id, "tried once more than it may: " + shown(after));
        if (!after.due_at) return fail("P7", row.id, "a retry without a time");
        const auto wait = *after.due_at - at.now;
        const auto base = at.type ? naive_wait(at.type->retry, after.retry_count) : Duration{0};
        const bool again_at_once = wait.count() == 0 && after.attempt;
        const auto least = Duration{static_cast<std::int64_t>(static_cast<double>(base.count()) * 1.0999)};
        const auto most = Duration{static_cast<std::int64_t>(static_cast<double>(base.count()) * 1.4001)};
        // A peer may ask for more than the policy's wait; those of this world ask for 8 s at most.
        if (!again_at_once && (wait < least || wait > std::max<Duration>(most, seconds{8})))
            fail("retry", row.id,
                 "waits " + domain::human(wait) + " after failure " + std::to_string(after.retry_count) +
                     " instead of " + domain::human(least) + " to " + domain::human(most));
    }
    static const std::set<std::string> spent{"attempts_exhausted", "timeout", "lost"};
    if (after.status == Status::dead && decision.ended && spent.contains(after.reason)) {
        const int used = failed ? row.retry_count : after.retry_count;
        if (used < row.max_retries)
            fail("S04", row.id, "given up with tries left: " + shown(row) + " -> " + shown(after));
    }
}

// Commits

void Auditor::begin(const Transaction& tx) {
    writer_ = tx.writer();
    if (!changed_.empty()) check_concurrency();
    changed_.clear();
}

void Auditor::inserted(const Execution& row) {
    if (world_.tables().executions.contains(row.id)) fail("constraint", row.id, "inserted twice");
    changed_.insert(row.id);
    if (row.parent)
        for (const auto& [id, other] : world_.tables().executions)
            if (other.parent == row.parent && other.parent_attempt == row.parent_attempt &&
                other.child_ordinal == row.child_ordinal)
                fail("constraint", row.id, "a second child of the same attempt");
    if (world_.traced())
        world_.tell("  " + short_id(row.id) + " " + row.lane.workflow_type + " priority " +
                    std::to_string(row.priority) + (row.concurrency_key.empty() ? "" : " key " + row.concurrency_key) +
                    ": " + shown(row));
}

void Auditor::written(const Execution& before, const Execution& after, const priority_queue::Columns& columns) {
    changed_.insert(after.id);
    if ((priority_queue::changed_columns(before, after) & ~columns).any())
        fail("P1", after.id, "a change that is not written: " + shown(before) + " -> " + shown(after));
    if (after.last_seq < before.last_seq) fail("P8", after.id, "its numbers went back");
    if (after.opening < before.opening || after.attempts < before.attempts)
        fail("P3", after.id, "its counts went back");
    if (after.opening == before.opening && terminal(before.status) && after.status != before.status)
        fail("P3", after.id, "an outcome was taken back: " + shown(before) + " -> " + shown(after));
    if (after.parent != before.parent || after.created_at != before.created_at ||
        after.concurrency_key != before.concurrency_key || after.need_amounts != before.need_amounts ||
        after.limit_keys != before.limit_keys)
        fail("constraint", after.id, "what never changes did");
    if (after.attempt) {
        auto& [execution, fence] = fences_.try_emplace(after.attempt->id, after.id, 0).first->second;
        if (execution != after.id) fail("P2", after.id, "an attempt of two executions");
        if (after.attempt->fence < fence) fail("P2", after.id, "its fence went back");
        fence = after.attempt->fence;
        if (world_.tables().attempts.contains({after.id, after.attempt->id}))
            fail("P2", after.id, "a closed attempt lives again");
        if (before.attempt && before.attempt->id != after.attempt->id &&
            !world_.tables().attempts.contains({before.id, before.attempt->id}) && before.attempts == after.attempts)
            fail("P2", after.id, "a second attempt while the first lives");
    }
    // A parent ends as its children do.
    const bool dropped = before.status != Status::cancelled && after.status == Status::cancelled &&
                         before.open_children == 0 && (after.reason == "shed" || after.reason == "expired");
    if (dropped) {
        if (!before.claimable()) fail("queue", after.id, "dropped while it was under way: " + shown(before));
        const auto* type = world_.tables().catalogue.find(after.lane);
        const auto ready_at = before.ready_at.value_or(before.created_at);
        if (after.reason == "expired" && (!type->queue_ttl || ready_at + *type->queue_ttl > world_.now()))
            fail("queue", after.id, "expired before its time: " + shown(before));
        if (after.reason == "shed" && !type->queue_hard_limit) fail("queue", after.id, "shed without a bound");
    }
    count_slots(before, after);
    if (world_.traced()) {
        std::string line = "  ";
        line += short_id(after.id);
        line += " ";
        line += shown(after);
        world_.tell(line);
    }
}

void Auditor::count_slots(const Execution& before, const Execution& after) {
    const auto count = [&](int by) {
        slots_[{after.lane, ""}] += by;
        if (!after.concurrency_key.empty()) slots_[{after.lane, after.concurrency_key}] += by;
        reserved_mb_ += by * world_.tables().catalogue.find(after.lane)->memory_mb.value_or(0);
    };
    // Whatever brought it there, a late callback as well.
    if (const auto& lock = world_.tables().catalogue.find(after.lane)->lock; !lock.empty()) {
        auto& holders = holders_[lock];
        if (!after.holds_slot()) holders.erase(after.id);
        if (after.holds_slot() && holders.insert(after.id).second && holders.size() > 1)
            fail("lock", after.id, "another one has its lock");
    }
    if (before.holds_slot() && !after.holds_slot() && granted_slots_.erase(after.id) > 0) count(-1);
    // A slot that a late callback brought back was not given by a plan.
    if (before.holds_slot() || !after.holds_slot() || after.status != Status::dispatching) return;
    granted_slots_.insert(after.id);
    count(1);
    const auto* type = world_.tables().catalogue.find(after.lane);
    auto& last = last_[after.lane];
    // What was granted before the other ended is not after it, whichever commits first.
    const auto soon = [&](const std::optional<domain::Duration>& length, const std::optional<TimePoint>& since) {
        return length && since && *since <= after.attempt->granted_at &&
               after.attempt->granted_at < *since + *length;
    };
    if (soon(type->execution_interval, last.started_at)) fail("pace", after.id, "started too soon after another");
    if (soon(type->cool_down, last.ended_at)) fail("pace", after.id, "started too soon after another ended");
    last.started_at = std::max(last.started_at, std::optional(after.attempt->granted_at));
    if (type->max_concurrency && slots_[{after.lane, ""}] > *type->max_concurrency)
        fail("P5", after.id, "one more at once than the lane may run");
    if (type->memory_mb && reserved_mb_ > world_.weather().memory_total_mb)
        fail("memory", after.id,
             "what was granted has " + std::to_string(reserved_mb_) + " MB of " +
                 std::to_string(world_.weather().memory_total_mb));
    if (!type->concurrency_key.empty() && !after.concurrency_key.empty() &&
        slots_[{after.lane, after.concurrency_key}] > type->concurrency_key_limit)
        fail("P5", after.id, "one more at once than its key may run");
}

void Auditor::closed(const webhooks::ClosedAttempt& attempt, TimePoint at) {
    // An end by SQL is known a little later (docs/limits.md).
    if (attempt.outcome != "sql") {
        auto& last = last_[world_.tables().executions.at(attempt.execution).lane];
        last.ended_at = std::max(last.ended_at, std::optional(at));
    }
    if (attempt.attempt.id.nil()) return fail("constraint", attempt.execution, "no attempt was closed");
    if (world_.tables().attempts.contains({attempt.execution, attempt.attempt.id}))
        fail("P2", attempt.execution, "an attempt was closed twice");
}

void Auditor::result(const priority_queue::ResultRecord& result) {
    const auto& row = world_.tables().executions.at(result.execution);
    if (result.opening > row.opening) fail("P3", result.execution, "a result of an opening that has not been");
}

void Auditor::event(const domain::Event& event) {
    world_.digest(static_cast<std::uint64_t>(event.seq) * 31 + std::hash<std::string>{}(event.type));
    if (event.kind != "execution") return;
    const ExecutionId id{event.stream};
    auto& stream = streams_[id];
    if (event.seq != stream.seq + 1)
        fail("P8", id, "event " + std::to_string(event.seq) + " after " + std::to_string(stream.seq));
    stream.seq = event.seq;
    if (is_outcome(event.type)) {
        if (!stream.open) fail("P3", id, "a second outcome: " + event.type);
        stream.open = false;
    }
    if (event.type == "execution.reopened") {
        if (stream.open) fail("P3", id, "reopened without having ended");
        stream.open = true;
    }
    if (world_.traced())
        world_.tell("    " + short_id(id) + " #" + std::to_string(event.seq) + " " + event.type + " " + event.payload);
}

void Auditor::booked(const resource_manager::Movement& movement, const resource_manager::LedgerEntry& entry,
                     const resource_manager::BudgetState& state, TimePoint now) {
    const auto& change = entry.change;
    if (world_.traced())
        world_.tell("    " + short_id(movement.execution) + " " + std::string(name(movement.kind)) + " " +
                    std::to_string(movement.ordinal) + " on " + state.budget.name + ": settled " +
                    domain::decimal(change.settled) + ", reserved " + domain::decimal(change.reserved) + ", suspense " +
                    domain::decimal(change.suspense));
    if ((entry.available + change.settled + change.reserved + change.suspense).value != 0)
        fail("P4", movement.execution, "an entry does not add up");
    for (const auto& each : state.windows)
        if (each.balance.settled.value < 0 || each.balance.reserved.value < 0 || each.balance.suspense.value < 0)
            fail("P4", movement.execution, "less than nothing is booked on " + state.budget.name);
    if (movement.kind != resource_manager::MovementKind::reserve || !state.budget.hard) return;
    const auto counted = state.counted(now).counted();
    if (counted > state.budget.limit)
        fail("P4", movement.execution,
             "granted beyond " + state.budget.name + ": " + domain::decimal(counted) + " of " +
                 domain::decimal(state.budget.limit));
}

void Auditor::leads(std::int64_t before, std::int64_t epoch, const domain::NodeId& node) {
    if (epoch == before) return;
    if (epoch != before + 1) world_.fail("R1", "the epoch jumped");
    for (const auto& process : world_.processes())
        if (process->id() == node) world_.tell(process->name() + " leads, epoch " + std::to_string(epoch));
}

void Auditor::commit() {
    for (const auto& id : changed_) {
        const auto& row = world_.tables().executions.at(id);
        check_row(row);
        auto& history = histories_[id];
        history.changed_at = world_.now();
        history.versions.push_back(row);
        const auto& stream = streams_[id];
        if (stream.seq != row.last_seq)
            fail("P8", id,
                 "the row is at event " + std::to_string(row.last_seq) + ", its stream at " +
                     std::to_string(stream.seq));
        if (stream.open == terminal(row.status)) fail("P3", id, "its events and its status disagree: " + shown(row));
    }
    changed_.clear();
}

/// The constraints of migrations/0003, and what a scheduler that starts from the tables relies on.
void Auditor::check_row(const Execution& row) {
    const auto wrong = [&](const char* what) { fail("constraint", row.id, std::string(what) + ": " + shown(row)); };
    if (row.ready && row.due_at) wrong("ready and due");
    if (row.ready && row.status != Status::queued && row.status != Status::retrying) wrong("ready, but does not wait");
    if (terminal(row.status) && (row.attempt || row.due_at)) wrong("ended with an attempt or a time");
    if (row.retry_count < 0 || row.max_retries < 0) wrong("negative count");
    if (row.duration_ms && *row.duration_ms < 0) wrong("negative duration");
    if (row.cost && row.cost->value < 0) wrong("negative cost");
    if (row.holds_slot() != row.timeout_at.has_value()) wrong("a slot and a deadline belong together");
    if (row.claimable() && !row.ready && !row.gate && !row.awaits_decision()) wrong("claimable, but in no index");
    if (row.attempt && row.attempt->state == AttemptState::closed) wrong("a closed attempt in the row");
    if (!terminal(row.status) && !row.claimable() && !row.due_at && !row.holds_slot() && row.open_children == 0)
        wrong("nothing will ever move it");
}

const Execution* Auditor::version(const ExecutionId& id, int seq) const {
    const auto found = histories_.find(id);
    if (found == histories_.end()) return nullptr;
    const auto& versions = found->second.versions;
    for (auto at = versions.rbegin(); at != versions.rend(); ++at)
        if (at->last_seq == seq) return &*at;
    return nullptr;
}

// Plans

void Auditor::planned(const orchestrator::PlanInput& input, TimePoint now, const orchestrator::Plan& plan) {
    ++world_.report().plans;
    struct Candidate {
        const orchestrator::LaneView* lane;
        const Execution* row;
        bool starving;
        priority_queue::Score score;
        TimePoint ready_at;
    };
    std::vector<Candidate> candidates;
    const auto candidate = [&](const orchestrator::LaneView& lane, const Execution& row) {
        const auto ready_at = row.ready_at.value_or(row.created_at);
        candidates.push_back({&lane, &row, ready_at < now - lane.max_wait,
                              priority_queue::score(row.priority, row.created_at, now), ready_at});
    };
    for (const auto& lane : input.lanes) {
        if (input.newcomer && input.newcomer->lane == lane.lane) candidate(lane, *input.newcomer);
        for (const auto& [id, current] : world_.tables().executions) {
            if (current.lane != lane.lane) continue;
            const auto seq = lane.order->seq_of(id);
            if (!seq) continue;
            const auto* row = version(id, *seq);
            if (!row || !row->claimable()) {
                fail("P6", id, "waits in memory at " + std::to_string(*seq) + " and never did in the table");
                continue;
            }
            candidate(lane, *row);
        }
    }
    std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
        if (a.starving != b.starving) return a.starving;
        if (a.starving) return std::tie(a.ready_at, a.row->id) < std::tie(b.ready_at, b.row->id);
        if (a.score != b.score) return a.score > b.score;
        return std::tie(a.row->created_at, a.row->id) < std::tie(b.row->created_at, b.row->id);
    });
    const auto head_of = [](const Candidate& each) {
        priority_queue::Cursor::Candidate head{
            each.row->id, each.row->priority, each.row->created_at, each.ready_at, nullptr, each.starving, each.score};
        if (!each.row->concurrency_key.empty()) head.key = &each.row->concurrency_key;
        head.size_class = each.row->size_class;
        if (!each.row->need_amounts.empty()) head.need_amounts = &each.row->need_amounts;
        if (!each.row->limit_keys.empty()) head.limit_keys = &each.row->limit_keys;
        if (each.row->batch) head.batch = &*each.row->batch;
        return head;
    };
    auto admission = input.admission;
    // A provider that is only tried is tried by the least that any open lane's first asks; who waits behind his key is
    // not the first.
    auto held = input.admission;
    const auto behind_key = [&](const domain::Demand& demand, const orchestrator::LaneView& lane) {
        // Whoever does not fit by his key holds those with the same key behind him.
        if (!demand.starving && held.behind_key(demand, lane.key_shares, now)) return true;
        auto asked = input.admission;
        return std::any_of(lane.limiters.begin(), lane.limiters.end(), [&](std::size_t place) {
            const auto verdict = asked.admit(demand, {place}, now);
            const auto* deferred = std::get_if<resource_manager::Deferred>(&verdict);
            return deferred && (deferred->gate.kind == domain::GateKind::key_concurrency ||
                                deferred->gate.kind == domain::GateKind::key_limit);
        });
    };
    std::set<const orchestrator::LaneView*> offered;
    std::set<const orchestrator::LaneView*> headed;
    std::set<const orchestrator::LaneView*> closed;
    for (const auto& each : candidates) {
        if (offered.contains(each.lane) || each.lane->order->holds(each.row->id)) continue;
        const auto asked = each.lane->demand(head_of(each));
        if (behind_key(asked, *each.lane)) {
            // One that starves is asked about in its turn: its lane is open until then.
            if (each.starving) headed.insert(each.lane);
            continue;
        }
        offered.insert(each.lane);
        const bool first = headed.insert(each.lane).second;
        // What its first lacks holds the lane, whatever is kept of that for others later in the turn (protocol R15).
        if (!each.starving && input.admission.closed(asked, each.lane->limiters, now)) {
            if (first) closed.insert(each.lane);
            continue;
        }
        admission.offer(asked, each.lane->limiters);
    }
    // Whose turn it is by shares, and what guarantees leave for others as they are met within the turn, is not written
    // down once more here: then none is overtaken in its lane, by one that is stopped by nothing else than it is.
    const auto guarantees = [&] {
        for (const auto& provider : world_.tables().providers)
            for (const auto& limit : provider.limits)
                if (limit.guaranteed > 0) return true;
        return false;
    };
    if (input.shares || guarantees()) {
        std::set<ExecutionId> granted;
        for (const auto& each : plan.grants) granted.insert(each.execution);
        const auto stopped_alike = [](const Candidate& a, const Candidate& b) {
            return a.lane == b.lane && a.row->concurrency_key == b.row->concurrency_key &&
                   a.row->limit_keys == b.row->limit_keys && a.row->need_amounts == b.row->need_amounts &&
                   a.row->size_class == b.row->size_class && a.row->batch == b.row->batch;
        };
        for (auto each = candidates.begin(); each != candidates.end(); ++each) {
            if (each->lane->order->holds(each->row->id)) {
                auto asked = input.admission;
                const auto verdict = asked.admit(each->lane->demand(head_of(*each)), each->lane->limiters, now);
                if (std::holds_alternative<resource_manager::Granted>(verdict))
                    fail("P6", each->row->id, "is held, and nothing stops it");
                continue;
            }
            if (granted.contains(each->row->id)) continue;
            // What this turn has granted of a batch's money was the last of it: those that the next of the batch hides
            // with its key are seen next turn, when the batch is held.
            const bool hidden = std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& other) {
                return other.lane == each->lane && other.row->concurrency_key == each->row->concurrency_key &&
                       !other.row->concurrency_key.empty() && other.row->batch && !granted.contains(other.row->id);
            });
            if (hidden) continue;
            for (auto later = each + 1; later != candidates.end(); ++later)
                if (granted.contains(later->row->id) && stopped_alike(*each, *later))
                    fail("P6", each->row->id, "is overtaken by " + short_id(later->row->id) + " of its lane");
        }
        return check_openings(input, plan);
    }
    std::vector<orchestrator::PlannedGrant> grants;
    std::optional<std::size_t> sure;
    bool more = false;
    for (const auto& each : candidates) {
        if (closed.contains(each.lane)) continue;
        const auto demand = each.lane->demand(head_of(each));
        if (each.lane->order->holds(each.row->id)) {
            auto asked = admission;
            if (std::holds_alternative<resource_manager::Granted>(asked.admit(demand, each.lane->limiters, now)))
                fail("P6", each.row->id, "is held, and nothing stops it");
            continue;
        }
        const auto verdict = admission.admit(demand, each.lane->limiters, now);
        if (const auto* granted = std::get_if<resource_manager::Granted>(&verdict)) {
            if (static_cast<int>(grants.size()) >= input.most) {
                more = true;
                break;
            }
            grants.push_back({each.row->id, each.lane->lane, granted->endpoint});
        } else if (std::get<resource_manager::Deferred>(verdict).whole_lane) {
            closed.insert(each.lane);
        } else if (std::get<resource_manager::Deferred>(verdict).gate.kind == domain::GateKind::budget) {
            // What this turn has granted of its batch's money was the last of it. Those that it hides with its key are
            // seen next turn, when the batch is held.
            sure = grants.size();
            break;
        }
    }
    const auto told = [&](std::size_t i, const std::vector<orchestrator::PlannedGrant>& of) {
        return i < of.size() ? short_id(of[i].execution) : std::string("nothing");
    };
    for (std::size_t i = 0; i < sure.value_or(std::max(grants.size(), plan.grants.size())); ++i) {
        const bool same = i < grants.size() && i < plan.grants.size() &&
                          grants[i].execution == plan.grants[i].execution &&
                          grants[i].endpoint == plan.grants[i].endpoint && grants[i].lane == plan.grants[i].lane;
        if (same) continue;
        world_.fail("P6", "grant " + std::to_string(i + 1) + " of the plan is " + told(i, plan.grants) +
                              ", by the promise it is " + told(i, grants));
        break;
    }
    if (more && !plan.more) world_.fail("P6", "there is more that could go, and the plan does not say so");
    check_openings(input, plan);
}

void Auditor::check_openings(const orchestrator::PlanInput& input, const orchestrator::Plan& plan) {
    for (const auto& [lane, gate] : plan.gates) {
        if (!gate || !gate->opens_at) continue;
        if (!plan.next_opening || *plan.next_opening > *gate->opens_at)
            world_.fail("P7", "the plan forgets when a gate of " + lane.workflow_type + " opens");
    }
    for (auto& process : world_.processes()) {
        const auto* board = process->hub().board();
        if (!board || input.lanes.empty()) continue;
        if (board->order(input.lanes.front().lane) != input.lanes.front().order) continue;
        compare(*process, *board);
    }
}

void Auditor::compare(Process& scheduler, const orchestrator::Board& board) {
    int in_use = 0;
    for (const auto& lane : board.lanes()) in_use += board.in_use(lane);
    if (static_cast<std::size_t>(in_use) != board.live())
        world_.fail("slots", std::to_string(in_use) + " slots are in use by " + std::to_string(board.live()));
    // The rest only now and then, and only about what has been still long enough to be known.
    if (world_.now() - compared_at_ < seconds{1} || world_.leader() != &scheduler) return;
    compared_at_ = world_.now();
    const Duration patience = world_.healed() ? seconds{4} : seconds{10};
    const auto still_since = world_.now() - patience;
    if (scheduler.well_since() > still_since || world_.trouble_until() > still_since) return;
    std::map<ExecutionId, orchestrator::Board::LiveView> live;
    for (const auto& each : board.live_views(100000)) live.emplace(each.id, each);
    const auto left_out = board.put_off();
    for (const auto& [id, row] : world_.tables().executions) {
        if (histories_.at(id).changed_at > still_since) continue;
        const auto* order = board.order(row.lane);
        const bool waits = order && order->contains(id);
        const bool runs = live.contains(id);
        if (std::find(left_out.begin(), left_out.end(), id) != left_out.end()) continue;
        const auto differ = [&](const char* promise, const char* what) {
            fail(promise, id, std::string(what) + " for " + domain::human(patience) + ": " + shown(row));
        };
        if (row.claimable() && !row.awaits_decision() && !waits)
            differ("P7", "ready, and the scheduler has not known it");
        if (waits && !row.claimable()) differ("P6", "waits in memory, though it does not in the table,");
        if (waits && order->seq_of(id) != row.last_seq) differ("P6", "known as it was before its last change");
        if (row.holds_slot() && !runs) differ("slots", "holds a slot that the scheduler has not counted");
        if (runs && !row.holds_slot()) differ("slots", "the scheduler has counted a slot that it does not hold");
    }
}

// Peers

void Auditor::asked(const Process& by, const ExecutionId& execution, const domain::AttemptId& attempt) {
    const auto& t = world_.tables();
    const auto row = t.executions.find(execution);
    const bool known = row != t.executions.end() && ((row->second.attempt && row->second.attempt->id == attempt) ||
                                                     t.attempts.contains({execution, attempt}));
    if (!known) return fail("P2", execution, by.name() + " sends an attempt that was never committed");
    check_limits(row->second);
}

void Auditor::check_limits(const Execution& row) {
    using resource_manager::LimitScope;
    using resource_manager::WindowKind;
    const auto* type = world_.tables().catalogue.find(row.lane);
    const auto needs = domain::with_amounts(type->needs, row.need_amounts);
    for (const auto& need : needs)
        for (const auto& provider : world_.tables().providers) {
            if (provider.name != need.provider) continue;
            for (const auto& limit : provider.limits) {
                if (limit.of != resource_manager::Measure::requests) continue;
                const std::string subject = limit.scope == LimitScope::global ? std::string{} : row.lane.text();
                check_arrivals(row, provider.name, limit, subject, need.calls);
                if (!limit.keyed()) continue;
                auto of_key = limit;
                of_key.limit = of_key.burst = limit.ceiling;
                if (limit.kind == WindowKind::token_bucket) of_key.kind = WindowKind::sliding_window;
                check_arrivals(row, provider.name, of_key,
                               subject + " key " + domain::limit_key(row.limit_keys, limit.pointer()), need.calls);
            }
        }
}

void Auditor::check_arrivals(const Execution& row, const std::string& provider,
                             const resource_manager::ProviderLimit& limit, const std::string& subject,
                             std::int64_t calls) {
    using resource_manager::WindowKind;
    const auto now = world_.now();
    auto& came = arrivals_[{provider, limit.name, subject}];
    came.emplace_back(now, calls);
    std::int64_t most = limit.limit;
    std::int64_t used = 0;
    if (limit.kind == WindowKind::token_bucket) {
        // Whatever the moment that it is counted from: burst and what was refilled since.
        double worst = 0;
        std::int64_t sum = 0;
        for (auto at = came.rbegin(); at != came.rend(); ++at) {
            sum += at->second;
            const double refilled = static_cast<double>((now - at->first).count()) * static_cast<double>(limit.limit) /
                                    static_cast<double>(limit.per.count());
            worst = std::max(worst, static_cast<double>(sum) - refilled);
        }
        most = limit.burst;
        used = static_cast<std::int64_t>(worst - 0.001);
        if (worst > static_cast<double>(limit.burst) + 0.001) used = limit.burst + 1;
    } else {
        for (const auto& [at, asked] : came) {
            const bool together = limit.kind == WindowKind::sliding_window
                                      ? at > now - limit.per
                                      : at.time_since_epoch() / limit.per == now.time_since_epoch() / limit.per;
            if (together) used += asked;
        }
    }
    if (used > most)
        fail("P5", row.id,
             "request " + std::to_string(used) + " of " + std::to_string(most) + " to " + provider + " (" + limit.name +
                 ", " + std::string(name(limit.kind)) + (subject.empty() ? "" : ", " + subject) + ")");
}

void Auditor::check_concurrency() {
    using resource_manager::LimitScope;
    for (const auto& provider : world_.tables().providers)
        for (const auto& limit : provider.limits) {
            if (limit.of != resource_manager::Measure::concurrency) continue;
            std::map<std::string, std::int64_t> running;
            for (const auto& [id, row] : world_.tables().executions) {
                if (!row.holds_slot()) continue;
                const std::string subject = limit.scope == LimitScope::global ? std::string{} : row.lane.text();
                for (const auto& need : world_.tables().catalogue.find(row.lane)->needs) {
                    if (need.provider != provider.name) continue;
                    if (++running[subject] > limit.limit)
                        fail("P5", id, "more than " + std::to_string(limit.limit) + " at once with " + provider.name);
                    if (!limit.keyed()) continue;
                    const auto key = domain::limit_key(row.limit_keys, limit.pointer());
                    if (++running[subject + " key " + key] > limit.ceiling)
                        fail("P5", id,
                             "more than " + std::to_string(limit.ceiling) + " at once with " + provider.name +
                                 " of key " + key);
                }
            }
        }
}

void Auditor::started(const ExecutionId& execution, const domain::AttemptId& attempt,
                      const domain::EndpointId& endpoint) {
    auto& at = starts_[attempt];
    if (!at.empty())
        fail("P2", execution,
             at.contains(endpoint) ? "the same attempt was started twice"
                                   : "the same attempt was started at two endpoints");
    at.insert(endpoint);
}

void Auditor::answered(const ExecutionId& execution, const domain::AttemptId& attempt, const std::string& body,
                       int status, const orchestrator::Answer& answer) {
    if (status != 200 && status != 409)
        return fail("P3", execution, "a callback is answered " + std::to_string(status) + " " + answer.problem);
    const bool final_word = body.find("\"running\"") == std::string::npos;
    if (status != 200 || !final_word) return;
    const auto closed = world_.tables().attempts.find({execution, attempt});
    const std::string sha(platform::view(platform::sha256(body)));
    if (closed == world_.tables().attempts.end() || closed->second.callback_sha256 != sha)
        return fail("P3", execution, "a callback was answered with yes and is not recorded: " + body);
    const auto [word, first] = taken_words_.try_emplace(attempt, body);
    if (!first && word->second != body)
        fail("P3", execution, "two callbacks that contradict each other were both taken");
    const bool replayed = answer.body.find("\"replayed\":true") != std::string::npos;
    (void)replayed;
}

// The end

void Auditor::end() {
    const auto& t = world_.tables();
    for (const auto& [id, row] : t.executions) {
        if (!terminal(row.status)) fail("P7", id, "has not ended: " + shown(row));
        if (row.open_children > 0) fail("R12", id, "has ended and still waits for children");
        const bool dead = row.status == Status::dead;
        if (dead && !t.letters.contains({id, row.opening})) fail("P3", id, "is dead without a dead letter");
        const auto result = t.results.find({id, row.opening});
        if (row.status == Status::completed && result == t.results.end()) fail("P3", id, "completed without a result");
        std::int64_t spent = 0;
        for (auto at = t.usage.lower_bound({id, ""}); at != t.usage.end() && at->first.first == id; ++at)
            spent += at->second.cost ? at->second.cost->value : 0;
        if (spent != (row.cost ? row.cost->value : 0))
            fail("cost", id,
                 "cost " + std::to_string(row.cost ? row.cost->value : 0) + ", of which " + std::to_string(spent) +
                     " is booked");
    }
    for (const auto& [attempt, account] : t.accounts)
        for (const auto& holding : account.holdings())
            if (holding.balance.reserved.value != 0 || holding.balance.suspense.value != 0)
                world_.fail("P4",
                            "attempt " + attempt.text().substr(24) + " still holds money, and everything has ended");
    // What an attempt says it has cost is what is settled.
    for (const auto& [key, closed] : t.attempts) {
        const auto account = t.accounts.find(key.second);
        if (account == t.accounts.end() || closed.callback_sha256.empty() || !closed.attempt.cost) continue;
        for (const auto& state : t.budgets) {
            const auto& scope = state.budget.scope;
            if (!scope.provider.empty() || !scope.workflow_type.empty() || scope.batch) continue;
            domain::MicroUsd settled;
            for (const auto& holding : account->second.holdings())
                if (holding.budget == state.budget.id) settled = settled + holding.balance.settled;
            if (settled != *closed.attempt.cost)
                fail("P4", key.first,
                     "cost " + domain::decimal(*closed.attempt.cost) + " and " + domain::decimal(settled) +
                         " is settled on " + state.budget.name);
        }
    }
    if (!granted_slots_.empty()) fail("slots", *granted_slots_.begin(), "has ended and holds a slot");
    if (auto* leader = world_.leader(); leader && leader->hub().board()) {
        const auto& board = *leader->hub().board();
        if (board.live() != 0 || board.waiting() != 0)
            world_.fail("slots", std::to_string(board.live()) + " live and " + std::to_string(board.waiting()) +
                                     " waiting in memory, and everything has ended; live is " +
                                     (board.live() > 0 ? short_id(board.live_views(1).front().id) : "nothing"));
        for (const auto& lane : board.lanes())
            if (board.in_use(lane) != 0) world_.fail("slots", lane.workflow_type + " still has slots in use");
        if (board.next_deadline()) world_.fail("P7", "a deadline is left over");
    }
}

}
