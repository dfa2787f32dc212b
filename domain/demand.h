#pragma once
// What an execution asks of the resources; resource_manager answers it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "domain/id.h"
#include "domain/importance.h"
#include "domain/lane.h"
#include "domain/money.h"

namespace impresario::domain {

/// What one start is expected to ask of a provider. Of what it does not name it asks nothing.
struct Need {
    std::string provider;
    std::int64_t calls = 0;
    std::int64_t tokens = 0;
    std::int64_t items = 0;
    MicroUsd cost;
    friend auto operator<=>(const Need&, const Need&) = default;
};

struct Demand {
    Lane lane;
    /// Value of its concurrency key; empty if it has none.
    std::string concurrency_key;
    /// What its input says of the keys of limits (domain/limit_keys.h).
    std::string limit_keys = {};
    /// At most one of each provider.
    std::vector<Need> needs = {};
    /// It has waited beyond its lane's max_wait: what it lacks is kept for it (protocol R16).
    bool starving = false;
    /// What the start is expected to cost in all; unknown is not free: give the most that is likely.
    MicroUsd cost = {};
    /// Nobody knows what it costs: `cost` is a guess, and which provider's it would be is not known.
    bool guessed = false;
    std::optional<BatchId> batch = {};
    Importance importance = Importance::normal;
    int priority = 50;
    /// What it takes of the memory that all executions share, while it holds its slot.
    std::int64_t memory_mb = 0;
};

}
