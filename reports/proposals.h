#pragma once
// What a week's numbers say about limits and budgets. Pure.

#include <map>
#include <vector>

#include "reports/report.h"
#include "resource_manager/provider.h"

namespace impresario::reports {

/// As they are now.
struct Limits {
    std::vector<resource_manager::Provider> providers;
    /// max_concurrency of those that have one.
    std::map<domain::Lane, int> concurrency;
};

/// Each says what, why and how to look at it; none is made of less than a week's numbers.
///
/// - A budget that stopped work, or of which at least 98 % was used, wants to be a quarter above its peak. One of which
///   never more than 40 % was used in at least three windows could be half above it.
/// - A provider's limit that held lanes for more than a tenth of the time wants to be a quarter higher, as long as the
///   provider itself refused next to nothing; one whose provider refused for more than a twentieth wants to be a fifth
///   lower.
/// - A type's concurrency that held it for more than a quarter of the time wants to be a quarter higher, as long as 95
/// %
///   succeeded.
std::vector<Proposal> proposals(const Report& report, const Limits& limits);

}
