#pragma once
// Names that HTML, HTTP and robots.txt compare without regard to case are ASCII.

#include <string>
#include <string_view>

namespace impresario::subworkflows::seo_monitor {

inline char lower(char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c); }

inline std::string lowered(std::string_view text) {
    std::string result(text);
    for (char& c : result) c = lower(c);
    return result;
}

}
