#pragma once
// The answer for one item: fit, price and warnings for a product; shares and stopping for an experiment.

#include <optional>
#include <string>
#include <vector>

#include "domain/result.h"
#include "subworkflows/revenue_optimizer/elasticity.h"
#include "subworkflows/revenue_optimizer/price.h"
#include "subworkflows/revenue_optimizer/refusal.h"
#include "subworkflows/revenue_optimizer/request.h"
#include "subworkflows/revenue_optimizer/thompson.h"

namespace impresario::subworkflows::revenue_optimizer {

struct ProductAdvice {
    std::string key;
    DemandFit fit;
    /// At the current price.
    Elasticity elasticity;
    double current_price = 0;
    PriceAdvice price;
    /// What a careful reader should know, each "name: sentence".
    std::vector<std::string> warnings;
};

struct ExperimentAdvice {
    std::string key;
    Verdict verdict;
    std::vector<std::string> warnings;
};

/// Everything about one product, or the first reason against it.
///
/// Warnings: unread_member, few_orders (under 30), overdispersed, demand_rises (slope ≥ 0), elasticity_uncertain (its
/// interval holds 0), extrapolated (outside the observed prices), at_min_price, at_max_price, below_cost (the current
/// price), uplift_uncertain (its interval holds 0).
domain::Result<ProductAdvice, Refusal> advise(const Product& product, const Settings& settings);

/// Everything about one experiment, or the first reason against it. Warnings: unread_member.
domain::Result<ExperimentAdvice, Refusal> advise(const Experiment& experiment, const Settings& settings);

}
