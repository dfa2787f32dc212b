#pragma once
// A lane's queue of now, and what one start of it is expected to ask.

#include <cstdint>
#include <string>
#include <vector>

#include "domain/importance.h"
#include "domain/lane.h"
#include "resource_manager/price.h"

namespace impresario::resource_manager {

struct WaitingLane {
    domain::Lane lane;
    std::int64_t waiting = 0;
    PriceList::Price price;
    domain::Importance importance = domain::Importance::normal;
    /// How many of them have the same keys, where somebody asked; of those that are not here nothing is known.
    struct SameKeys {
        /// As their rows keep them (domain/limit_keys.h).
        std::string limit_keys;
        std::int64_t waiting = 0;
    };
    std::vector<SameKeys> keys = {};
};

}
