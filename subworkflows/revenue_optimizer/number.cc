#include "subworkflows/revenue_optimizer/number.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

namespace impresario::subworkflows::revenue_optimizer {

std::optional<double> parse_number(const std::string& text) {
    double read = 0;
    const char* end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, read);
    if (text.empty() || result.ptr != end) return std::nullopt;
    // from_chars does not say on which side the range was left.
    if (result.ec == std::errc::result_out_of_range) return std::strtod(text.c_str(), nullptr);
    if (result.ec != std::errc{}) return std::nullopt;
    return read;
}

std::string plain(double number) {
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, number);
    return {buffer, end.ptr};
}

domain::Result<void, Refusal> check_count(double number, const std::string& what) {
    if (!std::isfinite(number)) return Refusal{Why::not_finite, what + " is not a finite number"};
    if (number < 0) return Refusal{Why::negative_number, what + " is " + plain(number)};
    if (number != std::floor(number)) return Refusal{Why::fractional_count, what + " is " + plain(number)};
    if (number > kMostCounted) return Refusal{Why::count_too_large, what + " is " + plain(number)};
    return {};
}

}
