#pragma once
// Rules to begin with: those that the seeds ask for, and what an operator wants to know beside them. Data; each may be
// changed, switched off, or joined by others.

#include <string_view>
#include <vector>

#include "alerts/rule.h"

namespace impresario::alerts {

/// "003" (the default), "000", "operations". A name that there is not gives none.
///
/// - 003: orchestrator_down 2 min, cost_budget_exceeded 90 %, error_rate_high 10 % (critical: page); queue_depth_high
///   500, api_limits_approaching 80 % (warning: Slack); execution_time_slow (warning, by its route mailed) at 80 % of
///   the timeout, because the 5 minutes of the seed are the timeout itself.
/// - 000: failure_rate_high above 5 % over 5 min, pending_high above 100, retries_rising.
/// - operations: outbox_lag, outbox_failed, subscriber_disabled, dead_letters, breaker_open, scheduler_changed, node_lost, provider_weather,
///   budget_forecast, anomaly, reader_failing, receiver_failing.
std::vector<Rule> preset(std::string_view name);

/// Of the hub as it comes: 003 and operations.
std::vector<Rule> default_rules();

std::vector<std::string_view> preset_names();

}
