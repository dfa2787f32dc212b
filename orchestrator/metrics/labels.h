#pragma once
// Labels that several metrics have, and what their values are made of.

#include "domain/lane.h"
#include "domain/money.h"
#include "domain/time.h"
#include "platform/metrics.h"

namespace impresario::orchestrator::metrics {

using platform::Counter;
using platform::Gauge;
using platform::Histogram;
using platform::Metrics;

// Those whose values people choose.
inline const platform::MetricLabel kOrganization{"organization_id", true};
inline const platform::MetricLabel kType{"workflow_type", true};
inline const platform::MetricLabel kProvider{"provider", true};

inline double usd(domain::MicroUsd amount) { return static_cast<double>(amount.value) / 1e6; }

/// Answers.
inline const std::vector<double> kFast{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20};
/// Work and waiting: from milliseconds to hours.
inline const std::vector<double> kSlow{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14400};

}
