#pragma once
// Queue order × limiters × now → who starts. Pure: values in, values out.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "domain/execution.h"
#include "domain/gate.h"
#include "domain/id.h"
#include "domain/lane.h"
#include "priority_queue/order.h"
#include "resource_manager/admission.h"

namespace impresario::orchestrator {

/// One lane that has work waiting.
struct LaneView {
    domain::Lane lane;
    const priority_queue::Order* order = nullptr;
    domain::Duration max_wait = std::chrono::hours{4};
    /// What each of its executions is expected to ask of its providers.
    std::vector<domain::Need> needs = {};
    /// Its limiters in the order in which they are tried.
    std::vector<std::size_t> limiters = {};

    /// What one of its executions asks.
    domain::Demand demand(std::string key, bool starving) const { return {lane, std::move(key), needs, starving}; }
};

struct PlanInput {
    std::vector<LaneView> lanes;
    resource_manager::Admission admission;
    /// Most grants of one turn (003's max_batch_size).
    int most = 100;
    /// In its lane's order, and in no table yet.
    std::optional<domain::Execution> newcomer = {};
};

struct PlannedGrant {
    domain::ExecutionId execution;
    domain::Lane lane;
    domain::EndpointId endpoint;
    /// What it was given of its providers.
    std::vector<domain::Need> needs = {};
};

struct Plan {
    /// Best first.
    std::vector<PlannedGrant> grants;
    /// For each lane of the input: the gate that stops it, nullopt where it is open.
    std::map<domain::Lane, std::optional<domain::Gate>> gates;
    /// There is more that could go than one turn grants.
    bool more = false;
    /// When the earliest gate opens by itself.
    std::optional<domain::TimePoint> next_opening;
};

/// Across lanes the best head among those with open gates goes next: first those beyond their lane's max_wait, oldest
/// first, then by score, created_at, id (P6). A closed lane is passed over as a whole, however much waits in it.
Plan plan(PlanInput input, domain::TimePoint now);

}
