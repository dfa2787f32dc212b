#include "orchestrator/explain_store.h"

#include <algorithm>

#include "journal/event_store.h"
#include "orchestrator/explain_past.h"
#include "orchestrator/switched_off.h"
#include "orchestrator_sql.h"
#include "platform/gate_json.h"
#include "platform/json_text.h"
#include "platform/read_rows.h"
#include "platform/redact.h"
#include "priority_queue/queue_store.h"
#include "resource_manager/budget_store.h"
#include "resource_manager/estimate_store.h"
#include "resource_manager/fairness_store.h"
#include "resource_manager/limiter.h"
#include "resource_manager/price.h"

namespace impresario::orchestrator {

using domain::Execution;
using domain::ExecutionId;
using domain::Lane;
using domain::TimePoint;
using platform::Params;
using platform::RowReader;
using platform::Tx;

namespace {

/// Rows are counted up to here, and not further.
constexpr int kMostInLane = 10000;
constexpr int kMostInOthers = 1000;
constexpr int kMostThen = 20000;
constexpr int kFirst = 5;
constexpr int kMostEvents = 1000;
constexpr std::size_t kMostHistory = 20;

std::optional<Execution> read_row(Tx& tx, const ExecutionId& id, const std::string& organization_id, TimePoint& now) {
    auto rows = priority_queue::QueueStore().read(tx, {id});
    if (rows.empty() || rows.front().execution.lane.organization_id != organization_id) return std::nullopt;
    now = rows.front().now;
    return std::move(rows.front().execution);
}

std::vector<std::pair<std::string, std::string>> read_numbers(const std::string& json) {
    std::vector<std::pair<std::string, std::string>> numbers;
    for (const auto& [key, value] : platform::json_members(json))
        numbers.emplace_back(key, platform::json_string(value));
    return numbers;
}

/// Its lane's gates up to `until` that were not over by `from`, newest first.
std::vector<GateRun> lane_gates(Tx& tx, const Lane& lane, TimePoint until, TimePoint from) {
    const auto rows = tx.exec(sql::explain_lane_gates,
                              Params().add(lane.organization_id).add(lane.workflow_type).add(until).add(from));
    return platform::read_rows(rows, [&](RowReader& row) {
        GateRun run;
        // One that only a newer hub knows is named as it is, in its detail.
        const auto kind = row.text();
        run.gate.kind = domain::parse_gate_kind(kind).value_or(domain::GateKind::paused);
        run.gate.subject = row.text();
        run.gate.detail = row.text();
        if (!domain::parse_gate_kind(kind)) run.gate.detail = kind + ": " + run.gate.detail;
        run.first_numbers = read_numbers(row.text());
        run.gate.numbers = read_numbers(row.text());
        run.gate.opens_at = row.maybe_time();
        const auto first = row.time();
        const auto closed_since = row.time();
        run.until = row.maybe_time();
        // Of one that is closed now, since it closed last; of one that is over, all of it.
        run.since = run.until || closed_since > until ? first : closed_since;
        run.times = row.small();
        run.seen = row.integer();
        auto closed_for = domain::Duration{row.integer()};
        if (!run.until) closed_for += std::max(until - closed_since, domain::Duration::zero());
        run.closed_for = closed_for;
        return run;
    });
}

/// The numbers of a gate are written anew while it is closed: its last ones may be younger than the time asked about.
std::string numbers_at_first(const GateRun& run) {
    std::string numbers;
    for (const auto& [key, value] : run.first_numbers) numbers += (numbers.empty() ? "" : ", ") + key + " " + value;
    return std::string(name(run.gate.kind)) + " (" + run.gate.subject +
           "): its numbers are those of later; when it first closed they were " + numbers;
}

bool closed_at(const GateRun& run, TimePoint at) {
    return run.since && *run.since <= at && (!run.until || *run.until > at);
}

/// Both, newest first.
void keep_history(Situation& s, std::vector<GateRun> lane, std::vector<GateRun> own) {
    s.history = std::move(lane);
    s.history.insert(s.history.end(), std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
    std::stable_sort(s.history.begin(), s.history.end(),
                     [](const GateRun& a, const GateRun& b) { return a.since > b.since; });
    if (s.history.size() > kMostHistory) {
        s.history.resize(kMostHistory);
        s.notes.push_back("of the gates that it met only the newest " + std::to_string(kMostHistory) + " are shown");
    }
}

void know_type(Situation& s, const subworkflows::WorkflowType* type) {
    if (!type) return;
    s.max_wait = type->max_wait;
    for (const auto& endpoint : type->endpoints) s.endpoints[platform::shown_url(endpoint.url)] = endpoint.id;
}

/// What the tables show to be closed, whether or not a scheduler has found it yet.
void look_at_tables(Situation& s, const subworkflows::Catalogue& catalogue, int in_use, int key_in_use) {
    const auto& e = s.execution;
    const auto* type = catalogue.find(e.lane);
    const auto ask = [&](const auto& limiter, bool own, std::optional<TimePoint> since = std::nullopt) {
        auto gate = limiter.check({e.lane, e.concurrency_key}, s.at);
        if (!gate) return;
        GateRun run;
        run.gate = *std::move(gate);
        run.first_numbers = run.gate.numbers;
        run.own = own;
        run.since = since;
        s.gates.push_back(std::move(run));
    };
    if (!type)
        return ask(resource_manager::Pause{e.lane.workflow_type, std::string(kNotRegistered), "", std::nullopt}, false);
    for (const auto& pause : catalogue.pauses)
        if (pause.covers(*type))
            ask(resource_manager::Pause{pause.subject(), pause.reason, pause.by, pause.until, pause.condition}, false,
                pause.since);
    if (!type->enabled)
        ask(resource_manager::Pause{e.lane.workflow_type, std::string(kSwitchedOff), "", std::nullopt}, false);
    if (type->max_concurrency)
        ask(resource_manager::Concurrency{e.lane.workflow_type, *type->max_concurrency, in_use}, false);
    if (!type->concurrency_key.empty() && !e.concurrency_key.empty()) {
        const std::unordered_map<std::string, int> used{{e.concurrency_key, key_in_use}};
        ask(resource_manager::KeyConcurrency{type->concurrency_key, type->concurrency_key_limit, &used, {}}, true);
    }
}

/// What one start of it is expected to ask, as the scheduler reckons (LaneView::demand).
domain::Demand demand_of(Tx& tx, const Execution& e, const subworkflows::WorkflowType& type,
                         domain::MicroUsd unknown_cost) {
    const auto learnt = resource_manager::EstimateStore().load(tx);
    const auto of_lane = learnt.find(e.lane);
    const resource_manager::PriceList prices(type.needs, type.cost_estimate,
                                             of_lane == learnt.end() ? nullptr : &of_lane->second, unknown_cost);
    const auto& price = prices.at(e.size_class, e.need_amounts.empty() ? nullptr : &e.need_amounts);
    domain::Demand demand;
    demand.lane = e.lane;
    demand.needs = price.needs;
    demand.cost = price.cost;
    demand.guessed = price.guessed;
    demand.batch = e.batch;
    demand.importance = type.importance;
    demand.priority = e.priority;
    return demand;
}

/// Money as the tables say it now: a gate that the scheduler has found has its numbers from here, and one that it has
/// not come to, since another is closed before it, is told too.
void look_at_money(Tx& tx, Situation& s, const subworkflows::WorkflowType* type, domain::MicroUsd unknown_cost) {
    if (!type) return;
    auto budgets = resource_manager::BudgetStore().load(tx, s.at);
    if (budgets.empty()) return;
    const auto demand = demand_of(tx, s.execution, *type, unknown_cost);
    for (auto& state : budgets) {
        resource_manager::move_steps(state, s.at);
        auto gate = resource_manager::BudgetLimit{&state, {}}.check(demand, s.at);
        const bool own = state.budget.scope.batch.has_value() || !gate;
        if (!gate) gate = resource_manager::BudgetPriority{&state}.check(demand, s.at);
        if (!gate) continue;
        const auto known = std::find_if(s.gates.begin(), s.gates.end(), [&](const GateRun& run) {
            return run.gate.kind == gate->kind && run.gate.subject == gate->subject;
        });
        if (known != s.gates.end()) {
            known->gate = *std::move(gate);
            continue;
        }
        GateRun run;
        run.gate = *std::move(gate);
        run.first_numbers = run.gate.numbers;
        run.own = own;
        s.gates.push_back(std::move(run));
    }
}

Count counted(std::int64_t value, std::int64_t most) { return {value, value >= most}; }

void rank(Tx& tx, Situation& s) {
    const auto& e = s.execution;
    const auto ready = e.ready_at.value_or(e.created_at);
    const bool starving = s.at - ready > s.max_wait;
    const auto& lane = e.lane;
    const auto rows = tx.exec(sql::explain_rank, Params()
                                                     .add(lane.organization_id)
                                                     .add(lane.workflow_type)
                                                     .add(e.priority)
                                                     .add(e.created_at)
                                                     .add(e.id)
                                                     .add(starving)
                                                     .add(ready)
                                                     .add(s.at)
                                                     .add(kMostInLane)
                                                     .add(kMostInOthers));
    RowReader counts(rows, 0);
    s.before_in_lane = counted(counts.integer(), kMostInLane);
    const auto others = counted(counts.integer(), kMostInOthers);
    if (e.due_at && *e.due_at > s.at) s.rank_note = "as if it were due now";
    s.before_overall = Count{s.before_in_lane->value + others.value, s.before_in_lane->at_least || others.at_least};
    if (s.before_in_lane->value == 0) return;
    const auto first =
        tx.exec(sql::explain_first, Params().add(lane.organization_id).add(lane.workflow_type).add(kFirst).add(s.at));
    for (std::size_t i = 0; i < first.size() && static_cast<std::int64_t>(i) < s.before_in_lane->value; ++i) {
        RowReader row(first, i);
        Ahead each;
        each.id = row.id<ExecutionId>();
        each.priority = row.small();
        each.created_at = row.time();
        each.score = row.integer();
        each.starving = row.flag();
        s.first.push_back(each);
    }
}

void pace(Tx& tx, Situation& s) {
    const auto& lane = s.execution.lane;
    const auto next = s.first.empty() ? s.execution.created_at : s.first.front().created_at;
    const auto rows =
        tx.exec(sql::explain_pace, Params().add(lane.organization_id).add(lane.workflow_type).add(s.at).add(next));
    RowReader row(rows, 0);
    s.pace.starts = row.integer();
    const auto from = row.maybe_time();
    const auto to = row.maybe_time();
    // Up to now: a lane that started many and then stopped is not fast.
    if (from && to) s.pace.over = std::max(s.at - *from, domain::Duration::zero());
    if (const auto ms = row.maybe_integer()) s.pace.slow = std::chrono::milliseconds{*ms};
}

/// As the scheduler has written it down.
void look_at_shares(Tx& tx, Situation& s) {
    const resource_manager::FairnessStore store;
    const auto policy = store.load(tx);
    const auto standings = policy ? store.standings(tx) : std::nullopt;
    if (!standings) return;
    FairView fair;
    fair.measure = policy->measure;
    bool found = false;
    for (const auto& each : standings->all) {
        if (each.share.organization_id != s.execution.lane.organization_id) continue;
        if (each.share.workflow_type.empty()) {
            fair.organization = each;
            found = true;
        } else if (each.share.workflow_type == s.execution.lane.workflow_type) {
            fair.type = each;
        }
    }
    if (!found) return;
    s.fair = std::move(fair);
    s.rank_note += (s.rank_note.empty() ? "" : "; ") +
                   std::string("overall by the score, and by the fairness policy whose turn it is comes before that");
}

/// Oldest first. `whole`: from the first of all.
struct Events {
    std::vector<journal::StoredEvent> all;
    bool whole = false;
};
Events read_events(Tx& tx, const ExecutionId& id) {
    const auto rows = tx.exec(sql::explain_events, Params().add(id).add(kMostEvents));
    Events events;
    for (std::size_t i = rows.size(); i-- > 0;) {
        RowReader row(rows, i);
        journal::StoredEvent each;
        each.seq = row.small();
        each.type = row.text();
        each.at = row.time();
        each.payload = row.text();
        events.all.push_back(std::move(each));
    }
    events.whole = rows.size() < static_cast<std::size_t>(kMostEvents);
    return events;
}

/// Of what has ended or runs there is no rank and no gate.
bool waits(const Execution& e) {
    return e.foreign_status.empty() && !terminal(e.status) && !e.holds_slot() && e.open_children == 0 &&
           (e.status == domain::Status::queued || e.status == domain::Status::retrying);
}

}

std::optional<Situation> ExplainStore::now(Tx& tx, const ExecutionId& id, const std::string& organization_id,
                                           const subworkflows::Catalogue& catalogue, int most_per_turn,
                                           domain::MicroUsd unknown_cost) const {
    Situation s;
    auto row = read_row(tx, id, organization_id, s.at);
    if (!row) return std::nullopt;
    s.execution = *std::move(row);
    s.most_per_turn = most_per_turn;
    const auto& e = s.execution;
    know_type(s, catalogue.find(e.lane));
    const auto since = e.ready_at.value_or(e.created_at);
    auto lane = lane_gates(tx, e.lane, s.at, since);
    const auto counts =
        tx.exec(sql::explain_lane,
                Params().add(e.lane.organization_id).add(e.lane.workflow_type).add_or_null(e.concurrency_key));
    RowReader count(counts, 0);
    const int in_use = count.small();
    const int key_in_use = count.small();
    s.led = count.flag();
    if (waits(e)) {
        for (const auto& run : lane)
            if (!run.until) s.gates.push_back(run);
        if (e.gate) {
            GateRun run;
            run.gate = *e.gate;
            run.first_numbers = run.gate.numbers;
            run.own = true;
            run.since = e.gate_since;
            s.gates.push_back(std::move(run));
        }
        look_at_tables(s, catalogue, in_use, key_in_use);
        look_at_money(tx, s, catalogue.find(e.lane), unknown_cost);
        rank(tx, s);
        pace(tx, s);
        look_at_shares(tx, s);
    }
    auto events = read_events(tx, id);
    std::erase_if(lane, [&](const GateRun& run) { return e.completed_at && run.since > e.completed_at; });
    keep_history(s, std::move(lane), trace(e, events.all, s.at).own_gates);
    return s;
}

std::optional<Situation> ExplainStore::then(Tx& tx, const ExecutionId& id, const std::string& organization_id,
                                            const subworkflows::Catalogue& catalogue, TimePoint at) const {
    Situation s;
    TimePoint now;
    const auto row = read_row(tx, id, organization_id, now);
    if (!row) return std::nullopt;
    s.at = at;
    s.past = true;
    know_type(s, catalogue.find(row->lane));
    const auto events = read_events(tx, id);
    auto traced = trace(*row, events.all, at);
    s.execution = std::move(traced.then);
    if (!events.whole)
        s.notes.push_back("it has more events than the newest " + std::to_string(kMostEvents) +
                          ", from which this was reconstructed");
    const auto& e = s.execution;
    auto lane = lane_gates(tx, e.lane, at, e.ready_at.value_or(e.created_at));
    if (now - at > std::chrono::hours{24 * 30})
        s.notes.push_back(
            "the history of the lane's gates is kept for 30 days; what closed and opened before is forgotten");
    if (waits(e)) {
        for (const auto& run : lane)
            if (closed_at(run, at)) s.gates.push_back(run);
        for (const auto& run : traced.own_gates)
            if (closed_at(run, at)) s.gates.push_back(run);
        for (const auto& run : s.gates)
            if (!run.first_numbers.empty() && run.first_numbers != run.gate.numbers)
                s.notes.push_back(numbers_at_first(run));
        const auto rows = tx.exec(sql::explain_rank_then, Params()
                                                              .add(e.lane.organization_id)
                                                              .add(e.lane.workflow_type)
                                                              .add(e.priority)
                                                              .add(e.created_at)
                                                              .add(e.id)
                                                              .add(at)
                                                              .add(kMostThen));
        RowReader counts(rows, 0);
        if (counts.integer() < kMostThen) {
            s.before_in_lane = Count{counts.integer(), false};
            s.before_overall = Count{counts.integer(), false};
            s.rank_note = "by the priorities of today, of those that had not been started before";
        } else {
            s.rank_note =
                "not known: more than " + std::to_string(kMostThen) + " executions were there, too many to go through";
        }
    }
    keep_history(s, std::move(lane), std::move(traced.own_gates));
    return s;
}

}
