#pragma once
// An execution as it stood at a time that has passed, from its events and from what its row says now. Pure.

#include <optional>
#include <vector>

#include "domain/execution.h"
#include "journal/event_store.h"
#include "orchestrator/explain.h"

namespace impresario::orchestrator {

/// What an execution's events say of it: `events` in their order, the first of them the first of all.
struct Traced {
    domain::Execution then;
    /// Gates of its own until then; the last has no end where it was closed then.
    std::vector<GateRun> own_gates;
};
Traced trace(const domain::Execution& row, const std::vector<journal::StoredEvent>& events, domain::TimePoint at);

}
