#pragma once
// The limiters that a workflow type and the pauses of the catalogue stand for: asked in a plan, in the transaction of a
// grant, and about times to come. Pure.

#include <vector>

#include "orchestrator/lane_times.h"
#include "resource_manager/limiter.h"
#include "subworkflows/catalogue.h"

namespace impresario::orchestrator {

/// What stops the lane by hand or by its type; `type`: null where it is not registered.
std::vector<resource_manager::Pause> pauses_of(const domain::Lane& lane, const subworkflows::WorkflowType* type,
                                               const std::vector<subworkflows::PauseRecord>& pauses);

/// Whether the type has an interval or cools down.
bool has_pace(const subworkflows::WorkflowType& type);
resource_manager::LanePace pace_of(const subworkflows::WorkflowType& type, const LaneTimes& times);

}
