#pragma once
// Reads what a report says: an hour at a time, so that no statement takes long and nobody waits for it.

#include <functional>
#include <optional>
#include <string>

#include "orchestrator/node.h"
#include "reports/report.h"

namespace impresario::orchestrator {

struct ReportAsked {
    reports::Kind kind = reports::Kind::daily;
    reports::Period period;
    std::string zone;
    /// "": of all.
    std::string organization_id = {};
    /// Rests between its statements for as long as they take: it is nobody's rival.
    bool gently = false;
    /// For how long alerts are kept that have resolved.
    domain::Duration alerts_kept = std::chrono::hours{24 * 90};
};

/// `goes_on` is asked between the hours; nullopt: it said no. Of what has not ended yet it says what there is. Throws
/// what a database throws. Network thread; the node outlives it.
platform::Task<std::optional<reports::Report>> make_report(Node& node, ReportAsked asked,
                                                           std::function<bool()> goes_on);

}
