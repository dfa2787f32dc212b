#include "resource_manager/budget_preview.h"

#include <algorithm>
#include <limits>

#include "resource_manager/limiter.h"

namespace impresario::resource_manager {

namespace {

domain::Demand demand_of(const WaitingLane& lane, const std::optional<domain::BatchId>& batch) {
    domain::Demand demand;
    demand.lane = lane.lane;
    demand.needs = lane.price.needs;
    demand.cost = lane.price.cost;
    demand.guessed = lane.price.guessed;
    demand.importance = lane.importance;
    demand.batch = batch;
    return demand;
}

/// How many of these start, one after the other, until the limit or a step that begins on the way stops the next.
std::int64_t until_stopped(const BudgetState& state, const domain::Demand& demand, domain::MicroUsd share,
                           domain::TimePoint now) {
    const auto& budget = state.budget;
    const auto counted = state.counted(now).counted();
    auto fit = budget.hard ? (budget.limit - counted).value / share.value : std::numeric_limits<std::int64_t>::max();
    for (std::size_t i = state.steps_on; i < budget.steps.size(); ++i) {
        if (!stops(budget.steps[i], state, demand.importance, now)) continue;
        const auto below = most_below(budget.limit, budget.steps[i].at_percent) - counted;
        fit = std::min(fit, below.value < 0 ? 0 : below.value / share.value + 1);
    }
    return fit;
}

struct Met {
    std::optional<domain::Gate> gate;
    std::int64_t fit = 0;
    bool concerned = false;
};

Met meet(const std::optional<BudgetState>& state, const WaitingLane& lane, domain::TimePoint now) {
    Met met;
    met.fit = lane.waiting;
    if (!state) return met;
    const auto demand = demand_of(lane, state->budget.scope.batch);
    const auto share = state->budget.scope.share(demand);
    if (!share) return met;
    met.concerned = true;
    met.gate = BudgetLimit{&*state, {}}.check(demand, now);
    if (met.gate) {
        met.fit = 0;
    } else if (share->value > 0) {
        met.fit = std::min(met.fit, until_stopped(*state, demand, *share, now));
    }
    return met;
}

}

std::vector<LanePreview> preview(const std::optional<BudgetState>& before, const std::optional<BudgetState>& after,
                                 const std::vector<WaitingLane>& lanes, domain::TimePoint now) {
    std::vector<LanePreview> lines;
    for (const auto& lane : lanes) {
        const auto was = meet(before, lane, now);
        const auto is = meet(after, lane, now);
        if (!was.concerned && !is.concerned) continue;
        lines.push_back({lane.lane, lane.waiting, lane.price.cost, was.gate, is.gate, was.fit, is.fit});
    }
    return lines;
}

BudgetState redefined(const BudgetState& state, const Budget& budget, domain::TimePoint now) {
    BudgetState other = state;
    other.budget = budget;
    move_steps(other, now);
    return other;
}

}
