#include "subworkflows/revenue_optimizer/elasticity.h"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "subworkflows/revenue_optimizer/number.h"

namespace impresario::subworkflows::revenue_optimizer {

namespace {

constexpr double kSamePrice = 1e-6;
constexpr double kDispersionLevel = 0.05;
constexpr double kCellExpects = 5;
/// Beyond anything that counts up to kMostCounted around a curve give; covariances would overflow.
constexpr double kWorstPearson = 1e18;
constexpr int kMostIterations = 100;

double logistic(double logit) {
    if (logit >= 0) return 1 / (1 + std::exp(-logit));
    const double odds = std::exp(logit);
    return odds / (1 + odds);
}

/// ln(1 + e^x) without overflow.
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

/// n · ln(n / m), 0 for n = 0.
double excess(double n, double m) { return n > 0 ? n * std::log(n / m) : 0; }

struct Point {
    double x = 0;  // ln(price / reference)
    double visits = 0;
    double orders = 0;
};
using Points = std::vector<Point>;

/// A point as the curve expects it. Taken from whichever of the two probabilities is small, which keeps its digits.
struct Expected {
    Expected(const Point& point, double logit) : p(logistic(logit)), q(logistic(-logit)) {
        residual = p < 0.5 ? point.orders - point.visits * p : point.visits * q - (point.visits - point.orders);
        variance = point.visits * p * q;
    }
    double p;
    double q;
    /// Orders beyond the expected ones.
    double residual;
    double variance;
};

double log_likelihood(const Points& points, double intercept, double slope) {
    double sum = 0;
    for (const Point& point : points) {
        const double logit = intercept + slope * point.x;
        sum += point.orders * logit - point.visits * softplus(logit);
    }
    return sum;
}

/// Twice the log-likelihood that is missing to one probability per row.
double deviance(const Points& points, double intercept, double slope) {
    double sum = 0;
    for (const Point& point : points) {
        const Expected expected(point, intercept + slope * point.x);
        sum += excess(point.orders, point.visits * expected.p) +
               excess(point.visits - point.orders, point.visits * expected.q);
    }
    return 2 * std::max(sum, 0.0);
}

/// What is known about (intercept, slope) at a point of the iteration: gradient and Fisher information.
struct Step {
    double gradient_a = 0;
    double gradient_b = 0;
    double aa = 0;
    double ab = 0;
    double bb = 0;
    double determinant() const { return aa * bb - ab * ab; }
};

Step step_at(const Points& points, double intercept, double slope) {
    Step step;
    for (const Point& point : points) {
        const Expected expected(point, intercept + slope * point.x);
        step.gradient_a += expected.residual;
        step.gradient_b += expected.residual * point.x;
        step.aa += expected.variance;
        step.ab += expected.variance * point.x;
        step.bb += expected.variance * point.x * point.x;
    }
    return step;
}

/// Pearson's statistic over rows that are joined until they are large enough for its chi-square approximation.
void judge_fit(DemandFit& fit, Points points) {
    std::stable_sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.x < b.x; });
    struct Cell {
        double x = 0;
        double with = 0;  // expected orders
        double without = 0;
        double residual = 0;
        double variance = 0;
        bool large() const { return with >= kCellExpects && without >= kCellExpects; }
        void add(const Cell& other) {
            with += other.with;
            without += other.without;
            residual += other.residual;
            variance += other.variance;
        }
    };
    const auto same_price = [](const std::vector<Cell>& cells, double x) {
        return !cells.empty() && x - cells.back().x < kSamePrice;
    };
    std::vector<Cell> cells;
    for (const Point& point : points) {
        const Expected expected(point, fit.curve.intercept + fit.curve.slope * point.x);
        if (!same_price(cells, point.x) || cells.back().large()) cells.push_back({point.x});
        cells.back().add(
            {0, point.visits * expected.p, point.visits * expected.q, expected.residual, expected.variance});
    }
    // The rest of a price that did not fill a cell belongs to the one before it.
    std::vector<Cell> joined;
    for (const Cell& cell : cells) {
        if (!cell.large() && same_price(joined, cell.x)) {
            joined.back().add(cell);
        } else {
            joined.push_back(cell);
        }
    }
    for (const Cell& cell : joined)
        if (cell.variance > 0) fit.pearson += cell.residual * cell.residual / cell.variance;
    fit.degrees_of_freedom = std::max(static_cast<int>(joined.size()) - 2, 0);
    if (fit.degrees_of_freedom == 0 || !(fit.pearson < kWorstPearson)) return;
    fit.fit_p_value = boost::math::cdf(
        boost::math::complement(boost::math::chi_squared_distribution<double>(fit.degrees_of_freedom), fit.pearson));
    // Always inflating would widen the intervals of clean data as well, because estimates below one are not taken.
    if (fit.fit_p_value < kDispersionLevel) fit.dispersion = std::max(fit.pearson / fit.degrees_of_freedom, 1.0);
}

}

double DemandCurve::conversion(double price) const {
    return logistic(intercept + slope * std::log(price / reference_price));
}

double DemandCurve::elasticity(double price) const { return slope * (1 - conversion(price)); }

double DemandFit::pseudo_r2() const {
    return null_deviance > 0 ? std::clamp(1 - deviance / null_deviance, 0.0, 1.0) : 0;
}

double DemandFit::critical(double confidence) const {
    const double tail = (1 - confidence) / 2;
    if (!overdispersed())
        return boost::math::quantile(boost::math::complement(boost::math::normal_distribution<double>(), tail));
    return boost::math::quantile(
        boost::math::complement(boost::math::students_t_distribution<double>(degrees_of_freedom), tail));
}

