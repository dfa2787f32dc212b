#pragma once
// A workflow type as JSON: one form for the API, the configuration file and the database's retry_policy column.

#include <string>
#include <string_view>
#include <vector>

#include "domain/result.h"
#include "subworkflows/workflow_type.h"

namespace impresario::subworkflows {

/// Reads a definition. Members that are absent take their defaults; secrets that are absent stay as they are in
/// `existing` (they are never shown, so nobody can send them back), null removes them. Every fault is listed, unknown
/// members among them.
domain::Result<WorkflowType, std::vector<DefinitionFault>> parse_workflow_type(std::string_view json,
                                                                               const domain::Lane& lane,
                                                                               const WorkflowType* existing);

/// When one of its executions last started and ended, and when the next one may start.
struct LaneRuns {
    std::optional<domain::TimePoint> last_started_at;
    std::optional<domain::TimePoint> last_ended_at;
    /// As far as anybody knows: of what waits, or else of its schedules.
    std::optional<domain::TimePoint> next_start_at;
};

/// What readers may see: secrets only as "how many".
std::string workflow_type_json(const WorkflowType& type, const LaneRuns& runs = {});
/// How an endpoint's breaker stands, as an object.
std::string breaker_json(const domain::BreakerRecord& breaker);

std::string retry_policy_json(const domain::RetryPolicy& policy);
/// From the database; falls back to master where it cannot be read.
domain::RetryPolicy stored_retry_policy(std::string_view json, int max_retries);

/// How a cheaper variant is stored.
std::string cheaper_variant_json(const WorkflowType::CheaperVariant& variant);
std::optional<WorkflowType::CheaperVariant> stored_cheaper_variant(std::string_view text);

}
