#include "domain/money.h"

#include <cstdio>

namespace impresario::domain {

std::string_view explain(MoneyError error) {
    switch (error) {
        case MoneyError::not_a_number:
            return "is not a decimal number";
        case MoneyError::negative:
            return "must not be negative";
        case MoneyError::too_large:
            return "is more than 999999999999.999999 USD";
    }
    return "";
}

Result<ParsedMoney, MoneyError> parse_money(std::string_view text) {
    if (text.empty() || text.size() > 64) return MoneyError::not_a_number;
    bool negative = false;
    if (text.front() == '-' || text.front() == '+') {
        negative = text.front() == '-';
        text.remove_prefix(1);
    }

    std::string digits;
    int places = 0;
    bool seen_point = false;
    std::size_t at = 0;
    for (; at < text.size(); ++at) {
        const char c = text[at];
        if (c >= '0' && c <= '9') {
            digits += c;
            if (seen_point) ++places;
        } else if (c == '.' && !seen_point) {
            seen_point = true;
        } else {
            break;
        }
    }
    if (digits.empty()) return MoneyError::not_a_number;

    int exponent = 0;
    if (at < text.size()) {
        if (text[at] != 'e' && text[at] != 'E') return MoneyError::not_a_number;
        ++at;
        bool below = false;
        if (at < text.size() && (text[at] == '-' || text[at] == '+')) below = text[at++] == '-';
        if (at == text.size()) return MoneyError::not_a_number;
        for (; at < text.size(); ++at) {
            if (text[at] < '0' || text[at] > '9') return MoneyError::not_a_number;
            if (exponent < 10000) exponent = exponent * 10 + (text[at] - '0');
        }
        if (below) exponent = -exponent;
    }

    // digits × 10^(exponent − places) dollars = digits × 10^shift micro-dollars.
    const int shift = exponent - places + 6;
    ParsedMoney parsed;
    const std::int64_t most = kMostMoney.value;
    std::int64_t value = 0;
    const int kept = static_cast<int>(digits.size()) + (shift < 0 ? shift : 0);
    for (int i = 0; i < static_cast<int>(digits.size()); ++i) {
        const int digit = digits[static_cast<std::size_t>(i)] - '0';
        if (i >= kept) {
            if (digit != 0) parsed.rounded_up = true;
            continue;
        }
        if (value > (most - digit) / 10) return MoneyError::too_large;
        value = value * 10 + digit;
    }
    for (int i = 0; i < shift && value != 0; ++i) {
        if (value > most / 10) return MoneyError::too_large;
        value *= 10;
    }
    if (parsed.rounded_up) {
        if (value >= most) return MoneyError::too_large;
        ++value;
    }
    if (negative && value != 0) return MoneyError::negative;
    parsed.amount.value = value;
    return parsed;
}

std::string decimal(MicroUsd amount) {
    const bool negative = amount.value < 0;
    const std::uint64_t whole =
        negative ? 0 - static_cast<std::uint64_t>(amount.value) : static_cast<std::uint64_t>(amount.value);
    char text[40];
    std::snprintf(text, sizeof text, "%s%llu.%06llu", negative ? "-" : "",
                  static_cast<unsigned long long>(whole / 1000000), static_cast<unsigned long long>(whole % 1000000));
    return text;
}

}
