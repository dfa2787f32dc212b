#pragma once
// Appends to a lane's stream, under the lane row's lock.

#include <string>
#include <string_view>

#include "domain/id.h"
#include "domain/lane.h"
#include "platform/sql.h"
#include "subworkflows/catalogue_store.h"

namespace impresario::orchestrator {

/// Does nothing where the lane is gone.
void append_lane_event(platform::Tx& tx, const subworkflows::CatalogueStore& catalogue, const domain::Lane& lane,
                       const domain::NodeId& writer, std::string_view type, std::string payload);

/// What is told of an endpoint's breaker that is so now, and why.
std::string_view breaker_event(domain::BreakerState state);
std::string breaker_payload(const subworkflows::Endpoint& endpoint);

/// Which endpoint, and why and until when it is held.
std::string endpoint_payload(const subworkflows::Endpoint& endpoint);

}
