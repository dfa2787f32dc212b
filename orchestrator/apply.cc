#include "orchestrator/apply.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "journal/event_store.h"
#include "orchestrator/queued_event.h"
#include "platform/json_text.h"
#include "platform/json_writer.h"

namespace impresario::orchestrator {

using domain::ExecutionId;
using platform::JsonWriter;
using platform::Tx;

namespace {

using AttemptKey = std::pair<ExecutionId, domain::AttemptId>;

/// The attempt a command is about, where that may be a closed one.
std::optional<domain::AttemptId> attempt_asked_about(const Command& command) {
    if (const auto* received = std::get_if<CallbackReceived>(&command.happening)) return received->attempt;
    if (const auto* late = std::get_if<AcceptLate>(&command.happening)) return late->attempt;
    if (const auto* report = std::get_if<DeliveryReported>(&command.happening))
        if (std::holds_alternative<webhooks::Done>(report->outcome)) return report->attempt;
    return std::nullopt;
}

const subworkflows::WorkflowType* type_of(const Command& command, const domain::Execution& row) {
    return command.catalogue ? command.catalogue->find(row.lane) : nullptr;
}

/// The parent's context with a note of which items the child is about.
std::string child_context(const std::string& parent_context, const ExecutionId& parent, const std::string& item_keys) {
    JsonWriter json;
    json.open();
    if (!parent_context.empty() && platform::json_type(parent_context) == platform::JsonType::object)
        for (const auto& member : platform::json_members(parent_context))
            if (member.key != "retry_items" && member.key != "retry_of") json.raw(member.key, member.value);
    json.field("retry_of", parent.text()).raw("retry_items", item_keys);
    json.close();
    return std::move(json).text();
}

}

namespace {
/// What it has come to, for those who only watch.
void note(const domain::Execution& before, const Decision& decision, domain::TimePoint now, Reply& reply) {
    const auto& after = decision.after;
    for (const auto& closed : decision.closed)
        reply.over.push_back({closed.execution, before.lane, closed.opening, closed.attempt.id, closed.attempt.number,
                              closed.attempt.granted_at, closed.outcome, closed.detail, before.timeout_at});
    auto& counts = reply.counts;
    if (decision.ended) counts.ended.push_back({before.lane, after.status, after.duration_ms, after.items_processed});
    const bool again = std::any_of(decision.events.begin(), decision.events.end(), [](const domain::Event& event) {
        return event.type == domain::event::retrying;
    });
    if (again && after.due_at)
        counts.retries.push_back({before.lane, after.reason, std::max(*after.due_at - now, domain::Duration{0})});
    for (const auto& each : decision.usage)
        counts.used.push_back({before.lane, each.resource_type, each.provider, each.amount, each.cost});
}
}

void Applier::write(Tx& tx, std::vector<Decision>& decisions) const {
    const priority_queue::QueueStore queue;
    const webhooks::AttemptStore attempts;
    std::map<ExecutionId, const domain::Execution*> rows;
    priority_queue::Columns columns;
    std::vector<domain::Event> events;
    std::vector<webhooks::ClosedAttempt> closed;
    std::vector<webhooks::ClosedAttempt> amended;
    std::map<std::pair<ExecutionId, int>, priority_queue::ResultRecord> results;
    std::vector<priority_queue::DeadLetter> dead;
    std::vector<webhooks::DeliveryRecord> deliveries;
    std::vector<webhooks::RefusedCallback> refused;
    std::vector<resource_manager::UsageRecord> usage;
    std::vector<resource_manager::UsageCharge> charges;
    std::vector<resource_manager::PermitRecord> permits;
    std::vector<resource_manager::ProviderStore::Unsent> unsent;
    const auto move_into = [](auto& from, auto& into) {
        std::move(from.begin(), from.end(), std::back_inserter(into));
    };

    for (auto& decision : decisions) {
        if (decision.changed) {
            rows[decision.after.id] = &decision.after;
            columns |= decision.columns;
        }
        move_into(decision.events, events);
        move_into(decision.closed, closed);
        move_into(decision.amended, amended);
        move_into(decision.deliveries, deliveries);
        move_into(decision.refused, refused);
        move_into(decision.usage, usage);
        move_into(decision.charges, charges);
        move_into(decision.permits, permits);
        if (decision.unsent) unsent.push_back(*decision.unsent);
        if (decision.result) results[{decision.result->execution, decision.result->opening}] = *decision.result;
        if (decision.dead_letter) dead.push_back(*decision.dead_letter);
    }

    std::vector<const domain::Execution*> changed;
    for (const auto& [id, row] : rows) changed.push_back(row);
    queue.write(tx, changed, columns);
    journal::EventStore().append(tx, events, node_);
    attempts.close(tx, closed);
    attempts.amend(tx, amended);
    attempts.log_deliveries(tx, deliveries);
    attempts.keep_refused(tx, refused);
    std::vector<priority_queue::ResultRecord> result_list;
    for (auto& [key, result] : results) result_list.push_back(std::move(result));
    queue.write_results(tx, result_list);
    priority_queue::DeadLetterStore().add(tx, dead);
    resource_manager::UsageStore().record(tx, usage);
    const resource_manager::ProviderStore providers;
    providers.charge(tx, permits);
    providers.give_back(tx, unsent);
    providers.charge_usage(tx, charges);
    for (auto& decision : decisions) {
        // The resolution keeps the old input, so it comes before the new one.
        if (decision.resolution) priority_queue::DeadLetterStore().resolve(tx, *decision.resolution);
        if (decision.new_input) queue.write_input(tx, decision.after.id, *decision.new_input);
    }
}

std::vector<Reply> Applier::apply(Tx& tx, const std::vector<Command>& commands) const {
    const priority_queue::QueueStore queue;
    const webhooks::AttemptStore attempts;

    std::set<ExecutionId> wanted;
    for (const auto& command : commands) wanted.insert(command.execution);
    std::map<ExecutionId, domain::Execution> rows;
    domain::TimePoint now;
    auto locked_rows = queue.lock(tx, {wanted.begin(), wanted.end()});
    for (auto& locked : locked_rows.rows) {
        now = locked.now;
        const auto id = locked.execution.id;
        rows.emplace(id, std::move(locked.execution));
    }
    const std::set<ExecutionId> held(locked_rows.held.begin(), locked_rows.held.end());

    // Closed attempts that are asked about; those closed in this very batch are added as it goes.
    std::map<AttemptKey, webhooks::FoundAttempt> found;
    std::set<AttemptKey> asked;
    for (const auto& command : commands) {
        const auto attempt = attempt_asked_about(command);
        const auto row = rows.find(command.execution);
        if (attempt && row != rows.end() && (!row->second.attempt || row->second.attempt->id != *attempt))
            asked.insert({command.execution, *attempt});
    }
    if (!asked.empty())
        for (auto& each : attempts.find(tx, {asked.begin(), asked.end()})) {
            const AttemptKey key{each.execution, each.id};
            found.emplace(key, std::move(each));
        }

    std::vector<Reply> replies(commands.size());
    std::vector<bool> changed(commands.size());
    std::vector<Decision> decisions;
    // Each may bring its delivery with it.
    decisions.reserve(2 * commands.size());
    std::set<ExecutionId> parents;
    for (std::size_t i = 0; i < commands.size(); ++i) {
        const Command& command = commands[i];
        Reply& reply = replies[i];
        const auto row = rows.find(command.execution);
        const bool callback = std::holds_alternative<CallbackReceived>(command.happening);
        if (held.contains(command.execution)) {
            reply.held = true;
            if (std::holds_alternative<ChildrenEnded>(command.happening)) reply.unsettled.push_back(command.execution);
            reply.answer = {
                503, "held", "another transaction holds this execution; nothing was changed, try again", {}};
            continue;
        }
        if (row == rows.end() ||
            (command.organization_id && *command.organization_id != row->second.lane.organization_id)) {
            reply.answer = callback ? Answer{401, "unauthorized", "unknown execution or wrong token", {}}
                                    : Answer{404, "not-found", "there is no such execution", {}};
            continue;
        }
        if (std::holds_alternative<ChildrenEnded>(command.happening)) {
            parents.insert(command.execution);
            continue;
        }
        const auto decide_one = [&](const Command& asked_for) {
            Circumstances circumstances;
            circumstances.type = type_of(asked_for, row->second);
            circumstances.now = now;
            circumstances.unit = asked_for.unit;
            circumstances.budgets = budgets_;
            if (const auto attempt = attempt_asked_about(asked_for))
                if (const auto at = found.find({asked_for.execution, *attempt}); at != found.end())
                    circumstances.found = at->second;

            Decision decision = decide(row->second, asked_for, circumstances);
            reply.answer = decision.answer;
            if (decision.endpoint) reply.endpoint = decision.endpoint;
            if (decision.consumed) reply.consumed = decision.consumed;
            std::move(decision.providers.begin(), decision.providers.end(), std::back_inserter(reply.providers));
            if (!decision.charges.empty()) reply.tells_usage = true;
            if (decision.cancelled_peer) reply.cancelled_peers.push_back(*decision.cancelled_peer);
            note(row->second, decision, now, reply);
            for (const auto& closed : decision.closed)
                found[{closed.execution, closed.attempt.id}] = {
                    closed.execution, closed.attempt.id,      closed.attempt.number,  closed.opening,
                    closed.outcome,   closed.callback_sha256, closed.callback_answer, closed.attempt.cost};
            for (const auto& amended : decision.amended) {
                auto& known = found[{amended.execution, amended.attempt.id}];
                known.outcome = amended.outcome;
                known.callback_sha256 = amended.callback_sha256;
                known.callback_answer = amended.callback_answer;
                known.cost = amended.attempt.cost;
            }
            if (decision.changed) {
                decision.columns = priority_queue::changed_columns(row->second, decision.after);
                row->second = decision.after;
                changed[i] = true;
            }
            if (decision.ended && row->second.parent) parents.insert(*row->second.parent);
            if (decision.ended && row->second.open_children > 0) parents.insert(asked_for.execution);
            decisions.push_back(std::move(decision));
        };
        if (command.delivery)
            decide_one({command.execution, *command.delivery, command.unit, command.catalogue, std::nullopt});
        decide_one(command);
    }
    // A later command of the batch may have changed the row again: everyone is told how it is in the end.
    for (std::size_t i = 0; i < commands.size(); ++i)
        if (changed[i]) replies[i].after = rows.at(commands[i].execution);

    std::vector<priority_queue::NewExecution> children;
    std::vector<domain::Event> child_events;
    for (auto& decision : decisions) {
        if (!decision.child) continue;
        auto payload = queue.payload(tx, decision.after.id);
        auto& child = decision.child->execution;
        child.id = ids_.make<ExecutionId>(now);
        child_events.push_back(queued_event(child));
        children.push_back({child, std::move(payload.input),
                            child_context(payload.context, decision.after.id, decision.child->item_keys),
                            std::move(payload.trace_context)});
    }
    write(tx, decisions);
    queue.insert(tx, children);
    journal::EventStore().append(tx, child_events, node_);

    Money money;
    std::vector<LaneTimes> times;
    for (auto& decision : decisions) {
        std::move(decision.money.begin(), decision.money.end(), std::back_inserter(money));
        if (decision.lane_times) times.push_back(*decision.lane_times);
    }
    const auto* catalogue = commands.empty() ? nullptr : commands.front().catalogue.get();
    Reply family = settle_parents(tx, std::move(parents), catalogue, money, times);
    LaneTimesStore().note(tx, times);
    // After all executions and once (ledger_store.h).
    resource_manager::LedgerStore().record(tx, money);
    for (auto& child : children) family.others.push_back(std::move(child.execution));
    if (!replies.empty()) {
        Reply& first = replies.front();
        first.others = std::move(family.others);
        std::move(family.unsettled.begin(), family.unsettled.end(), std::back_inserter(first.unsettled));
        std::move(family.over.begin(), family.over.end(), std::back_inserter(first.over));
        const auto add = [](auto& from, auto& to) { std::move(from.begin(), from.end(), std::back_inserter(to)); };
        add(family.counts.ended, first.counts.ended);
        add(family.counts.retries, first.counts.retries);
        add(family.counts.used, first.counts.used);
        std::move(family.cancelled_peers.begin(), family.cancelled_peers.end(),
                  std::back_inserter(first.cancelled_peers));
    }
    return replies;
}

/// Children before parents, level by level: a parent may be a child itself, and a child whose parent has ended is
/// cancelled with its own children.
Reply Applier::settle_parents(Tx& tx, std::set<ExecutionId> parents, const subworkflows::Catalogue* catalogue,
                              Money& money, std::vector<LaneTimes>& times) const {
    const priority_queue::QueueStore queue;
    Reply reply;
    while (!parents.empty()) {
        std::set<ExecutionId> next;
        const std::vector<ExecutionId> ids(parents.begin(), parents.end());
        const auto locked = queue.lock(tx, ids);
        reply.unsettled.insert(reply.unsettled.end(), locked.held.begin(), locked.held.end());
        std::map<ExecutionId, std::vector<priority_queue::ChildResult>> by_parent;
        for (auto& child : queue.children(tx, ids)) {
            const auto parent = child.parent;
            by_parent[parent].push_back(std::move(child));
        }
        std::vector<std::pair<ExecutionId, int>> of;
        for (const auto& parent : locked.rows) of.emplace_back(parent.execution.id, parent.execution.opening);
        std::map<ExecutionId, priority_queue::ResultRecord> own;
        for (auto& result : queue.results(tx, of)) {
            const auto id = result.execution;
            own.emplace(id, std::move(result));
        }
        std::vector<Decision> settled;
        // A child may be a parent itself and in the same level: whoever was decided about waits for the next, where its
        // row is read as it has become.
        std::set<ExecutionId> decided;
        for (const auto& parent : locked.rows) {
            if (decided.contains(parent.execution.id)) {
                next.insert(parent.execution.id);
                continue;
            }
            const auto& children = by_parent[parent.execution.id];
            Circumstances circumstances;
            circumstances.now = parent.now;
            circumstances.budgets = budgets_;
            if (auto decision = decide_orphans(parent.execution)) {
                std::vector<ExecutionId> open;
                for (const auto& child : children)
                    if (!domain::terminal(child.status)) open.push_back(child.id);
                if (std::any_of(open.begin(), open.end(), [&](const auto& id) { return decided.contains(id); })) {
                    next.insert(parent.execution.id);
                    continue;
                }
                const auto orphans = queue.lock(tx, open);
                if (!orphans.held.empty()) {
                    reply.unsettled.push_back(parent.execution.id);
                    continue;
                }
                for (const auto& orphan : orphans.rows) {
                    circumstances.type = catalogue ? catalogue->find(orphan.execution.lane) : nullptr;
                    Decision cancelled = decide(
                        orphan.execution, {orphan.execution.id, Cancel{"hub", "its parent has ended"}, 0.5, {}, {}},
                        circumstances);
                    if (!cancelled.changed) continue;
                    cancelled.columns = priority_queue::changed_columns(orphan.execution, cancelled.after);
                    note(orphan.execution, cancelled, circumstances.now, reply);
                    if (cancelled.cancelled_peer) reply.cancelled_peers.push_back(*cancelled.cancelled_peer);
                    if (cancelled.after.open_children > 0) next.insert(orphan.execution.id);
                    reply.others.push_back(cancelled.after);
                    decided.insert(orphan.execution.id);
                    settled.push_back(std::move(cancelled));
                }
                note(parent.execution, *decision, circumstances.now, reply);
                reply.others.push_back(decision->after);
                settled.push_back(std::move(*decision));
                continue;
            }
            Decision decision = decide_parent(parent.execution, children, own[parent.execution.id], circumstances);
            if (!decision.changed) continue;
            decision.columns = priority_queue::changed_columns(parent.execution, decision.after);
            note(parent.execution, decision, circumstances.now, reply);
            reply.others.push_back(decision.after);
            if (decision.ended && decision.after.parent) next.insert(*decision.after.parent);
            decided.insert(parent.execution.id);
            settled.push_back(std::move(decision));
        }
        write(tx, settled);
        for (auto& each : settled) {
            std::move(each.money.begin(), each.money.end(), std::back_inserter(money));
            if (each.lane_times) times.push_back(*each.lane_times);
        }
        parents = std::move(next);
    }
    return reply;
}

}
