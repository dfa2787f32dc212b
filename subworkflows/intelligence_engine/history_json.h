#pragma once
// The hub's JSON of executions and workflow types. Values are sliced out of the text that came, so that a cost keeps
// its digits. Every function expects text that platform::check_json has passed, unless it says otherwise.

#include <string>
#include <string_view>
#include <vector>

#include "domain/result.h"
#include "subworkflows/intelligence_engine/history.h"

namespace impresario::subworkflows::intelligence_engine {

/// What is wrong with a JSON text, and where (RFC 6901).
struct JsonMistake {
    std::string pointer;
    std::string what;
};

struct TypedExecution {
    std::string workflow_type;
    Execution execution;
};

/// One execution in the API's own form; `pointer` is where it stands. Members that the engine does not look at are
/// passed over. Needed: execution_id, workflow_type, status, created_at.
domain::Result<TypedExecution, JsonMistake> parse_execution(std::string_view object, const std::string& pointer);

struct Page {
    std::vector<TypedExecution> executions;
    /// Empty on the last page.
    std::string next_cursor;
};

/// An answer of GET /v1/executions, any bytes.
domain::Result<Page, JsonMistake> parse_page(std::string_view body);

/// The names in an answer of GET /v1/workflow-types, any bytes.
domain::Result<std::vector<std::string>, JsonMistake> parse_type_names(std::string_view body);

/// A whole number from `least` to `most` in plain digits; nullopt for anything else.
std::optional<std::int64_t> whole_number(std::string_view value, std::int64_t least, std::int64_t most);

/// A string that is an RFC 3339 time of the years 1970 to 9999; nullopt for anything else.
std::optional<domain::TimePoint> time_value(std::string_view value);

}
