#pragma once
// Why an item gets no answer. A name that programs can compare, and a sentence for people.

#include <cstdint>
#include <string>
#include <string_view>

#include "domain/result.h"

namespace impresario::subworkflows::revenue_optimizer {

enum class Why : std::uint8_t {
    /// The CSV text breaks RFC 4180, lacks a column, or a cell is not what its column holds.
    bad_csv,
    /// A date is not a day of the calendar written as 2026-01-31.
    bad_date,
    /// NaN, infinity, or a number beyond the range of a double.
    not_finite,
    negative_number,
    /// A price of zero has no logarithm.
    price_not_positive,
    /// A count (visits, orders, visitors, conversions) that is not whole.
    fractional_count,
    /// A count beyond 10¹².
    count_too_large,
    orders_exceed_visits,
    /// No row with visits.
    no_visits,
    /// Fewer than three distinct prices: a line through two points fits exactly and says nothing about its own error.
    too_few_prices,
    no_orders,
    /// Every visit ended in an order.
    only_orders,
    /// One price divides orders from refusals, so that the most likely slope is infinite.
    perfect_separation,
    /// The fit did not settle.
    not_converged,
    /// Orders came where even the best curve holds them to be all but impossible.
    does_not_fit,
    /// min_price and max_price do not enclose a positive price.
    bad_bounds,
    /// No price within the bounds is above unit_cost.
    cost_above_bounds,
    too_few_variants,
    too_many_variants,
    repeated_variant,
    conversions_exceed_visitors,
    value_not_positive,
};

/// The enumerator's own spelling.
std::string_view name(Why why);

struct Refusal {
    Why why = Why::bad_csv;
    std::string detail;
};

/// "too_few_prices: at least 3 distinct prices with visits are needed, not 2"
std::string explain(const Refusal& refusal);

}
