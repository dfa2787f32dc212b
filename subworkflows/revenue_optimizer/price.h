#pragma once
// The price that earns most for each visit, and how far it may be off.

#include <optional>

#include "domain/result.h"
#include "subworkflows/revenue_optimizer/elasticity.h"
#include "subworkflows/revenue_optimizer/random.h"

namespace impresario::subworkflows::revenue_optimizer {

/// (price − unit_cost) · conversion(price), in the shop's currency.
double profit_per_visit(const DemandCurve& curve, double price, double unit_cost);

/// The price in [lowest, highest] with the highest profit per visit; 0 < lowest ≤ highest, 0 ≤ unit_cost < highest.
///
/// The derivative of profit has the sign of price + slope · (1 − p) · (price − unit_cost), which above unit_cost
/// changes at most once and from plus to minus: the mark-up rule price / (price − cost) = −elasticity (Lerner, Review
/// of Economic Studies 1 (1934)). Its root is found by TOMS 748 (Alefeld, Potra & Shi, ACM TOMS 21 (1995)); without one
/// the answer is an end of the range, with a slope from −1 upwards always the upper one.
double best_price(const DemandCurve& curve, double unit_cost, double lowest, double highest);

struct PriceQuestion {
    /// Cost of one order, ≥ 0.
    double unit_cost = 0;
    /// Bounds of the answer.
    double min_price = 0;
    double max_price = 0;
    double current_price = 0;
    /// Of the intervals, in (0, 1).
    double confidence = 0.9;
    /// Draws behind the intervals.
    int draws = 20000;
};

struct PriceAdvice {
    double recommended = 0;
    /// Where the best price lies with the asked confidence; holds the recommended one.
    double low = 0;
    double high = 0;
    /// At the recommended and at the current price, by the curve that fits best.
    double profit_per_visit = 0;
    double current_profit_per_visit = 0;
    /// Percent that the first is above the second, and its interval; absent where the current price earns nothing.
    std::optional<double> uplift_percent;
    double uplift_low_percent = 0;
    double uplift_high_percent = 0;
    /// The profit still rises, or falls, at the bound that was recommended.
    bool at_min = false;
    bool at_max = false;
};

/// Best price with intervals by simulation (Krinsky & Robb, Review of Economics and Statistics 68 (1986)): curves are
/// drawn from the normal distribution of the estimate (from a multivariate t where dispersion was estimated), each
/// gives its own best price and uplift, and their quantiles are the intervals. Unlike the delta method this stays right
/// where bounds cut the answer off. Refuses with not_finite, negative_number, bad_bounds, cost_above_bounds.
domain::Result<PriceAdvice, Refusal> advise_price(const DemandFit& fit, const PriceQuestion& question, Random& random);

}
