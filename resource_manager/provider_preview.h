#pragma once
// What a change of a provider's limits would do to the queue of now. Pure.

#include <cstdint>
#include <optional>
#include <vector>

#include "domain/gate.h"
#include "domain/lane.h"
#include "resource_manager/provider.h"
#include "resource_manager/provider_meters.h"
#include "resource_manager/waiting_lane.h"

namespace impresario::resource_manager {

/// How a provider's limits meet a lane's queue, as if the lane were alone: each of its keys has its ceiling, and what is
/// guaranteed to others is theirs once they ask.
struct LimitsMet {
    /// What stops its next one.
    std::optional<domain::Gate> gate;
    /// How many of those that wait may start now.
    std::int64_t fit = 0;
    /// How long until the last of those that wait may start; nullopt: never, or that depends on how long they run.
    std::optional<domain::Duration> last_in;
};

struct ProviderLanePreview {
    domain::Lane lane;
    std::int64_t waiting = 0;
    LimitsMet before;
    LimitsMet after;
};

/// Of the lanes that need the provider. nullptr: it is not limited before, or after; one of the two is given.
/// `permits`: what is known to have been taken.
std::vector<ProviderLanePreview> preview(const Provider* before, const Provider* after,
                                         const std::vector<LoadedPermit>& permits,
                                         const std::vector<WaitingLane>& lanes, domain::TimePoint now);

}
