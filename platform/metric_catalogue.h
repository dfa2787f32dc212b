#pragma once
// The catalogue of metrics for people.

#include <string>
#include <vector>

#include "platform/metrics.h"

namespace impresario::platform {

/// What a metric's name says it is measured in; "" for a number of things.
std::string unit_of(const Metric& metric);

/// A table for each chapter, as in docs/metrics.md.
std::string catalogue_markdown(const std::vector<Metrics::Chapter>& catalogue);

}
