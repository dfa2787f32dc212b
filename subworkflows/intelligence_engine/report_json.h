#pragma once
// The report as a callback.

#include <optional>
#include <string>

#include "domain/callback.h"
#include "subworkflows/intelligence_engine/history_json.h"
#include "subworkflows/intelligence_engine/report.h"

namespace impresario::subworkflows::intelligence_engine {

/// result_data.
std::string report_json(const Report& report, const Request& request);

/// What the reading took and what stood in its way.
struct ReadingOutcome {
    std::int64_t executions = 0;
    std::int64_t requests = 0;
    /// At least one type that could not be read may be readable later.
    bool again = true;
    std::optional<domain::Duration> retry_after;
};

/// completed; partial where some types could not be read; failed where none of several or the only one could.
domain::Callback answer(const Report& report, const Request& request, const ReadingOutcome& reading);

/// A failure that stands for the whole run.
domain::Callback failure(std::string message, bool again, std::optional<domain::Duration> retry_after = {});
/// The same for an input that is wrong: not to be tried again, each mistake by its pointer.
domain::Callback refusal(const std::vector<JsonMistake>& mistakes);

}
