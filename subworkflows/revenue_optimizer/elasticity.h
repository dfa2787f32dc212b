#pragma once
// How demand answers to price: a logistic regression of orders on the logarithm of price.
//
// Of the two usual models, the binomial one with logit link is taken rather than a log-log line: it weighs each row by
// what it knows, a row without orders has a place in it (its logarithm would not), conversion stays between 0 and 1
// however far the price moves, and where conversion is small it *is* the constant-elasticity model, because then
// log p ≈ intercept + slope · log price.

#include <span>

#include "domain/result.h"
#include "subworkflows/revenue_optimizer/refusal.h"
#include "subworkflows/revenue_optimizer/sales_history.h"

namespace impresario::subworkflows::revenue_optimizer {

/// logit p(price) = intercept + slope · ln(price / reference_price), p being the probability that a visit orders.
struct DemandCurve {
    /// > 0, in the shop's currency.
    double reference_price = 1;
    double intercept = 0;
    double slope = 0;

    /// p at `price` > 0; in (0, 1).
    double conversion(double price) const;
    /// d ln p / d ln price = slope · (1 − p): percent more orders for one percent more price, at `price`.
    /// Train, "Discrete Choice Methods with Simulation" (2009), 3.6.
    double elasticity(double price) const;
};

/// The curve that fits best, how sure it is, and how well it fits.
struct DemandFit {
    DemandCurve curve;
    /// Covariance of intercept and slope, dispersion included.
    double intercept_variance = 0;
    double covariance = 0;
    double slope_variance = 0;

    /// Rows with visits.
    int observations = 0;
    int distinct_prices = 0;
    double lowest_price = 0;
    double highest_price = 0;
    double visits = 0;
    double orders = 0;

    /// Twice what the log-likelihood lacks to a model with one probability per row, for the curve and for no price
    /// effect at all. McCullagh & Nelder, "Generalized Linear Models" (1989), 4.4.3.
    double deviance = 0;
    double null_deviance = 0;
    /// Σ (orders − expected)² / variance over rows, neighbours at one price joined until each expects five orders and
    /// five visits without (Cochran's rule), and the degrees of freedom that the fit leaves: joined rows − 2, at least
    /// 0.
    double pearson = 0;
    int degrees_of_freedom = 0;
    /// Probability of a Pearson statistic as large if orders were binomial around the curve; 1 without degrees.
    double fit_p_value = 1;
    /// pearson / degrees_of_freedom where fit_p_value < 0.05, otherwise 1: how many times more orders vary than a
    /// binomial would. Multiplies the covariance. McCullagh & Nelder (1989), 4.5.
    double dispersion = 1;
    int iterations = 0;

    bool overdispersed() const { return dispersion > 1; }
    /// 1 − deviance / null_deviance, in [0, 1].
    double pseudo_r2() const;
    /// Half-width of a two-sided interval in standard errors: normal, or Student's t where the dispersion was
    /// estimated.
    double critical(double confidence) const;
};

/// Fits by iteratively reweighted least squares (McCullagh & Nelder 1989, 2.5), which for the logit link is Newton's
/// method on a concave likelihood; steps that lose likelihood are halved. Rows without visits are left out. Prices that
/// differ by less than a millionth are one. Refuses, beside what check_sales refuses: no_visits, no_orders,
/// only_orders, too_few_prices, perfect_separation (by the exact condition of Albert & Anderson, Biometrika 71 (1984)),
/// not_converged.
domain::Result<DemandFit, Refusal> fit_demand(std::span<const Observation> rows);

/// An elasticity with its interval.
struct Elasticity {
    double value = 0;
    double standard_error = 0;
    double low = 0;
    double high = 0;
};

/// The elasticity at `price` > 0 with a two-sided interval of `confidence` in (0, 1), by the delta method (Oehlert, The
/// American Statistician 46 (1992)).
Elasticity elasticity_at(const DemandFit& fit, double price, double confidence);

}
