#pragma once
// Which variant next visitors should see: Thompson sampling on conversions.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "domain/result.h"
#include "subworkflows/revenue_optimizer/random.h"
#include "subworkflows/revenue_optimizer/refusal.h"

namespace impresario::subworkflows::revenue_optimizer {

/// What one arm of an experiment has seen.
struct Variant {
    std::string name;
    /// Whole, ≥ 0.
    double visitors = 0;
    /// Whole, from 0 to visitors.
    double conversions = 0;
    /// What a conversion is worth, in any one unit, > 0.
    double value = 1;
};

struct ThompsonQuestion {
    /// Visitors to be split; nullopt: only shares are asked for. From 0 to kMostCounted.
    std::optional<std::int64_t> traffic;
    /// Of the credible intervals, in (0, 1).
    double confidence = 0.9;
    /// Samples from the joint posterior.
    int draws = 20000;
    /// Stop when the expected loss of the best is at most this part of its expected value.
    double loss_threshold = 0.01;
};

struct VariantVerdict {
    std::string name;
    /// Part of the next traffic: probability_best in whole 2⁻²⁰, so that doubles add up to exactly 1 in any order.
    double share = 0;
    /// Of the traffic; these add up to it.
    std::optional<std::int64_t> visitors;
    /// Share of draws in which its value per visitor was the highest.
    double probability_best = 0;
    /// Posterior mean of the conversion rate, and its equal-tailed credible interval.
    double rate = 0;
    double low = 0;
    double high = 0;
    /// E[best value per visitor − own value per visitor], ≥ 0: the price of choosing it for good.
    double expected_loss = 0;
};

struct Verdict {
    std::vector<VariantVerdict> variants;
    /// Index of the highest expected value per visitor.
    std::size_t best = 0;
    /// What is still to be learnt is worth less than the threshold: take the best one for good.
    bool stop = false;
};

/// Most variants of one experiment: bounds the time of one item.
inline constexpr std::size_t kMostVariants = 100;

/// Conversions are Bernoulli with a uniform Beta(1, 1) prior, so the posterior of a rate is
/// Beta(1 + conversions, 1 + visitors − conversions). Shares follow the probability of being best (Thompson, Biometrika
/// 25 (1933); as an allocation for batches: Scott, Applied Stochastic Models in Business and Industry 26 (2010)). The
/// stopping rule is Stucchio's expected loss ("Bayesian A/B Testing at VWO", 2015), its threshold relative to the rate.
/// Refuses with too_few_variants (two are needed), too_many_variants, repeated_variant, not_finite, negative_number,
/// fractional_count, count_too_large, conversions_exceed_visitors, value_not_positive.
domain::Result<Verdict, Refusal> judge_variants(std::span<const Variant> variants, const ThompsonQuestion& question,
                                                Random& random);

/// `total` in whole parts proportional to `weights`, by largest remainder (Hamilton's method); the earlier one where
/// remainders are even. Weights from 0 to 10⁶ with a sum above 0; total from 0 to kMostCounted.
std::vector<std::int64_t> apportion(std::span<const std::int64_t> weights, std::int64_t total);

}
