#pragma once
// Which types exist and what is stopped by hand, as one immutable value.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "domain/lane.h"
#include "subworkflows/workflow_type.h"

namespace impresario::subworkflows {

/// Empty organization or type: all of them.
struct PauseRecord {
    std::string organization_id;
    std::string workflow_type;
    std::string reason;
    std::string by;
    domain::TimePoint since;
    std::optional<domain::TimePoint> until;

    bool covers(const domain::Lane& lane) const {
        return (organization_id.empty() || organization_id == lane.organization_id) &&
               (workflow_type.empty() || workflow_type == lane.workflow_type);
    }
};

/// A snapshot; replaced as a whole when its version grows. Any thread.
struct Catalogue {
    std::int64_t version = 0;
    std::map<domain::Lane, WorkflowType> types;
    std::vector<PauseRecord> pauses;

    const WorkflowType* find(const domain::Lane& lane) const {
        const auto found = types.find(lane);
        return found == types.end() ? nullptr : &found->second;
    }
};

using CataloguePtr = std::shared_ptr<const Catalogue>;

}
