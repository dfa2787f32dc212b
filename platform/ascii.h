#pragma once
// Names that URLs, HTTP, HTML and robots.txt compare without regard to case are ASCII, whatever the locale.

#include <string>
#include <string_view>

namespace impresario::platform {

constexpr char lower(char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c); }

inline std::string lowered(std::string_view text) {
    std::string result(text);
    for (char& c : result) c = lower(c);
    return result;
}

}
