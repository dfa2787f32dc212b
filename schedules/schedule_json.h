#pragma once
// Schedules as JSON: as they are given, and as they are shown.

#include <string>
#include <string_view>

#include "domain/result.h"
#include "schedules/schedule.h"

namespace impresario::schedules {

/// Reads what somebody wrote. The name and the organization are the caller's.
domain::Result<Schedule, domain::DefinitionFaults> parse_schedule(std::string_view body);
/// What it was made from, as it could be given again, and as it is stored.
std::string definition_json(const Schedule& schedule);

}
