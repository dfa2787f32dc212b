#pragma once
// What an execution asks of the resources; resource_manager answers it.

#include <string>

#include "domain/lane.h"

namespace impresario::domain {

struct Demand {
    Lane lane;
    /// Value of its concurrency key; empty if it has none.
    std::string concurrency_key;
};

}
