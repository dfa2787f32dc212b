#pragma once
// What was asked and what was sold: the rows that a product's demand is learnt from.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "domain/result.h"
#include "subworkflows/revenue_optimizer/refusal.h"

namespace impresario::subworkflows::revenue_optimizer {

/// A period during which one price stood. Prices are doubles here: they are only estimated with, never booked.
struct Observation {
    /// In the shop's currency, > 0.
    double price = 0;
    /// Visits that saw the price; whole, ≥ 0.
    double visits = 0;
    /// Visits that ended in an order; whole, from 0 to visits.
    double orders = 0;
    /// The day as 2026-01-31; empty where it was not said.
    std::string date;
    /// Line of the CSV text; 0 where it came as a JSON row.
    int line = 0;
};

/// Rows of a CSV text with the columns price, visits and orders, optionally date, in any order; others are ignored.
/// With
/// ';' between fields a decimal comma is understood, as such exports write it. Refuses with bad_csv, naming line and
/// column. Values are not judged here: "nan" and "-1" are numbers.
domain::Result<std::vector<Observation>, Refusal> read_sales(std::string_view csv);

/// Refuses rows that cannot be counts at a price, naming the first such row: not_finite, negative_number,
/// price_not_positive, fractional_count, count_too_large, orders_exceed_visits, bad_date.
domain::Result<void, Refusal> check_sales(std::span<const Observation> rows);

/// The price that stands now: of the latest day where days are known, otherwise of the whole history, the price that
/// most visits saw; the later row where that is even. `rows` must not be empty and must have passed check_sales.
double current_price(std::span<const Observation> rows);

}
