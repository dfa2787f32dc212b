#include "subworkflows/intelligence_engine/statistics.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace impresario::subworkflows::intelligence_engine {

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

double quantile(const std::vector<double>& sorted, double q) {
    const double place = q * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const auto above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double nearest_rank(const std::vector<double>& sorted, double q) {
    const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(sorted.size())));
    return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

double robust_scale(const std::vector<double>& deviations) {
    if (deviations.empty()) return 0;
    std::vector<double> sizes;
    sizes.reserve(deviations.size());
    double sum = 0;
    for (const double each : deviations) {
        sizes.push_back(std::fabs(each));
        sum += std::fabs(each);
    }
    const double mean = sum / static_cast<double>(sizes.size());
    const double mad = median(std::move(sizes));
    return mad > 0 ? mad / 0.6745 : 1.253314 * mean;
}

Interval wilson(std::int64_t hits, std::int64_t tries, double z) {
    if (tries <= 0) return {0, 1};
    const auto n = static_cast<double>(tries);
    const double share = static_cast<double>(hits) / n;
    const double squared = z * z;
    const double centre = (share + squared / (2 * n)) / (1 + squared / n);
    const double half = z / (1 + squared / n) * std::sqrt(share * (1 - share) / n + squared / (4 * n * n));
    return {std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

double binomial_tail(std::int64_t hits, std::int64_t tries, double p) {
    if (hits <= 0) return 1;
    if (hits > tries || p <= 0) return 0;
    if (p >= 1) return 1;
    const boost::math::binomial_distribution<double> distribution(static_cast<double>(tries), p);
    return boost::math::cdf(boost::math::complement(distribution, static_cast<double>(hits - 1)));
}

double normal_tail(double z) {
    return boost::math::cdf(boost::math::complement(boost::math::normal_distribution<>(), z));
}

double normal_score(double p) {
    // Beyond these the answer is "certain", and no number.
    p = std::clamp(p, 1e-300, 1 - 1e-16);
    return boost::math::quantile(boost::math::complement(boost::math::normal_distribution<>(), p));
}

double rank_sum(const std::vector<double>& sample, const std::vector<double>& against) {
    if (sample.empty() || against.empty()) return 0;
    std::vector<std::pair<double, bool>> all;
    all.reserve(sample.size() + against.size());
    for (const double each : sample) all.emplace_back(each, true);
    for (const double each : against) all.emplace_back(each, false);
    std::sort(all.begin(), all.end());
    double ranks = 0;
    double ties = 0;
    for (std::size_t first = 0; first < all.size();) {
        std::size_t past = first;
        std::size_t ours = 0;
        while (past < all.size() && all[past].first == all[first].first) ours += all[past++].second ? 1 : 0;
        const auto tied = static_cast<double>(past - first);
        // Equal values share the mean of their ranks.
        ranks += static_cast<double>(ours) * (static_cast<double>(first) + (tied + 1) / 2);
        ties += tied * tied * tied - tied;
        first = past;
    }
    const auto m = static_cast<double>(sample.size());
    const auto n = static_cast<double>(against.size());
    const double total = m + n;
    const double variance = m * n / 12 * (total + 1 - ties / (total * (total - 1)));
    return variance > 0 ? (ranks - m * (total + 1) / 2) / std::sqrt(variance) : 0;
}

double outlier_threshold(double sensitivity, std::size_t looked_at, std::size_t baseline) {
    const double tail =
        normal_tail(sensitivity) * std::min(1.0, 5 / static_cast<double>(std::max<std::size_t>(looked_at, 1)));
    const double freedom = std::max(2.0, 0.37 * (static_cast<double>(baseline) - 1));
    return boost::math::quantile(boost::math::complement(boost::math::students_t_distribution<>(freedom), tail));
}

}
