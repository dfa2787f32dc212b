#pragma once
// What a change of a budget would do to the queue of now. Pure.

#include <cstdint>
#include <optional>
#include <vector>

#include "domain/gate.h"
#include "domain/lane.h"
#include "resource_manager/budget_state.h"
#include "resource_manager/waiting_lane.h"

namespace impresario::resource_manager {

/// How one budget meets a lane's queue: what stops its next one, and how many of those that wait it has money for, each
/// lane as if it were alone.
struct LanePreview {
    domain::Lane lane;
    std::int64_t waiting = 0;
    domain::MicroUsd each;
    std::optional<domain::Gate> before;
    std::optional<domain::Gate> after;
    std::int64_t fit_before = 0;
    std::int64_t fit_after = 0;
};

/// Of the lanes that either is for. nullopt: there is no budget before, or after.
std::vector<LanePreview> preview(const std::optional<BudgetState>& before, const std::optional<BudgetState>& after,
                                 const std::vector<WaitingLane>& lanes, domain::TimePoint now);

/// The same money and steps under another definition.
BudgetState redefined(const BudgetState& state, const Budget& budget, domain::TimePoint now);

}
