#pragma once
// Alerts of others, as they are posted to an Alertmanager (/api/v2/alerts): the hub takes them in that form too.

#include <string_view>
#include <vector>

#include "alerts/alert.h"
#include "domain/definition_fault.h"
#include "domain/result.h"

namespace impresario::alerts {

inline constexpr std::size_t kMostReceivedAlerts = 1000;

/// Without endsAt an alert ends so long after it was last received, as in Alertmanager.
inline constexpr domain::Duration kResolveTimeout = std::chrono::minutes{5};

/// All of them, or what is wrong with them, by pointers like "/3/labels/a-b". Empty labels are dropped; one must be
/// left, and alertname is "" where there is none. Annotations summary, description, runbook_url and command get their
/// places, others are kept; an alert without startsAt began at `now`, and ends_at is always set: the door puts each
/// in the place of what it had with the same fingerprint, keeps the earlier `since` and the acknowledgement while that
/// fires, and hands them to plan() beside its own.
domain::Result<std::vector<Alert>, domain::DefinitionFaults> parse_alerts(std::string_view body, domain::TimePoint now);

}
