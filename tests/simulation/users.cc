#include "simulation/users.h"

#include "domain/limit_keys.h"
#include "orchestrator/intake.h"
#include "platform/callback_json.h"
#include "simulation/auditor.h"
#include "simulation/process.h"
#include "simulation/server.h"
#include "simulation/transaction.h"

namespace impresario::simulation {

using domain::Execution;
using domain::ExecutionId;
using domain::Status;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

platform::Task<void> enqueue_at(Process& at, orchestrator::IntakeItem item, World& world) {
    try {
        auto enqueuing = at.node().enqueue(std::move(item));
        const auto reply = co_await std::move(enqueuing);
        if (at.cut_off()) co_return;
        // P1: a 201 means that it is there.
        for (const auto& execution : reply.created)
            if (!world.tables().executions.contains(execution.id))
                world.fail("P1", execution.id.text() + " was accepted and is not there");
    } catch (const std::exception&) {
    }
}

platform::Task<void> submit_at(Process& at, ExecutionId id, orchestrator::Happening happening) {
    try {
        auto submitting = at.node().submit(id, std::move(happening), std::string(domain::kDefaultOrganization));
        co_await std::move(submitting);
    } catch (const std::exception&) {
    }
}

}

void Users::start() {
    const auto& weather = world_.weather();
    // Most come early, so that there is a queue.
    for (int left = weather.executions; left > 0;) {
        const int count = chance_.happens(0.2) ? std::min(left, chance_.between(2, 6)) : 1;
        left -= count;
        const auto at = chance_.happens(0.6) ? chance_.between(milliseconds{100}, seconds{6})
                                             : chance_.between(seconds{1}, weather.active * 8 / 10);
        world_.after(at, [this, count] { enqueue(count); });
    }
    const int meddlings = chance_.happens(0.8) ? chance_.between(0, weather.executions) : 0;
    for (int i = 0; i < meddlings; ++i) world_.after(chance_.between(seconds{1}, weather.active), [this] { meddle(); });
    if (chance_.happens(0.4))
        for (int i = chance_.between(1, 3); i > 0; --i)
            world_.after(chance_.between(seconds{0}, weather.active), [this] { pause_lane(); });
    if (chance_.happens(0.4))
        for (int i = chance_.between(1, 8); i > 0; --i)
            world_.after(chance_.between(seconds{1}, weather.active), [this] { write_sql(); });
}

void Users::leave() {
    left_ = true;
    // What has been spent is spent: more is given, so that all comes to an end.
    for (auto& state : world_.tables().budgets) state.budget.limit = domain::kMostMoney;
    auto& catalogue = world_.tables().catalogue;
    if (!catalogue.pauses.empty()) {
        catalogue.pauses.clear();
        ++catalogue.version;
        world_.tell("every pause is taken back");
    }
}

void Users::enqueue(int count) {
    if (left_ || world_.over()) return;
    const auto open = world_.open_processes();
    if (open.empty()) {
        world_.after(seconds{1}, [this, count] { enqueue(count); });
        return;
    }
    Process& at = *chance_.pick(open);
    const auto now = at.clock().now();
    orchestrator::IntakeItem item;
    static const std::vector<int> classes{20, 50, 50, 50, 70, 90};
    for (int i = 0; i < count; ++i) {
        priority_queue::NewExecution made;
        auto& e = made.execution;
        auto type = world_.weather().catalogue.types.begin();
        std::advance(type, chance_.between(0, static_cast<int>(world_.weather().catalogue.types.size()) - 1));
        e.id = at.node().ids().make<ExecutionId>(now);
        e.lane = type->first;
        e.priority = chance_.happens(0.7) ? chance_.pick(classes) : chance_.between(0, 100);
        e.created_at = now;
        e.scheduled_at = chance_.happens(0.2) ? now + chance_.between(milliseconds{1}, seconds{15}) : now;
        e.max_retries = chance_.happens(0.8) ? type->second.retry.max_retries : chance_.between(0, 3);
        if (!type->second.concurrency_key.empty() && chance_.happens(0.8))
            e.concurrency_key = "k" + std::to_string(chance_.between(1, world_.weather().keys));
        for (const auto& need : type->second.needs)
            if (chance_.happens(0.3)) {
                if (!e.need_amounts.empty()) e.need_amounts += '\n';
                e.need_amounts += std::to_string(chance_.between(0, 3)) + " calls " + need.provider;
            }
        if (chance_.happens(0.8) &&
            !resource_manager::key_pointers(world_.tables().providers, type->second.needs).empty())
            e.limit_keys =
                domain::limit_keys_text({{"/c", "c" + std::to_string(chance_.between(1, world_.weather().keys))}});
        e.ready = e.scheduled_at <= now;
        if (e.ready) {
            e.ready_at = now;
        } else {
            e.due_at = e.scheduled_at;
        }
        e.last_seq = 1;
        if (chance_.happens(0.5)) e.batch = world_.weather().batches[chance_.happens(0.5) ? 1 : 0];
        made.input = "{}";
        item.executions.push_back(std::move(made));
    }
    at.spawn(enqueue_at(at, std::move(item), world_));
}

