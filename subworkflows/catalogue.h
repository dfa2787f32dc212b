#pragma once
// Which types exist and what is stopped by hand, as one immutable value.

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "domain/lane.h"
#include "subworkflows/workflow_type.h"

namespace impresario::subworkflows {

/// Empty organization or type: all of them. With a provider: all lanes that call it.
struct PauseRecord {
    std::string organization_id;
    std::string workflow_type;
    std::string reason;
    std::string by;
    domain::TimePoint since;
    std::optional<domain::TimePoint> until;
    /// What else ends it, as in pause_condition.h; empty: nothing.
    std::string condition = {};
    std::string provider = {};

    /// What it stops, for people.
    const std::string& subject() const {
        static const std::string all = "everything";
        return !provider.empty()         ? provider
               : organization_id.empty() ? all
               : workflow_type.empty()   ? organization_id
                                         : workflow_type;
    }
    bool covers(const WorkflowType& type) const {
        const auto calls = [&](const domain::Need& need) { return need.provider == provider; };
        return (organization_id.empty() || organization_id == type.lane.organization_id) &&
               (workflow_type.empty() || workflow_type == type.lane.workflow_type) &&
               (provider.empty() || std::any_of(type.needs.begin(), type.needs.end(), calls));
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
