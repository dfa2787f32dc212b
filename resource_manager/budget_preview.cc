#include "resource_manager/budget_preview.h"

#include <algorithm>

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
    } else if (state->budget.hard && share->value > 0) {
        met.fit = std::min(lane.waiting, (state->budget.limit - state->counted(now).counted()).value / share->value);
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
