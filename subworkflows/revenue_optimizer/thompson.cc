#include "subworkflows/revenue_optimizer/thompson.h"

#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <cmath>
#include <numeric>
#include <set>

#include "subworkflows/revenue_optimizer/number.h"

namespace impresario::subworkflows::revenue_optimizer {

namespace {

constexpr std::int64_t kShareParts = 1 << 20;

domain::Result<void, Refusal> check_variants(std::span<const Variant> variants) {
    if (variants.size() < 2)
        return Refusal{Why::too_few_variants, "at least 2 variants are needed, not " + std::to_string(variants.size())};
    if (variants.size() > kMostVariants)
        return Refusal{Why::too_many_variants, std::to_string(variants.size()) + " variants, at most " +
                                                   std::to_string(kMostVariants) + " are taken"};
    std::set<std::string_view> names;
    for (const Variant& variant : variants) {
        const std::string at = "variant '" + variant.name + "'";
        if (!names.insert(variant.name).second) return Refusal{Why::repeated_variant, at + " is there twice"};
        if (auto counted = check_count(variant.visitors, at + ": visitors"); !counted) return counted;
        if (auto counted = check_count(variant.conversions, at + ": conversions"); !counted) return counted;
        if (variant.conversions > variant.visitors)
            return Refusal{
                Why::conversions_exceed_visitors,
                at + ": " + plain(variant.conversions) + " conversions from " + plain(variant.visitors) + " visitors"};
        if (!std::isfinite(variant.value)) return Refusal{Why::not_finite, at + ": value is not a finite number"};
        if (variant.value < 0) return Refusal{Why::negative_number, at + ": value is " + plain(variant.value)};
        if (variant.value == 0) return Refusal{Why::value_not_positive, at + ": value is 0"};
    }
    return {};
}

}

domain::Result<Verdict, Refusal> judge_variants(std::span<const Variant> variants, const ThompsonQuestion& question,
                                                Random& random) {
    if (auto checked = check_variants(variants); !checked) return checked.error();
    const std::size_t count = variants.size();
    Verdict verdict;
    verdict.variants.resize(count);
    std::vector<double> alpha(count);
    std::vector<double> beta(count);
    double highest_mean = -1;
    for (std::size_t i = 0; i < count; ++i) {
        alpha[i] = 1 + variants[i].conversions;
        beta[i] = 1 + variants[i].visitors - variants[i].conversions;
        VariantVerdict& made = verdict.variants[i];
        made.name = variants[i].name;
        made.rate = alpha[i] / (alpha[i] + beta[i]);
        const boost::math::beta_distribution<double> posterior(alpha[i], beta[i]);
        const double tail = (1 - question.confidence) / 2;
        made.low = boost::math::quantile(posterior, tail);
        made.high = boost::math::quantile(boost::math::complement(posterior, tail));
        if (made.rate * variants[i].value > highest_mean) {
            highest_mean = made.rate * variants[i].value;
            verdict.best = i;
        }
    }

    std::vector<std::int64_t> wins(count, 0);
    std::vector<double> lost(count, 0);
    std::vector<double> worth(count);
    for (int draw = 0; draw < question.draws; ++draw) {
        for (std::size_t i = 0; i < count; ++i) worth[i] = random.beta(alpha[i], beta[i]) * variants[i].value;
        const auto top = std::max_element(worth.begin(), worth.end());
        ++wins[static_cast<std::size_t>(top - worth.begin())];
        for (std::size_t i = 0; i < count; ++i) lost[i] += *top - worth[i];
    }

    const auto parts = apportion(wins, kShareParts);
    std::vector<std::int64_t> visitors;
    if (question.traffic) visitors = apportion(wins, *question.traffic);
    for (std::size_t i = 0; i < count; ++i) {
        VariantVerdict& made = verdict.variants[i];
        made.share = static_cast<double>(parts[i]) / static_cast<double>(kShareParts);
        if (question.traffic) made.visitors = visitors[i];
        made.probability_best = static_cast<double>(wins[i]) / question.draws;
        made.expected_loss = lost[i] / question.draws;
    }
    verdict.stop = verdict.variants[verdict.best].expected_loss <= question.loss_threshold * highest_mean;
    return verdict;
}

std::vector<std::int64_t> apportion(std::span<const std::int64_t> weights, std::int64_t total) {
    const std::int64_t sum = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
    std::vector<std::int64_t> parts;
    std::vector<std::int64_t> remainders;
    std::int64_t left = total;
    for (const std::int64_t weight : weights) {
        // At most 10⁶ · 10¹², which an int64 holds.
        parts.push_back(weight * total / sum);
        remainders.push_back(weight * total % sum);
        left -= parts.back();
    }
    std::vector<std::size_t> order(weights.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
    for (std::size_t i = 0; left > 0; ++i, --left) ++parts[order[i]];
    return parts;
}

}