template <class Wanted>
const Execution* Users::some(Wanted wanted) {
    const auto& all = world_.tables().executions;
    if (all.empty()) return nullptr;
    std::vector<const Execution*> found;
    for (const auto& [id, row] : all)
        if (wanted(row)) found.push_back(&row);
    if (!found.empty() && chance_.happens(0.9)) return chance_.pick(found);
    auto any = all.begin();
    std::advance(any, chance_.between(0, static_cast<int>(all.size()) - 1));
    return &any->second;
}

void Users::submit(const ExecutionId& id, orchestrator::Happening happening) {
    const auto open = world_.open_processes();
    if (open.empty()) return;
    Process& at = *chance_.pick(open);
    at.spawn(submit_at(at, id, std::move(happening)));
}

void Users::meddle() {
    if (left_ || world_.over()) return;
    const auto waits = [](const Execution& row) {
        return row.status == Status::queued || row.status == Status::retrying;
    };
    const auto ended = [](const Execution& row) { return row.status == Status::dead || row.status == Status::failed; };
    switch (chance_.between(0, 9)) {
        case 0:
        case 1:
        case 2:
            if (const auto* row = some([](const Execution& each) { return !terminal(each.status); }))
                submit(row->id, orchestrator::Cancel{"user", "no longer wanted"});
            break;
        case 3:
            if (const auto* row = some(waits))
                submit(row->id, orchestrator::Reprioritise{chance_.between(0, 100), std::nullopt, "user"});
            break;
        case 4:
            if (const auto* row = some(waits))
                submit(row->id, orchestrator::Reprioritise{
                                    std::nullopt, world_.now() + chance_.between(-seconds{1}, seconds{10}), "user"});
            break;
        case 5:
        case 6:
        case 7:
            if (const auto* row = some(ended)) submit(row->id, orchestrator::Reopen{std::nullopt, "user"});
            break;
        case 8:
            if (const auto* row = some(ended)) submit(row->id, orchestrator::Discard{"user"});
            break;
        default: {
            // A late result that is kept as evidence.
            const auto& refused = world_.tables().refused;
            if (refused.empty()) break;
            auto one = refused.begin();
            std::advance(one, chance_.between(0, static_cast<int>(refused.size()) - 1));
            const auto callback = platform::parse_callback(one->second.body);
            if (!callback) break;
            submit(one->second.execution,
                   orchestrator::AcceptLate{one->second.attempt, *callback, one->second.sha256, "user"});
        }
    }
}

void Users::pause_lane() {
    if (left_ || world_.over()) return;
    auto& catalogue = world_.tables().catalogue;
    subworkflows::PauseRecord pause;
    pause.reason = "being moved";
    pause.by = "user";
    if (chance_.happens(0.8)) {
        auto type = catalogue.types.begin();
        std::advance(type, chance_.between(0, static_cast<int>(catalogue.types.size()) - 1));
        pause.organization_id = type->first.organization_id;
        pause.workflow_type = type->first.workflow_type;
    }
    if (chance_.happens(0.3)) pause.until = world_.now() + chance_.between(seconds{1}, seconds{20});
    if (!pause.workflow_type.empty() && chance_.happens(0.3))
        pause.condition =
            chance_.happens(0.5) ? "endpoints_healthy" : "queue_below:" + std::to_string(chance_.between(1, 5));
    world_.tell("a pause of " + (pause.workflow_type.empty() ? std::string("everything") : pause.workflow_type));
    world_.server().prompt([&](Transaction& tx) {
        tx.change([pause](Tables& t, Auditor*) {
            t.catalogue.pauses.push_back(pause);
            ++t.catalogue.version;
        });
        tx.notices.emplace_back("catalogue");
    });
    world_.after(chance_.between(seconds{2}, seconds{25}), [this] {
        if (left_ || world_.over()) return;
        world_.tell("a pause is taken back");
        world_.server().prompt([&](Transaction& tx) {
            tx.change([](Tables& t, Auditor*) {
                if (!t.catalogue.pauses.empty()) t.catalogue.pauses.erase(t.catalogue.pauses.begin());
                ++t.catalogue.version;
            });
            tx.notices.emplace_back("catalogue");
        });
    });
}

