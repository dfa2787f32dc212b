#pragma once
// A lane's queue of now, and what one start of it is expected to ask.

#include <cstdint>

#include "domain/importance.h"
#include "domain/lane.h"
#include "resource_manager/price.h"

namespace impresario::resource_manager {

struct WaitingLane {
    domain::Lane lane;
    std::int64_t waiting = 0;
    PriceList::Price price;
    domain::Importance importance = domain::Importance::normal;
};

}
