#pragma once
// Money as whole micro-dollars. Never double: an LLM call costs less than a cent's hundredth, and a thousand of
// them must add up exactly.

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "domain/result.h"

namespace impresario::domain {

/// Whole micro-dollars (1 USD = 1,000,000).
struct MicroUsd {
    std::int64_t value = 0;
    friend auto operator<=>(const MicroUsd&, const MicroUsd&) = default;
    friend MicroUsd operator+(MicroUsd a, MicroUsd b) { return {a.value + b.value}; }
    friend MicroUsd operator-(MicroUsd a, MicroUsd b) { return {a.value - b.value}; }
};

/// The most one amount may be: a million million dollars. Sums of a million such amounts still fit.
inline constexpr MicroUsd kMostMoney{1'000'000'000'000'000'000};

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
