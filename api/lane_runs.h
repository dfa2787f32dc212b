#pragma once
// When each of an organization's types last ran and runs next, as the tables say.

#include <map>
#include <optional>
#include <string>

#include "platform/json_writer.h"
#include "platform/sql.h"
#include "subworkflows/workflow_type_json.h"

namespace impresario::api {

/// By type; of one type, or of all. On a database thread.
std::map<std::string, subworkflows::LaneRuns> lane_runs(platform::Tx& tx, const std::string& organization_id,
                                                        const std::optional<std::string>& type = std::nullopt);

void write_lane_runs(platform::JsonWriter& json, const subworkflows::LaneRuns& runs);

}
