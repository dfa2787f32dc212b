#include "subworkflows/revenue_optimizer/result_json.h"

#include <charconv>
#include <cmath>

#include "platform/json_writer.h"
#include "subworkflows/revenue_optimizer/number.h"

namespace impresario::subworkflows::revenue_optimizer {

namespace {

using platform::JsonWriter;

std::optional<double> rounded(double number) {
    if (!std::isfinite(number)) return std::nullopt;
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::scientific, 8);
    double back = 0;
    std::from_chars(buffer, end.ptr, back);
    return back;
}

std::optional<double> rounded(const std::optional<double>& number) { return number ? rounded(*number) : std::nullopt; }

void write(JsonWriter& json, const ProductAdvice& advice) {
    const DemandFit& fit = advice.fit;
    const PriceAdvice& price = advice.price;
    json.open();
    json.field("key", advice.key)
        .field("elasticity", rounded(advice.elasticity.value))
        .field("elasticity_low", rounded(advice.elasticity.low))
        .field("elasticity_high", rounded(advice.elasticity.high))
        .field("elasticity_standard_error", rounded(advice.elasticity.standard_error))
        .field("model", "binomial_logit")
        .field("observations", fit.observations)
        .field("distinct_prices", fit.distinct_prices)
        .field("visits", rounded(fit.visits))
        .field("orders", rounded(fit.orders));
    json.open("fit", '{')
        .field("reference_price", rounded(fit.curve.reference_price))
        .field("intercept", rounded(fit.curve.intercept))
        .field("intercept_standard_error", rounded(std::sqrt(fit.intercept_variance)))
        .field("slope", rounded(fit.curve.slope))
        .field("slope_standard_error", rounded(std::sqrt(fit.slope_variance)))
        .field("deviance", rounded(fit.deviance))
        .field("null_deviance", rounded(fit.null_deviance))
        .field("pseudo_r2", rounded(fit.pseudo_r2()))
        .field("pearson", rounded(fit.pearson))
        .field("degrees_of_freedom", fit.degrees_of_freedom)
        .field("p_value", rounded(fit.fit_p_value))
        .field("dispersion", rounded(fit.dispersion))
        .field("iterations", fit.iterations)
        .close();
    json.field("current_price", rounded(advice.current_price))
        .field("current_profit_per_visit", rounded(price.current_profit_per_visit))
        .field("recommended_price", rounded(price.recommended))
        .field("price_low", rounded(price.low))
        .field("price_high", rounded(price.high))
        .field("expected_profit_per_visit", rounded(price.profit_per_visit))
        .field("uplift_percent", rounded(price.uplift_percent));
    if (price.uplift_percent)
        json.field("uplift_low_percent", rounded(price.uplift_low_percent))
            .field("uplift_high_percent", rounded(price.uplift_high_percent));
    json.texts("warnings", advice.warnings);
    json.close();
}

void write(JsonWriter& json, const ExperimentAdvice& advice) {
    const Verdict& verdict = advice.verdict;
    json.open();
    json.field("key", advice.key);
    json.open("variants", '[');
    for (const VariantVerdict& variant : verdict.variants) {
        json.open();
        json.field("name", variant.name).field("share", variant.share);
        if (variant.visitors) json.field("visitors", *variant.visitors);
        json.field("probability_best", rounded(variant.probability_best))
            .field("rate", rounded(variant.rate))
            .field("low", rounded(variant.low))
            .field("high", rounded(variant.high))
            .field("expected_loss", rounded(variant.expected_loss));
        json.close();
    }
    json.close(']');
    if (verdict.stop) json.field("winner", verdict.variants[verdict.best].name);
    json.field("stop", verdict.stop);
    json.texts("warnings", advice.warnings);
    json.close();
}

}

std::string result_json(const Answers& answers) {
    JsonWriter json;
    json.open();
    json.open("products", '[');
    for (const auto& product : answers.products) write(json, product);
    json.close(']');
    json.open("experiments", '[');
    for (const auto& experiment : answers.experiments) write(json, experiment);
    json.close(']');
    json.texts("warnings", answers.warnings);
    json.close();
    return std::move(json).text();
}

domain::ItemOutcome completed_item(const std::string& key) {
    JsonWriter json;
    json.open();
    json.field("key", key).field("status", "completed");
    json.close();
    return {key, false, std::move(json).text()};
}

domain::ItemOutcome failed_item(const std::string& key, const std::string& error) {
    JsonWriter json;
    json.open();
    json.field("key", key).field("status", "failed").field("error", error);
    json.close();
    return {key, true, std::move(json).text()};
}

std::string error_json(const std::string& message, std::span<const domain::ItemOutcome> items) {
    JsonWriter json;
    json.open();
    json.field("message", message).field("retry_recommended", false);
    json.open("items", '[');
    for (const auto& item : items) json.element(item.json);
    json.close(']');
    json.close();
    return std::move(json).text();
}

}
