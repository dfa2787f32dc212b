// Of the board: what is told of lanes and what is asked of them beside a plan: their last start and end, pauses that end
// when something is so.
#include "orchestrator/board.h"

#include <algorithm>

#include "subworkflows/pause_condition.h"

namespace impresario::orchestrator {

using subworkflows::PauseCondition;
using subworkflows::PauseRecord;

bool Board::healthy(const domain::EndpointId& id, domain::TimePoint now) const {
    const auto found = endpoints_.find(id);
    if (found == endpoints_.end()) return true;
    const auto& state = found->second;
    const bool held = state.health.held_until && *state.health.held_until > now;
    return !held && !domain::stops(state.breaker.record(), now);
}

void Board::set_lane_times(const std::vector<LaneTimes>& times) {
    for (const auto& each : times) {
        auto& state = lane_state(each.lane);
        state.started_at = std::max(state.started_at, each.started_at);
        state.ended_at = std::max(state.ended_at, each.ended_at);
    }
}

std::vector<LaneTimes> Board::lane_times() const {
    std::vector<LaneTimes> times;
    for (const auto& [lane, state] : lanes_)
        if (type(lane) && (state.started_at || state.ended_at))
            times.push_back({lane, state.started_at, state.ended_at});
    return times;
}

std::vector<PauseRecord> Board::met_pauses(domain::TimePoint now) const {
    std::vector<PauseRecord> met;
    for (const auto& pause : catalogue_->pauses) {
        const auto condition = subworkflows::parse_pause_condition(pause.condition);
        if (!condition) continue;
        bool holds = true;
        std::int64_t waiting = 0;
        for (const auto& [lane, type] : catalogue_->types) {
            const bool ours = pause.organization_id.empty() || pause.organization_id == lane.organization_id;
            if (!ours) continue;
            if (!pause.covers(type)) {
                waiting += queue_length(lane).waiting;
            } else if (condition->kind == PauseCondition::Kind::endpoints_healthy) {
                holds = holds && std::all_of(type.endpoints.begin(), type.endpoints.end(),
                                             [&](const auto& endpoint) { return healthy(endpoint.id, now); });
            }
        }
        if (condition->kind == PauseCondition::Kind::queue_below) holds = waiting < condition->value;
        if (holds) met.push_back(pause);
    }
    return met;
}

}
