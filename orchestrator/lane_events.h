#pragma once
// Appends to a lane's stream, under the lane row's lock.

#include <string>
#include <string_view>

#include "domain/event.h"
#include "domain/id.h"
#include "domain/lane.h"
#include "platform/sql.h"
#include "resource_manager/provider_weather.h"
#include "subworkflows/catalogue_store.h"

namespace impresario::orchestrator {

/// Does nothing where the lane is gone.
void append_lane_event(platform::Tx& tx, const subworkflows::CatalogueStore& catalogue, const domain::Lane& lane,
                       const domain::NodeId& writer, std::string_view type, std::string payload);

/// Each lane that a pause means has it in its stream, with who and why.
void tell_lanes(platform::Tx& tx, const subworkflows::CatalogueStore& store, const subworkflows::Catalogue& catalogue,
                const subworkflows::PauseRecord& pause, const domain::NodeId& writer, std::string_view type);

/// How a provider does, for its stream.
domain::Event provider_event(std::string_view type, const std::array<std::uint8_t, 16>& stream, int seq,
                             const std::string& provider, const resource_manager::WeatherRecord& weather);

/// What is told of an endpoint's breaker that is so now, and why.
std::string_view breaker_event(domain::BreakerState state);
std::string breaker_payload(const subworkflows::Endpoint& endpoint);

/// Which endpoint, and why and until when it is held.
std::string endpoint_payload(const subworkflows::Endpoint& endpoint);

}
