#pragma once
// What rules look at, as the scheduler knows it. Pure.

#include "alerts/reading.h"
#include "orchestrator/board.h"
#include "orchestrator/probe.h"

namespace impresario::orchestrator {

/// queue_depth, failed_percent, retry_rise_percent, budget_used_percent, budget_short_seconds, provider_used_percent,
/// provider_cooling_seconds, breaker_open.
/// What has happened lately is known since `since`: about what had happened before nothing is said, so that it stays as
/// it is.
alerts::Readings read_board(const Board& board, domain::TimePoint since, domain::TimePoint now);

/// outbox_lag_seconds.
std::vector<alerts::Reading> read_backlogs(const std::vector<Probe::Backlog>& backlogs);

}
