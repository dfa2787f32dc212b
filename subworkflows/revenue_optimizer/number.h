#pragma once
// Numbers on their way in and out: read whole, checked as counts, written short.

#include <optional>
#include <string>
#include <string_view>

#include "domain/result.h"
#include "subworkflows/revenue_optimizer/refusal.h"

namespace impresario::subworkflows::revenue_optimizer {

/// Largest count that is taken: what is beyond it is a mistake, and below it doubles are exact.
inline constexpr double kMostCounted = 1e12;

/// The whole text as a decimal number ("nan" and "inf" are some); what is too large becomes infinite, what is too small
/// zero. Nullopt when it is not a number.
std::optional<double> parse_number(const std::string& text);

/// As it stands in messages: the shortest form that reads back the same.
std::string plain(double number);

/// Refuses what is not a whole number from 0 to kMostCounted: not_finite, negative_number, fractional_count,
/// count_too_large. `what` names it in the message ("row 3: visits").
domain::Result<void, Refusal> check_count(double number, const std::string& what);

}
