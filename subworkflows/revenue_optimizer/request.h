#pragma once
// What a trigger asks for, read and of the right shape; whether its numbers make sense is each item's own matter.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "subworkflows/revenue_optimizer/sales_history.h"
#include "subworkflows/revenue_optimizer/thompson.h"

namespace impresario::subworkflows::revenue_optimizer {

/// A product whose price is asked for. It has rows or a CSV text, not both.
struct Product {
    std::string key;
    std::vector<Observation> rows;
    std::optional<std::string> csv;
    /// Cost of one order in the shop's currency.
    double unit_cost = 0;
    /// Bounds of the price; by default half the lowest to one and a half times the highest observed one.
    std::optional<double> min_price;
    std::optional<double> max_price;
    /// Members that nobody reads, most likely misspelt.
    std::vector<std::string> unread;
};

struct Experiment {
    std::string key;
    std::vector<Variant> variants;
    /// Visitors to be split; a double because its range is checked with the other numbers.
    std::optional<double> traffic;
    std::vector<std::string> unread;
};

struct Settings {
    /// Of every interval, from 0.5 to 0.999.
    double confidence = 0.9;
    std::uint64_t seed = 42;
    /// From 1000 to 200000.
    int draws = 20000;
    /// Expected loss at which an experiment may stop, as a part of the best value per visitor; above 0, at most 1.
    double loss_threshold = 0.01;
};

/// Keys are unique over products and experiments together, because a retry names items by key alone.
struct Request {
    std::vector<Product> products;
    std::vector<Experiment> experiments;
    Settings settings;
    std::vector<std::string> unread;
};

}
