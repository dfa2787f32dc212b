#pragma once
// Looks at how the hub is, from any node.

#include <string>

#include "orchestrator/health.h"
#include "orchestrator/node.h"

namespace impresario::orchestrator {

struct HealthLook {
    /// Empty where the database does not answer.
    HealthView view;
    Health health;
};

/// "": of all organizations. `quiet`: who has not been heard of for so long has stalled. Does not throw for what a
/// database does. Network thread.
platform::Task<HealthLook> look_at_health(Node& node, std::string organization_id, std::chrono::seconds quiet,
                                          HealthMarks marks);

}