domain::Result<DemandFit, Refusal> fit_demand(std::span<const Observation> rows) {
    if (auto checked = check_sales(rows); !checked) return checked.error();
    DemandFit fit;
    double weighted_log_price = 0;
    std::vector<double> prices;
    for (const Observation& row : rows) {
        if (row.visits == 0) continue;
        ++fit.observations;
        fit.visits += row.visits;
        fit.orders += row.orders;
        weighted_log_price += row.visits * std::log(row.price);
        prices.push_back(row.price);
    }
    if (fit.visits == 0) return Refusal{Why::no_visits, "no row has visits"};
    std::sort(prices.begin(), prices.end());
    fit.lowest_price = prices.front();
    fit.highest_price = prices.back();
    for (std::size_t i = 0; i < prices.size(); ++i)
        if (i == 0 || std::log(prices[i] / prices[i - 1]) > kSamePrice) ++fit.distinct_prices;
    if (fit.distinct_prices < 3)
        return Refusal{Why::too_few_prices,
                       "at least 3 distinct prices with visits are needed, not " + std::to_string(fit.distinct_prices)};
    if (fit.orders == 0) return Refusal{Why::no_orders, "no orders from " + plain(fit.visits) + " visits"};
    if (fit.orders == fit.visits) return Refusal{Why::only_orders, "every visit ended in an order"};

    // Centred, so that intercept and slope are nearly independent and the information matrix is well conditioned.
    fit.curve.reference_price = std::exp(weighted_log_price / fit.visits);
    Points points;
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    double ordered_low = kInfinity;
    double ordered_high = -kInfinity;
    double refused_low = kInfinity;
    double refused_high = -kInfinity;
    double spread = 0;
    for (const Observation& row : rows) {
        if (row.visits == 0) continue;
        const double x = std::log(row.price / fit.curve.reference_price);
        points.push_back({x, row.visits, row.orders});
        spread += row.visits * x * x;
        if (row.orders > 0) {
            ordered_low = std::min(ordered_low, x);
            ordered_high = std::max(ordered_high, x);
        }
        if (row.orders < row.visits) {
            refused_low = std::min(refused_low, x);
            refused_high = std::max(refused_high, x);
        }
    }
    // The estimate is finite exactly where the two ranges share more than an end.
    if (!(ordered_high > refused_low && ordered_low < refused_high))
        return Refusal{Why::perfect_separation,
                       "one price divides the visits that ordered from those that did not; the slope has no limit"};

    const double share = fit.orders / fit.visits;
    double a = std::log(share / (1 - share));
    double b = 0;
    const double null_intercept = a;
    double likelihood = log_likelihood(points, a, b);
    bool settled = false;
    while (!settled && fit.iterations < kMostIterations) {
        ++fit.iterations;
        const Step step = step_at(points, a, b);
        const double determinant = step.determinant();
        if (!(determinant > 0)) break;
        double move_a = (step.bb * step.gradient_a - step.ab * step.gradient_b) / determinant;
        double move_b = (step.aa * step.gradient_b - step.ab * step.gradient_a) / determinant;
        if (!std::isfinite(move_a) || !std::isfinite(move_b)) break;
        // Judged before halving: a short step because of rounding is no sign that the summit was reached.
        const double scale = std::sqrt(spread / fit.visits);
        settled =
            std::abs(move_a) < 1e-9 * (1 + std::abs(a)) && std::abs(move_b) * scale < 1e-9 * (1 + std::abs(b) * scale);
        for (int half = 0; half < 40; ++half) {
            const double reached = log_likelihood(points, a + move_a, b + move_b);
            if (settled || reached >= likelihood - 1e-12 * std::abs(likelihood)) {
                likelihood = reached;
                break;
            }
            move_a /= 2;
            move_b /= 2;
        }
        a += move_a;
        b += move_b;
    }
    const Step end = step_at(points, a, b);
    const double determinant = end.determinant();
    if (!settled || !(determinant > 0) || !std::isfinite(determinant))
        return Refusal{Why::not_converged,
                       "the fit did not settle within " + std::to_string(fit.iterations) + " iterations"};

    fit.curve.intercept = a;
    fit.curve.slope = b;
    fit.deviance = deviance(points, a, b);
    fit.null_deviance = deviance(points, null_intercept, 0);
    judge_fit(fit, std::move(points));
    if (!(fit.pearson < kWorstPearson))
        return Refusal{Why::does_not_fit, "orders came where even the best curve holds them to be all but impossible"};
    fit.intercept_variance = fit.dispersion * end.bb / determinant;
    fit.covariance = -fit.dispersion * end.ab / determinant;
    fit.slope_variance = fit.dispersion * end.aa / determinant;
    return fit;
}

Elasticity elasticity_at(const DemandFit& fit, double price, double confidence) {
    const double x = std::log(price / fit.curve.reference_price);
    const double p = fit.curve.conversion(price);
    const double by_intercept = -fit.curve.slope * p * (1 - p);
    const double by_slope = (1 - p) + by_intercept * x;
    const double variance = by_intercept * by_intercept * fit.intercept_variance +
                            2 * by_intercept * by_slope * fit.covariance + by_slope * by_slope * fit.slope_variance;
    Elasticity made;
    made.value = fit.curve.elasticity(price);
    made.standard_error = std::sqrt(std::max(variance, 0.0));
    const double half = fit.critical(confidence) * made.standard_error;
    made.low = made.value - half;
    made.high = made.value + half;
    return made;
}

}
