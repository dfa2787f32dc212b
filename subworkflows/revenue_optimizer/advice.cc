#include "subworkflows/revenue_optimizer/advice.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "subworkflows/revenue_optimizer/number.h"
#include "subworkflows/revenue_optimizer/random.h"

namespace impresario::subworkflows::revenue_optimizer {

namespace {

constexpr double kFewOrders = 30;

/// Three significant digits, for sentences.
std::string about(double number) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.3g", number);
    return buffer;
}

void warn_unread(const std::vector<std::string>& unread, std::vector<std::string>& warnings) {
    for (const std::string& member : unread) warnings.push_back("unread_member: '" + member + "' is not known here");
}

void warn(const DemandFit& fit, ProductAdvice& advice) {
    auto& warnings = advice.warnings;
    const PriceAdvice& price = advice.price;
    if (fit.orders < kFewOrders)
        warnings.push_back("few_orders: the estimate rests on " + plain(fit.orders) + " orders");
    if (fit.overdispersed())
        warnings.push_back("overdispersed: orders vary " + about(fit.dispersion) +
                           " times as much as chance explains; intervals are widened");
    if (fit.curve.slope >= 0)
        warnings.push_back("demand_rises: demand does not fall with price; something else may have moved it");
    if (advice.elasticity.low <= 0 && advice.elasticity.high >= 0)
        warnings.push_back("elasticity_uncertain: the data do not show that price matters");
    if (price.recommended < fit.lowest_price || price.recommended > fit.highest_price)
        warnings.push_back("extrapolated: the recommended price lies outside the observed " + about(fit.lowest_price) +
                           " to " + about(fit.highest_price));
    if (price.at_min) warnings.push_back("at_min_price: a lower price may earn more");
    if (price.at_max) warnings.push_back("at_max_price: a higher price may earn more");
    if (!price.uplift_percent) {
        warnings.push_back("below_cost: the current price earns nothing, so there is no uplift in percent");
    } else if (price.uplift_low_percent <= 0 && price.uplift_high_percent >= 0) {
        warnings.push_back("uplift_uncertain: the change may as well earn less");
    }
}

}

domain::Result<ProductAdvice, Refusal> advise(const Product& product, const Settings& settings) {
    std::vector<Observation> rows = product.rows;
    if (product.csv) {
        auto read = read_sales(*product.csv);
        if (!read) return read.error();
        rows = std::move(*read);
    }
    auto fit = fit_demand(rows);
    if (!fit) return fit.error();

    ProductAdvice advice;
    advice.key = product.key;
    advice.fit = std::move(*fit);
    advice.current_price = current_price(rows);
    advice.elasticity = elasticity_at(advice.fit, advice.current_price, settings.confidence);

    PriceQuestion question;
    question.unit_cost = product.unit_cost;
    question.min_price = product.min_price.value_or(advice.fit.lowest_price * 0.5);
    question.max_price = product.max_price.value_or(advice.fit.highest_price * 1.5);
    question.current_price = advice.current_price;
    question.confidence = settings.confidence;
    question.draws = settings.draws;
    Random random = Random::for_item(settings.seed, product.key);
    auto price = advise_price(advice.fit, question, random);
    if (!price) return price.error();
    advice.price = *price;
    warn_unread(product.unread, advice.warnings);
    warn(advice.fit, advice);
    return advice;
}

domain::Result<ExperimentAdvice, Refusal> advise(const Experiment& experiment, const Settings& settings) {
    ThompsonQuestion question;
    question.confidence = settings.confidence;
    question.draws = settings.draws;
    question.loss_threshold = settings.loss_threshold;
    if (experiment.traffic) {
        if (auto counted = check_count(*experiment.traffic, "traffic"); !counted) return counted.error();
        question.traffic = static_cast<std::int64_t>(*experiment.traffic);
    }
    Random random = Random::for_item(settings.seed, experiment.key);
    auto verdict = judge_variants(experiment.variants, question, random);
    if (!verdict) return verdict.error();
    ExperimentAdvice advice;
    advice.key = experiment.key;
    advice.verdict = std::move(*verdict);
    warn_unread(experiment.unread, advice.warnings);
    return advice;
}

}
