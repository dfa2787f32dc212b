#pragma once
// An execution with all that came from it: parts of it that were tried anew, replays, and what came from those.

#include <cstdint>
#include <optional>
#include <vector>

#include "domain/execution.h"
#include "domain/id.h"
#include "domain/time.h"

namespace impresario::domain {

struct FamilyMember {
    ExecutionId id;
    Status status = Status::queued;
    /// When it ended, or when anything happened to it since.
    std::optional<TimePoint> ended;
    /// It is in the dead-letter queue and nobody has decided about it, or something that it used is still to be booked.
    bool held = false;
    /// The number of its last event.
    std::int64_t last_event = 0;
};

/// The first of them is the one that all others came from.
struct Family {
    TimePoint created{};
    std::vector<FamilyMember> members;
};

}
