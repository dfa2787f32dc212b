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
/// What fires must be said again within that, whatever it says itself.
inline constexpr domain::Duration kLongestReceived = std::chrono::hours{24};

/// All of them, or what is wrong with them, by pointers like "/3/labels/a-b". Empty labels are dropped; one must be
/// left. Annotations summary, description, runbook_url and command get their places, others are kept. One without
/// startsAt began at `now`; `ends_at` is always set. The door puts each in the place of what it has with the same
/// fingerprint, and hands all that fire, or are still needed, to plan() beside its own.
/// Where two have the same labels the later counts. `organization`: whose they are, whatever they say; "": they may
/// say.
domain::Result<std::vector<Alert>, domain::DefinitionFaults> parse_alerts(std::string_view body, domain::TimePoint now,
                                                                          const std::string& organization = "");

}
