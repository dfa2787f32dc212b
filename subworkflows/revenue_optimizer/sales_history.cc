#include "subworkflows/revenue_optimizer/sales_history.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>

#include "platform/json_text.h"
#include "subworkflows/revenue_optimizer/csv.h"
#include "subworkflows/revenue_optimizer/number.h"

namespace impresario::subworkflows::revenue_optimizer {

namespace {

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::optional<double> number_of(std::string_view cell, bool decimal_comma) {
    std::string text(trimmed(cell));
    if (decimal_comma && text.find('.') == std::string::npos && std::count(text.begin(), text.end(), ',') == 1)
        std::replace(text.begin(), text.end(), ',', '.');
    return parse_number(text);
}

std::string place(const Observation& row, std::size_t index) {
    return row.line > 0 ? "line " + std::to_string(row.line) : "row " + std::to_string(index + 1);
}

bool is_day(std::string_view text) {
    if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
    for (std::size_t i = 0; i < text.size(); ++i)
        if (i != 4 && i != 7 && (text[i] < '0' || text[i] > '9')) return false;
    const auto part = [&](std::size_t at, std::size_t length) {
        int read = 0;
        std::from_chars(text.data() + at, text.data() + at + length, read);
        return read;
    };
    return std::chrono::year_month_day{std::chrono::year{part(0, 4)},
                                       std::chrono::month{static_cast<unsigned>(part(5, 2))},
                                       std::chrono::day{static_cast<unsigned>(part(8, 2))}}
        .ok();
}

}

domain::Result<std::vector<Observation>, Refusal> read_sales(std::string_view csv) {
    const auto table = parse_csv(csv);
    if (!table) return Refusal{Why::bad_csv, explain(table.error())};
    std::optional<CsvFault> fault;
    const auto needed = [&](std::string_view heading) {
        const auto found = table->column(heading);
        if (!found && !fault)
            fault = CsvFault{table->header_line, static_cast<int>(table->header.size()) + 1,
                             "the column '" + std::string(heading) + "' is missing"};
        return found.value_or(0);
    };
    const std::size_t price = needed("price");
    const std::size_t visits = needed("visits");
    const std::size_t orders = needed("orders");
    const auto date = table->column("date");

    std::vector<Observation> rows;
    for (const CsvRow& row : table->rows) {
        const auto number = [&](std::size_t column, const char* heading) {
            const auto read = number_of(row.fields[column], table->separator == ';');
            if (!read && !fault)
                fault = CsvFault{row.line, static_cast<int>(column) + 1,
                                 std::string(heading) + " '" +
                                     std::string(platform::utf8_prefix(row.fields[column], 40)) + "' is not a number"};
            return read.value_or(0);
        };
        if (fault) break;
        Observation made;
        made.price = number(price, "price");
        made.visits = number(visits, "visits");
        made.orders = number(orders, "orders");
        if (date) made.date = std::string(trimmed(row.fields[*date]));
        made.line = row.line;
        rows.push_back(std::move(made));
    }
    if (fault) return Refusal{Why::bad_csv, explain(*fault)};
    return rows;
}

domain::Result<void, Refusal> check_sales(std::span<const Observation> rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Observation& row = rows[i];
        const std::string at = place(row, i);
        if (!std::isfinite(row.price)) return Refusal{Why::not_finite, at + ": price is not a finite number"};
        if (row.price < 0) return Refusal{Why::negative_number, at + ": price is " + plain(row.price)};
        if (row.price == 0) return Refusal{Why::price_not_positive, at + ": price is 0"};
        if (auto counted = check_count(row.visits, at + ": visits"); !counted) return counted;
        if (auto counted = check_count(row.orders, at + ": orders"); !counted) return counted;
        if (row.orders > row.visits)
            return Refusal{Why::orders_exceed_visits,
                           at + ": " + plain(row.orders) + " orders from " + plain(row.visits) + " visits"};
        if (!row.date.empty() && !is_day(row.date))
            return Refusal{Why::bad_date, at + ": date '" + std::string(platform::utf8_prefix(row.date, 40)) +
                                              "' is not a day like 2026-01-31"};
    }
    return {};
}

double current_price(std::span<const Observation> rows) {
    std::string latest;
    for (const Observation& row : rows) latest = std::max(latest, row.date);
    struct Seen {
        double visits = 0;
        std::size_t last = 0;
    };
    std::map<double, Seen> seen;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].date != latest) continue;
        Seen& price = seen[rows[i].price];
        price.visits += rows[i].visits;
        price.last = i;
    }
    const auto most = std::max_element(seen.begin(), seen.end(), [](const auto& a, const auto& b) {
        return a.second.visits < b.second.visits ||
               (a.second.visits == b.second.visits && a.second.last < b.second.last);
    });
    return most->first;
}

}
