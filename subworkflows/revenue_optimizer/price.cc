#include "subworkflows/revenue_optimizer/price.h"

#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

#include "subworkflows/revenue_optimizer/number.h"

namespace impresario::subworkflows::revenue_optimizer {

namespace {

/// Linear between order statistics (Hyndman & Fan, The American Statistician 50 (1996), type 7). Sorts `values`.
struct Quantiles {
    explicit Quantiles(std::vector<double>& values) : sorted(values) { std::sort(sorted.begin(), sorted.end()); }
    double at(double probability) const {
        const double place = probability * static_cast<double>(sorted.size() - 1);
        const auto below = static_cast<std::size_t>(place);
        const auto above = std::min(below + 1, sorted.size() - 1);
        return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
    }
    std::vector<double>& sorted;
};

}

double profit_per_visit(const DemandCurve& curve, double price, double unit_cost) {
    return (price - unit_cost) * curve.conversion(price);
}

double best_price(const DemandCurve& curve, double unit_cost, double lowest, double highest) {
    const double from = std::max(lowest, unit_cost);
    const auto rise = [&](double price) { return price + curve.elasticity(price) * (price - unit_cost); };
    const double rise_from = rise(from);
    const double rise_to = rise(highest);
    if (rise_to >= 0) return highest;
    if (rise_from <= 0) return from;
    std::uintmax_t steps = 100;
    const auto root = boost::math::tools::toms748_solve(rise, from, highest, rise_from, rise_to,
                                                        boost::math::tools::eps_tolerance<double>(48), steps);
    return root.first + (root.second - root.first) / 2;
}

domain::Result<PriceAdvice, Refusal> advise_price(const DemandFit& fit, const PriceQuestion& question, Random& random) {
    const double cost = question.unit_cost;
    if (!std::isfinite(cost)) return Refusal{Why::not_finite, "unit_cost is not a finite number"};
    if (cost < 0) return Refusal{Why::negative_number, "unit_cost is " + plain(cost)};
    if (!std::isfinite(question.min_price) || !std::isfinite(question.max_price))
        return Refusal{Why::not_finite, "min_price or max_price is not a finite number"};
    if (!(question.min_price > 0) || question.min_price > question.max_price)
        return Refusal{Why::bad_bounds, "min_price " + plain(question.min_price) + " and max_price " +
                                            plain(question.max_price) + " do not enclose a positive price"};
    if (question.max_price <= cost)
        return Refusal{Why::cost_above_bounds,
                       "max_price " + plain(question.max_price) + " is not above unit_cost " + plain(cost)};

    PriceAdvice advice;
    const auto best = [&](const DemandCurve& curve) {
        return best_price(curve, cost, question.min_price, question.max_price);
    };
    advice.recommended = best(fit.curve);
    advice.profit_per_visit = profit_per_visit(fit.curve, advice.recommended, cost);
    advice.current_profit_per_visit = profit_per_visit(fit.curve, question.current_price, cost);
    advice.at_max = advice.recommended >= question.max_price;
    advice.at_min = !advice.at_max && advice.recommended <= std::max(question.min_price, cost);
    const bool earns = advice.current_profit_per_visit > 0;
    const auto uplift = [&](const DemandCurve& curve) {
        return 100 * (profit_per_visit(curve, advice.recommended, cost) /
                          profit_per_visit(curve, question.current_price, cost) -
                      1);
    };
    if (earns) advice.uplift_percent = uplift(fit.curve);

    // Cholesky factor of the covariance.
    const double aa = std::sqrt(fit.intercept_variance);
    const double ba = aa > 0 ? fit.covariance / aa : 0;
    const double bb = std::sqrt(std::max(fit.slope_variance - ba * ba, 0.0));
    std::vector<double> prices;
    std::vector<double> uplifts;
    prices.reserve(static_cast<std::size_t>(question.draws));
    uplifts.reserve(static_cast<std::size_t>(question.draws));
    for (int draw = 0; draw < question.draws; ++draw) {
        double heavier = 1;
        if (fit.overdispersed()) {
            const double degrees = fit.degrees_of_freedom;
            heavier = std::sqrt(degrees / random.chi_square(degrees));
        }
        const double first = random.normal() * heavier;
        const double second = random.normal() * heavier;
        DemandCurve curve = fit.curve;
        curve.intercept += aa * first;
        curve.slope += ba * first + bb * second;
        prices.push_back(best(curve));
        // A drawn curve may leave the current price no orders that a double could hold.
        if (earns)
            if (const double drawn = uplift(curve); std::isfinite(drawn)) uplifts.push_back(drawn);
    }
    const double tail = (1 - question.confidence) / 2;
    const Quantiles price_quantiles(prices);
    // Where noise drowns everything the draws may all lie on one side.
    advice.low = std::min(price_quantiles.at(tail), advice.recommended);
    advice.high = std::max(price_quantiles.at(1 - tail), advice.recommended);
    if (!uplifts.empty()) {
        const Quantiles uplift_quantiles(uplifts);
        advice.uplift_low_percent = uplift_quantiles.at(tail);
        advice.uplift_high_percent = uplift_quantiles.at(1 - tail);
    } else {
        advice.uplift_percent.reset();
    }
    return advice;
}

}