/// What migrations/0007_sql_api does for update_execution_status and a plain UPDATE of the priority.
void Users::write_sql() {
    if (left_ || world_.over()) return;
    const auto* found = some([](const Execution& each) { return !terminal(each.status); });
    if (!found) return;
    if (world_.tables().is_locked(found->id, world_.now())) return;
    const Execution before = *found;
    static const std::vector<Status> statuses{Status::analyzing, Status::analyzing, Status::queued, Status::retrying,
                                              Status::completed, Status::failed,    Status::dead,   Status::cancelled};
    const Status to = chance_.pick(statuses);
    const auto now = world_.now();
    world_.tell("SQL sets " + before.id.text().substr(24) + " to " + std::string(name(to)));
    world_.server().prompt([&](Transaction& tx) {
        Execution row = before;
        ++row.last_seq;
        const auto say = [&](std::string type) {
            domain::Event event;
            event.stream = row.id.value;
            event.seq = row.last_seq;
            event.organization_id = row.lane.organization_id;
            event.type = std::move(type);
            event.payload = R"({"by":"sql"})";
            tx.change([event, xid = tx.xid()](Tables& t, Auditor* auditor) {
                if (auditor) auditor->event(event);
                t.events.push_back({event, {}, xid});
            });
        };
        const auto write = [&] {
            tx.change([row](Tables& t, Auditor* auditor) {
                auto& at = t.executions.at(row.id);
                if (auditor) auditor->written(at, row, priority_queue::every_column());
                at = row;
            });
        };
        if (terminal(before.status) || !domain::may_move(before.status, to) ||
            (to == Status::queued && before.status != Status::analyzing)) {
            write();
            return say("execution.refused");
        }
        if (before.attempt) {
            webhooks::ClosedAttempt closed;
            closed.execution = row.id;
            closed.opening = row.opening;
            closed.attempt = *before.attempt;
            closed.outcome = "sql";
            tx.change([closed, at = tx.now()](Tables& t, Auditor* auditor) {
                if (auditor) auditor->closed(closed, at);
                t.attempts.emplace(Tables::AttemptKey{closed.execution, closed.attempt.id}, closed);
            });
            if (before.attempt->reserved) {
                resource_manager::LedgerStore::Reported line;
                line.id = ++reported_;
                auto& movement = line.recorded.movement;
                movement.kind = resource_manager::MovementKind::settle;
                movement.execution = row.id;
                movement.attempt = before.attempt->id;
                movement.demand.lane = row.lane;
                movement.demand.batch = row.batch;
                movement.demand.cost = before.attempt->cost.value_or(domain::MicroUsd{});
                movement.estimated = !before.attempt->cost;
                line.recorded.pinned_at = before.attempt->granted_at;
                tx.change([line](Tables& all, Auditor*) { all.reported.push_back(line); });
            }
        }
        const bool ends = terminal(to);
        row.status = to;
        row.ready = to == Status::queued;
        if (row.ready && !row.ready_at) row.ready_at = now;
        row.due_at.reset();
        if (to == Status::analyzing) row.due_at = now + seconds{60};
        if (to == Status::retrying) row.due_at = now;
        row.completed_at = ends ? std::optional(now) : std::nullopt;
        row.timeout_at.reset();
        row.attempt.reset();
        row.gate.reset();
        row.gate_since.reset();
        row.reason = to == Status::queued || to == Status::analyzing ? "" : "sql";
        if (ends && row.started_at) row.duration_ms = (now - *row.started_at).count() / 1000;
        write();
        if (to == Status::completed || to == Status::failed || to == Status::dead) {
            priority_queue::ResultRecord result;
            result.execution = row.id;
            result.opening = row.opening;
            tx.change([result](Tables& t, Auditor* auditor) {
                if (auditor) auditor->result(result);
                t.results[{result.execution, result.opening}] = result;
            });
        }
        if (to == Status::dead) {
            priority_queue::DeadLetter letter;
            letter.execution = row.id;
            letter.opening = row.opening;
            letter.lane = row.lane;
            letter.reason = "sql";
            letter.attempts = row.attempts;
            tx.change([letter](Tables& t, Auditor*) {
                t.letters.emplace(Tables::Opening{letter.execution, letter.opening}, Letter{letter, {}});
            });
        }
        say(to == Status::analyzing ? "execution.deferred" : "execution." + std::string(name(to)));
        tx.notices.emplace_back("execution");
    });
}

}
