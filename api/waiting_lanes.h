#pragma once
// The queue of now, for who asks what a change would do to it.

#include <cstdint>
#include <map>
#include <vector>

#include "domain/lane.h"
#include "domain/money.h"
#include "platform/sql.h"
#include "resource_manager/waiting_lane.h"
#include "subworkflows/catalogue.h"

namespace impresario::api {

/// How many wait in each lane in which somebody does.
std::map<domain::Lane, std::int64_t> count_waiting(platform::Tx& tx);

/// Every type's lane, whether anybody waits in it or not. `unknown_cost`: of what nobody knows the cost of.
std::vector<resource_manager::WaitingLane> waiting_lanes(platform::Tx& tx, const subworkflows::Catalogue& catalogue,
                                                         domain::MicroUsd unknown_cost);

/// Fills in the keys of those that need this provider.
void add_keys(platform::Tx& tx, const std::string& provider, std::vector<resource_manager::WaitingLane>& lanes);

}
