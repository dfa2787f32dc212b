#include "orchestrator/lane_limiters.h"

#include "orchestrator/switched_off.h"

namespace impresario::orchestrator {

using resource_manager::Pause;

std::vector<Pause> pauses_of(const domain::Lane& lane, const subworkflows::WorkflowType* type,
                             const std::vector<subworkflows::PauseRecord>& pauses) {
    if (!type) return {Pause{lane.workflow_type, std::string(kNotRegistered), "", std::nullopt}};
    std::vector<Pause> found;
    for (const auto& pause : pauses)
        if (pause.covers(*type))
            found.push_back({pause.subject(), pause.reason, pause.by, pause.until, pause.condition});
    if (!type->enabled) found.push_back({lane.workflow_type, std::string(kSwitchedOff), "", std::nullopt});
    return found;
}

bool has_pace(const subworkflows::WorkflowType& type) { return type.execution_interval || type.cool_down; }

resource_manager::LanePace pace_of(const subworkflows::WorkflowType& type, const LaneTimes& times) {
    return {type.lane.workflow_type, type.execution_interval, type.cool_down, times.started_at, times.ended_at};
}

}
