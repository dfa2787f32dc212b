#include "subworkflows/revenue_optimizer/refusal.h"

namespace impresario::subworkflows::revenue_optimizer {

std::string_view name(Why why) {
    switch (why) {
        case Why::bad_csv:
            return "bad_csv";
        case Why::bad_date:
            return "bad_date";
        case Why::not_finite:
            return "not_finite";
        case Why::negative_number:
            return "negative_number";
        case Why::price_not_positive:
            return "price_not_positive";
        case Why::fractional_count:
            return "fractional_count";
        case Why::count_too_large:
            return "count_too_large";
        case Why::orders_exceed_visits:
            return "orders_exceed_visits";
        case Why::no_visits:
            return "no_visits";
        case Why::too_few_prices:
            return "too_few_prices";
        case Why::no_orders:
            return "no_orders";
        case Why::only_orders:
            return "only_orders";
        case Why::perfect_separation:
            return "perfect_separation";
        case Why::not_converged:
            return "not_converged";
        case Why::does_not_fit:
            return "does_not_fit";
        case Why::bad_bounds:
            return "bad_bounds";
        case Why::cost_above_bounds:
            return "cost_above_bounds";
        case Why::too_few_variants:
            return "too_few_variants";
        case Why::too_many_variants:
            return "too_many_variants";
        case Why::repeated_variant:
            return "repeated_variant";
        case Why::conversions_exceed_visitors:
            return "conversions_exceed_visitors";
        case Why::value_not_positive:
            return "value_not_positive";
    }
    return "unknown";
}

std::string explain(const Refusal& refusal) { return std::string(name(refusal.why)) + ": " + refusal.detail; }

}
