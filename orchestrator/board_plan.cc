// Of the board: what a turn is planned from, each lane that has work waiting with everything that limits it.
#include <algorithm>

#include "orchestrator/board.h"
#include "orchestrator/lane_limiters.h"

namespace impresario::orchestrator {

using domain::Lane;
using domain::TimePoint;

/// Who has the locks that types name, as far as it is known here.
std::map<schedules::LockName, resource_manager::Lock> Board::held_locks(TimePoint now) {
    std::map<schedules::LockName, resource_manager::Lock> held;
    if (!names_locks_) return held;
    std::erase_if(busy_locks_, [&](const auto& each) { return each.second <= now; });
    for (const auto& [name, until] : busy_locks_)
        held[name] = {name.name, "somebody who is just taking it or giving it back", until};
    for (const auto& each : locks_) held[each.lock] = {each.lock.name, each.owner, each.held_until};
    for (const auto& [id, live] : live_) {
        const auto* known = type(live.lane);
        if (!known || known->lock.empty()) continue;
        held[{live.lane.organization_id, known->lock}] = {known->lock, "execution " + id.text(), std::nullopt};
    }
    return held;
}

/// Looked at again when it may have changed: turns are many, and clocks of zones are slow.
const subworkflows::WindowsNow& Board::windows_now(LaneState& state, const subworkflows::WorkflowType& type,
                                                   TimePoint now) {
    auto& known = state.windows;
    const bool holds = known && known->from <= now && (!known->state.until || now < *known->state.until);
    if (!holds) known = LaneState::Windows{now, subworkflows::look(*type.run_windows, now)};
    return known->state;
}

PlanInput Board::plan_input(int most) {
    auto input = gather(most);
    // What is kept for one lane is held in the others, and what is not any more is not.
    if (keep_for_batches(input)) {
        input = gather(most);
        if (keep_for_batches(input)) input.next_opening = now_();
    }
    // All that it shows may wait with its batch, or behind its keys, now.
    std::erase_if(input.lanes, [](const LaneView& view) { return view.order->shown() == 0; });
    return input;
}

PlanInput Board::gather(int most) {
    PlanInput input;
    input.most = most;
    input.shares = shares_;
    meters_.trim(now_());
    // Lanes that call the same provider share its limits, those that a budget is for the budget.
    Shared shared;
    std::optional<std::size_t> memory;
    std::optional<std::size_t> database;
    const auto now = now_();
    auto held = held_locks(now);
    std::map<schedules::LockName, std::size_t> locks;
    for (auto& [lane, state] : lanes_) {
        if (state.order.empty() && state.groups.empty() && !state.holds()) continue;
        const auto* known = type(lane);
        const auto rates = known ? meters_.applied(lane, known->needs) : Applied{};
        // A lane whose keys are all closed is asked about, and one that is empty now, so that nothing is kept for it.
        const bool keyed = by_limits(lane, state, rates);
        if (state.order.shown() == 0 && !state.holds() && !keyed) continue;
        LaneView view;
        view.lane = lane;
        view.order = &state.order;
        const auto limit = [&](resource_manager::Limiter limiter) {
            view.limiters.push_back(input.admission.add(std::move(limiter)));
        };
        for (auto& pause : pauses_of(lane, known, catalogue_->pauses)) limit(std::move(pause));
        if (!known) {
            input.lanes.push_back(std::move(view));
            continue;
        }
        view.max_wait = known->max_wait;
        if (!known->lock.empty()) {
            const schedules::LockName name{lane.organization_id, known->lock};
            const auto [at, added] = locks.try_emplace(name, 0);
            if (added) {
                held[name].name = name.name;
                at->second = input.admission.add(held[name]);
            }
            view.limiters.push_back(at->second);
        }
        if (known->max_concurrency)
            limit(resource_manager::Concurrency{lane.workflow_type, *known->max_concurrency, state.in_use});
        if (!known->concurrency_key.empty())
            limit(resource_manager::KeyConcurrency{
                known->concurrency_key, known->concurrency_key_limit, &state.key_in_use, {}});
        if (has_pace(*known)) limit(pace_of(*known, {lane, state.started_at, state.ended_at}));
        resource_manager::Endpoints endpoints;
        endpoints.subject = lane.workflow_type;
        for (const auto& endpoint : known->endpoints) {
            const auto at = endpoints_.find(endpoint.id);
            if (at == endpoints_.end()) continue;
            const auto& health = at->second.health;
            endpoints.endpoints.push_back({endpoint.id, endpoint.url, endpoint.weight, at->second.in_flight,
                                           std::min(health.window, endpoint.max_in_flight), health.held_until,
                                           health.detail, at->second.breaker.record()});
        }
        limit(std::move(endpoints));
        view.importance = known->importance;
        // Where neither money nor a provider nor a share is asked about, nobody needs to know what it costs.
        const bool asked = !budgets_.empty() || !known->needs.empty() || shares_;
        const auto learnt = asked ? estimates_.find(lane) : estimates_.end();
        view.prices = {known->needs, known->cost_estimate, learnt == estimates_.end() ? nullptr : &learnt->second,
                       unknown_cost_};
        // Whoever is stopped by his key says nothing about what the lane lacks.
        for (const auto& applied : rates) {
            if (!applied.keys) continue;
            const auto [share, added] = shared.try_emplace(applied.keys, 0);
            if (added)
                share->second = input.admission.add(resource_manager::KeyShare{
                    *applied.provider, applied.meter, applied.keys, std::string(applied.meter->limit().pointer())});
            view.limiters.push_back(share->second);
            view.key_shares.push_back(share->second);
        }
        limit_by_weather(input, view, known->needs, shared);
        for (const auto& applied : rates) {
            const auto [rate, added] = shared.try_emplace(applied.meter, 0);
            if (added)
                rate->second = input.admission.add(resource_manager::ProviderRate{*applied.provider, applied.meter});
            view.limiters.push_back(rate->second);
        }
        if (known->memory_mb) {
            view.memory_mb = *known->memory_mb;
            if (!memory) memory = input.admission.add(resource_manager::Memory{memory_total_mb_, memory_reserved_mb()});
            view.limiters.push_back(*memory);
        }
        if (database_gate_) {
            if (!database) database = input.admission.add(resource_manager::Closed{*database_gate_});
            view.limiters.push_back(*database);
        }
        limit_by_budgets(input, view, state, shared, now);
        if (known->run_windows)
            if (auto gate =
                    subworkflows::shut(*known->run_windows, lane.workflow_type, windows_now(state, *known, now)))
                limit(resource_manager::Closed{*std::move(gate)});
        input.lanes.push_back(std::move(view));
    }
    ask_keys(input, now);
    return input;
}

/// Of every provider first whether it cools, then what it gives (design, gates). Fair weather is not asked about.
void Board::limit_by_weather(PlanInput& input, LaneView& view, const std::vector<domain::Need>& needs, Shared& shared) {
    using namespace resource_manager;
    const auto each = [&](auto make) {
        for (const auto& need : needs) {
            const auto found = meters_.weather().find(need.provider);
            if (found == meters_.weather().end()) continue;
            const auto& record = found->second.record();
            if (record.cooling_until || record.quota || record.learnt) make(found->first, found->second, record);
        }
    };
    each([&](const std::string& provider, const ProviderWeather& weather, const WeatherRecord& record) {
        if (!record.cooling_until && !record.quota) return;
        const auto [at, added] = shared.try_emplace(&weather, 0);
        if (added) at->second = input.admission.add(ProviderCooling{provider, &weather, 0, std::nullopt});
        view.limiters.push_back(at->second);
    });
    each([&](const std::string& provider, const ProviderWeather& weather, const WeatherRecord& record) {
        if (!record.quota && !record.learnt) return;
        const auto [at, added] = shared.try_emplace(&record, 0);
        if (added) at->second = input.admission.add(ProviderLearnt{provider, &weather});
        view.limiters.push_back(at->second);
    });
}

/// The lane's part in every budget that is for it.
void Board::limit_by_budgets(PlanInput& input, LaneView& view, LaneState& state, Shared& shared, TimePoint now) {
    if (budgets_.empty() && !state.holds()) return;
    domain::Demand asked = view.demand({});
    const bool critical = asked.importance == domain::Importance::critical;
    for (const auto& budget : budgets_) {
        asked.batch = budget.budget.scope.batch;
        if (!budget.budget.scope.share(asked) || (asked.batch && !state.order.has(*asked.batch))) continue;
        view.budgeted = true;
        const auto [at, added] = shared.try_emplace(&budget, 0);
        if (added)
            at->second = asked.batch ? input.admission.add(batch_limit(budget))
                                     : input.admission.add(resource_manager::BudgetLimit{&budget, {}});
        view.limiters.push_back(at->second);
        // One for all lanes, the critical ones too: what any of them is granted may begin a step.
        if (budget.budget.defers()) {
            const auto [priority, fresh] = shared.try_emplace(&budget.windows, 0);
            if (fresh) priority->second = input.admission.add(resource_manager::BudgetPriority{&budget});
            view.limiters.push_back(priority->second);
        }
        if (critical || asked.batch) continue;
        const auto asks = thrift(budget);
        view.thrift.batch_percent = std::min(view.thrift.batch_percent, asks.batch_percent);
        view.thrift.cheaper_variant = view.thrift.cheaper_variant || asks.cheaper_variant;
    }
    // The variant's price is what is declared: it was not learnt from.
    const auto* known = type(view.lane);
    view.thrift.cheaper_variant = view.thrift.cheaper_variant && known->cheaper_variant;
    if (view.thrift.cheaper_variant && known->cheaper_variant->cost_estimate) {
        view.prices = {known->needs, known->cheaper_variant->cost_estimate};
        asked = view.demand({});
    }
    asked.batch.reset();
    hold_by_budget(state, asked, now);
}

/// What a batch's budget, or a priority while money is short, stops waits apart: nothing of the lane waits behind it.
void Board::hold_by_budget(LaneState& state, const domain::Demand& asked, TimePoint now) {
    std::optional<LaneState::Held> lane;
    std::map<domain::BatchId, LaneState::Held> batches;
    for (const auto& budget : budgets_) {
        auto demand = asked;
        demand.batch = budget.budget.scope.batch;
        if (demand.batch && !state.order.has(*demand.batch)) continue;
        std::optional<LaneState::Held> held;
        if (demand.batch)
            if (auto gate = batch_limit(budget).check(demand, now))
                held = {priority_queue::Order::kAll, *std::move(gate)};
        demand.priority = 0;
        const resource_manager::BudgetPriority priority{&budget};
        if (!held)
            if (auto gate = priority.check(demand, now))
                held = {priority.step(demand, now)->below_priority, *std::move(gate)};
        if (!held) continue;
        if (!demand.batch) {
            if (!lane || lane->below < held->below) lane = *std::move(held);
        } else if (auto& known = batches[*demand.batch]; known.below < held->below) {
            known = *std::move(held);
        }
    }
    const auto slots = [&](const std::string& key) { return free_slots(asked.lane, state, key); };
    state.order.hold_below(lane ? lane->below : 0, slots);
    for (const auto& [batch, held] : batches) state.order.hold_below(batch, held.below, slots);
    for (const auto& [batch, held] : state.held_batches)
        if (!batches.contains(batch)) state.order.hold_below(batch, 0, slots);
    state.held = std::move(lane);
    state.held_batches = std::move(batches);
}

resource_manager::BatchBudgetLimit Board::batch_limit(const resource_manager::BudgetState& budget) const {
    const auto kept = kept_for_.find(budget.budget.id);
    return {{&budget, {}}, kept == kept_for_.end() ? std::nullopt : std::optional(kept->second)};
}

/// Whoever waits apart is not asked in his turn, so what he lacks of his batch's budget is kept for him here: from all
/// other lanes, for the one that has waited longest (protocol R16).
bool Board::keep_for_batches(const PlanInput& input) {
    const auto now = now_();
    struct Keeping {
        domain::Lane lane;
        TimePoint since;
    };
    std::map<domain::BudgetId, Keeping> keeping;
    for (const auto& view : input.lanes) {
        const auto& state = lanes_.at(view.lane);
        for (const auto& [batch, held] : state.held_batches) {
            const auto eldest = state.order.eldest_of(batch, now, view.max_wait);
            if (!eldest || !eldest->starving) continue;
            const auto demand = view.demand(*eldest);
            if (!input.admission.lacks_only(demand, view.limiters, now)) continue;
            for (const auto& budget : budgets_) {
                if (budget.budget.scope.batch != batch) continue;
                if (!resource_manager::BudgetLimit{&budget, {}}.lacking(demand, now)) continue;
                const Keeping own{view.lane, eldest->ready_at};
                const auto [at, first] = keeping.try_emplace(budget.budget.id, own);
                if (!first && own.since < at->second.since) at->second = own;
            }
        }
    }
    std::map<domain::BudgetId, domain::Lane> kept_for;
    for (auto& [budget, each] : keeping) kept_for.emplace(budget, std::move(each.lane));
    return std::exchange(kept_for_, kept_for) != kept_for;
}

}
