#pragma once
// The input of a trigger.

#include <string_view>
#include <vector>

#include "domain/result.h"
#include "subworkflows/intelligence_engine/history_json.h"
#include "subworkflows/intelligence_engine/report.h"

namespace impresario::subworkflows::intelligence_engine {

/// Reads the input; empty or null stands for {}. Expects text that platform::check_json has passed. The error lists
/// what is wrong, at most ten things, each by its JSON pointer; a member that nobody knows is among them.
domain::Result<Request, std::vector<JsonMistake>> parse_request(std::string_view input);

}
