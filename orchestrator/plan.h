#pragma once
// Queue order × limiters × now → who starts. Pure: values in, values out.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "domain/execution.h"
#include "domain/gate.h"
#include "domain/id.h"
#include "domain/importance.h"
#include "domain/lane.h"
#include "domain/thrift.h"
#include "priority_queue/order.h"
#include "resource_manager/admission.h"
#include "resource_manager/fair_shares.h"
#include "resource_manager/price.h"

namespace impresario::orchestrator {

/// One lane that has work waiting.
struct LaneView {
    domain::Lane lane;
    const priority_queue::Order* order = nullptr;
    domain::Duration max_wait = std::chrono::hours{4};
    /// What each of its executions is expected to ask of its providers, and to cost.
    resource_manager::PriceList prices = {};
    domain::Importance importance = domain::Importance::normal;
    /// A budget is for it.
    bool budgeted = false;
    domain::Thrift thrift = {};
    /// What one of its executions reserves while it runs.
    std::int64_t memory_mb = 0;
    /// Its limiters in the order in which they are tried.
    std::vector<std::size_t> limiters = {};
    /// Of those the ones about keys.
    std::vector<std::size_t> key_shares = {};

    /// What this one asks.
    domain::Demand demand(const priority_queue::Cursor::Candidate& candidate) const;
};

struct PlanInput {
    std::vector<LaneView> lanes;
    resource_manager::Admission admission;
    /// Most grants of one turn (003's max_batch_size).
    int most = 100;
    /// In its lane's order, and in no table yet.
    std::optional<domain::Execution> newcomer = {};
    /// When something opens by itself that no lane shows.
    std::optional<domain::TimePoint> next_opening = {};
    /// How all stand by the shares of a policy; nullopt: there is none.
    std::optional<resource_manager::FairShares> shares = {};
};

struct PlannedGrant {
    domain::ExecutionId execution;
    domain::Lane lane;
    domain::EndpointId endpoint;
    /// What it was granted.
    domain::Demand demand = {};
    bool budgeted = false;
    domain::Thrift thrift = {};
};

/// What a plan means for the shares.
struct FairTurn {
    /// Lanes with work that may go, or that waits for what other lanes take as well.
    std::vector<domain::Lane> contenders;
    std::map<domain::ExecutionId, resource_manager::FairCharge> charges;
};

struct Plan {
    /// Best first.
    std::vector<PlannedGrant> grants;
    /// For each lane of the input: the gate that stops it, nullopt where it is open.
    std::map<domain::Lane, std::optional<domain::Gate>> gates;
    /// Whose key may have no more of a limit: those that were asked about first of all with the same keys.
    std::vector<std::pair<domain::Lane, domain::ExecutionId>> behind_keys;
    /// There is more that could go than one turn grants.
    bool more = false;
    /// When the earliest gate opens by itself.
    std::optional<domain::TimePoint> next_opening;
    /// With a policy.
    std::optional<FairTurn> fair;
};

/// Across lanes the best head among those with open gates goes next: first those beyond their lane's max_wait, oldest
/// first, then by score, created_at, id (P6). A closed lane is passed over as a whole, however much waits in it. With
/// shares, whose lane it is comes before the score (fair_order.h).
Plan plan(PlanInput input, domain::TimePoint now);

}
