#pragma once
// Money as whole micro-dollars. Never double: an LLM call costs less than a cent's hundredth, and a thousand of
// them must add up exactly.

#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "domain/result.h"

namespace impresario::domain {

/// Whole micro-dollars (1 USD = 1,000,000).
struct MicroUsd {
    std::int64_t value = 0;
    friend auto operator<=>(const MicroUsd&, const MicroUsd&) = default;
    /// Stays at the most that fits instead of overflowing.
    friend MicroUsd operator+(MicroUsd a, MicroUsd b) {
        std::int64_t sum = 0;
        if (__builtin_add_overflow(a.value, b.value, &sum))
            sum = a.value > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
        return {sum};
    }
    friend MicroUsd operator-(MicroUsd a, MicroUsd b) { return {a.value - b.value}; }
};

/// The most one amount may be, and the sum of those in one request: what PostgreSQL's numeric(18, 6) holds.
inline constexpr MicroUsd kMostMoney{999'999'999'999'999'999};

struct ParsedMoney {
    MicroUsd amount;
    /// The text was finer than a micro-dollar and was rounded up.
    bool rounded_up = false;
};

enum class MoneyError { not_a_number, negative, too_large };

std::string_view explain(MoneyError error);

/// Reads a JSON number or decimal string from its digits ("0.1", "12", "3e-5"), never through double. Finer than a
/// micro-dollar is rounded up, so that an amount is never understated.
Result<ParsedMoney, MoneyError> parse_money(std::string_view text);

/// Decimal text with six places: "0.012500".
std::string decimal(MicroUsd amount);

}
