#include "orchestrator/plan.h"

#include <algorithm>

#include "orchestrator/fair_order.h"

namespace impresario::orchestrator {

using priority_queue::Cursor;

namespace {

/// A heap of lanes by their heads: one grant costs its lane's cursor and log(lanes).
class ScoreOrder {
    auto worse() const {
        return [this](std::size_t a, std::size_t b) {
            return before(*runners_[b].cursor.head(), *runners_[a].cursor.head());
        };
    }

  public:
    explicit ScoreOrder(const std::vector<Runner>& runners) : runners_(runners), heap_(runners.size()) {
        for (std::size_t i = 0; i < heap_.size(); ++i) heap_[i] = i;
        std::make_heap(heap_.begin(), heap_.end(), worse());
    }
    bool empty() const { return heap_.empty(); }
    /// The best one's place; then it stays or is dropped.
    std::size_t next() {
        std::pop_heap(heap_.begin(), heap_.end(), worse());
        return heap_.back();
    }
    void granted(std::size_t) {}
    void stays(std::size_t) { std::push_heap(heap_.begin(), heap_.end(), worse()); }
    void drop(std::size_t) { heap_.pop_back(); }

  private:
    const std::vector<Runner>& runners_;
    std::vector<std::size_t> heap_;
};

template <class Order>
void grant_in(Order& order, PlanInput& input, std::vector<Runner>& runners, domain::TimePoint now, Plan& result) {
    while (!order.empty()) {
        if (static_cast<int>(result.grants.size()) >= input.most) {
            result.more = true;
            break;
        }
        const auto place = order.next();
        Runner& runner = runners[place];
        const auto& head = *runner.cursor.head();
        auto demand = runner.view->demand(head);
        const auto verdict = input.admission.admit(demand, runner.view->limiters, now);
        if (const auto* granted = std::get_if<resource_manager::Granted>(&verdict)) {
            order.granted(place);
            result.grants.push_back({head.id, runner.view->lane, granted->endpoint, std::move(demand),
                                     runner.view->budgeted, runner.view->thrift});
        } else {
            const auto& deferred = std::get<resource_manager::Deferred>(verdict);
            result.next_opening = domain::earlier(result.next_opening, deferred.gate.opens_at);
            if (deferred.whole_lane) {
                result.gates[runner.view->lane] = deferred.gate;
                order.drop(place);
                continue;
            }
            if (deferred.gate.kind == domain::GateKind::key_limit)
                result.behind_keys.emplace_back(runner.view->lane, head.id);
        }
        runner.cursor.advance();
        if (runner.cursor.head()) {
            order.stays(place);
        } else {
            order.drop(place);
        }
    }
}

/// Who competes in this turn.
std::vector<domain::Lane> contenders(const std::vector<Runner>& runners, const Plan& so_far) {
    std::vector<domain::Lane> lanes;
    for (const auto& runner : runners) lanes.push_back(runner.view->lane);
    for (const auto& [lane, gate] : so_far.gates)
        if (gate && waits_for_shared(*gate)) lanes.push_back(lane);
    return lanes;
}

/// What each grant counts, and against whom, once it is known who was left behind.
void count_grants(const PlanInput& input, const FairOrder& order, const std::vector<Runner>& runners, Plan& result) {
    Rivals rivals;
    std::map<domain::Lane, const LaneView*> views;
    for (const auto& lane : input.lanes) {
        views.emplace(lane.lane, &lane);
        const auto& gate = result.gates.at(lane.lane);
        if (gate && waits_for_shared(*gate)) rivals.waits(lane);
    }
    for (const auto place : order.left()) rivals.waits_for_the_turn(*runners[place].view);
    for (std::size_t i = 0; i < result.grants.size(); ++i) {
        const auto& grant = result.grants[i];
        const auto& view = *views.at(grant.lane);
        result.fair->charges[grant.execution] = {order.amounts()[i], rivals.of_other_organization(view),
                                                 rivals.of_other_type(view)};
    }
}

}

domain::Demand LaneView::demand(const Cursor::Candidate& candidate) const {
    const auto& price = prices.at(candidate.size_class, candidate.need_amounts);
    domain::Demand demand;
    demand.lane = lane;
    if (candidate.key) demand.concurrency_key = *candidate.key;
    if (candidate.limit_keys) demand.limit_keys = *candidate.limit_keys;
    demand.needs = price.needs;
    demand.starving = candidate.starving;
    demand.cost = price.cost;
    demand.guessed = price.guessed;
    if (candidate.batch) demand.batch = *candidate.batch;
    demand.importance = importance;
    demand.priority = candidate.priority;
    demand.memory_mb = memory_mb;
    return demand;
}

Plan plan(PlanInput input, domain::TimePoint now) {
    Plan result;
    result.next_opening = input.next_opening;
    std::vector<Runner> runners;
    runners.reserve(input.lanes.size());
    for (const auto& lane : input.lanes) {
        Cursor cursor(*lane.order, now, lane.max_wait);
        // Whoever may have no more of a limit by his key is not the first; one that starves is asked in its turn.
        while (!lane.key_shares.empty() && cursor.head() && !cursor.head()->starving &&
               input.admission.behind_key(lane.demand(*cursor.head()), lane.key_shares, now)) {
            result.behind_keys.emplace_back(lane.lane, cursor.head()->id);
            cursor.advance();
        }
        // One that starves is asked about in its turn: what it lacks then is kept for it.
        const auto first = cursor.head().value_or(Cursor::Candidate{});
        if (!first.starving) {
            auto closed = input.admission.closed(lane.demand(first), lane.limiters, now);
            if (closed) {
                result.next_opening = domain::earlier(result.next_opening, closed->opens_at);
                result.gates[lane.lane] = *std::move(closed);
                continue;
            }
        }
        result.gates[lane.lane] = std::nullopt;
        if (!cursor.head()) continue;
        input.admission.offer(lane.demand(first), lane.limiters);
        runners.push_back({&lane, std::move(cursor)});
    }

    if (!input.shares) {
        ScoreOrder order(runners);
        grant_in(order, input, runners, now, result);
    } else {
        result.fair.emplace().contenders = contenders(runners, result);
        input.shares->attend(result.fair->contenders);
        FairOrder order(runners, *std::move(input.shares), now);
        grant_in(order, input, runners, now, result);
        count_grants(input, order, runners, result);
    }
    // What is left of guarantees is somebody else's, if those who had them have nothing more waiting.
    if (!result.grants.empty() && input.admission.left_room()) result.more = true;
    // Of one key no more are shown.
    if (static_cast<int>(result.grants.size()) >= priority_queue::Order::kShownOfGroup) result.more = true;
    return result;
}

}
