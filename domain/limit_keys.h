#pragma once
// The keys that limits take from an execution's input (a customer, a domain): taken once, when it is enqueued, and kept
// in its row.

#include <string>
#include <string_view>
#include <vector>

namespace impresario::domain {

struct LimitKey {
    /// Into the input.
    std::string pointer;
    std::string value;
    friend bool operator==(const LimitKey&, const LimitKey&) = default;
};

/// The longest value that tells keys apart, in characters.
inline constexpr std::size_t kLongestLimitKey = 200;

/// As the row keeps them, a line each, pointer and value with a tab between them; a backslash, tab or line end is \\,
/// \t, \n. Empty: none.
std::string limit_keys_text(const std::vector<LimitKey>& keys);
/// What cannot be read is left out.
std::vector<LimitKey> parse_limit_keys(std::string_view text);
/// The value at this pointer; "" where there is none: all of those share one account.
std::string limit_key(std::string_view text, std::string_view pointer);

}
