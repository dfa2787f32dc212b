#include "subworkflows/content_pipeline/letters.h"

#include <algorithm>
#include <iterator>

#include "platform/json_text.h"

namespace impresario::subworkflows::content_pipeline {

namespace {

struct Range {
    char32_t first;
    char32_t last;
};

/// What is neither letter nor mark above ASCII, in order.
constexpr Range kNoLetters[] = {
    {0x80, 0xA9},     {0xAB, 0xB4},     {0xB6, 0xB9},     {0xBB, 0xBF},     {0xD7, 0xD7},     {0xF7, 0xF7},
    {0x2000, 0x206F}, {0x2070, 0x209F}, {0x20A0, 0x20CF}, {0x2100, 0x2BFF}, {0x3000, 0x3004}, {0x3008, 0x3020},
    {0x3030, 0x3030}, {0x303D, 0x303F}, {0x30FB, 0x30FB}, {0xD800, 0xF8FF}, {0xFE10, 0xFE6F}, {0xFEFF, 0xFEFF},
    {0xFF00, 0xFF0F}, {0xFF1A, 0xFF20}, {0xFF3B, 0xFF40}, {0xFF5B, 0xFF65}, {0xFFE0, 0xFFFF}, {0x1F000, 0x1FAFF},
};

constexpr Range kIdeographs[] = {
    {0x3041, 0x30FA}, {0x30FC, 0x30FF}, {0x3400, 0x4DBF}, {0x4E00, 0x9FFF}, {0xF900, 0xFAFF}, {0x20000, 0x3FFFF},
};

bool within(const Range* first, const Range* last, char32_t point) {
    const auto found = std::upper_bound(first, last, point, [](char32_t p, const Range& r) { return p < r.first; });
    return found != first && point <= std::prev(found)->last;
}

bool even_is_capital(char32_t point) {
    return (point >= 0x100 && point <= 0x137) || (point >= 0x14A && point <= 0x177) ||
           (point >= 0x1DE && point <= 0x1EE) || (point >= 0x200 && point <= 0x21F) ||
           (point >= 0x222 && point <= 0x233) || (point >= 0x460 && point <= 0x481) ||
           (point >= 0x48A && point <= 0x4BF) || (point >= 0x4D0 && point <= 0x52F) ||
           (point >= 0x1E00 && point <= 0x1E95) || (point >= 0x1EA0 && point <= 0x1EFF);
}

}

Letter letter_at(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) -> char32_t {
        return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0;
    };
    const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
    const char32_t first = byte(0);
    if (first < 0x80) return {first, 1};
    if (first >= 0xC2 && first <= 0xDF && follows(1)) return {(first & 0x1FU) << 6 | (byte(1) & 0x3FU), 2};
    if (first >= 0xE0 && first <= 0xEF && follows(1) && follows(2)) {
        const char32_t point = (first & 0x0FU) << 12 | (byte(1) & 0x3FU) << 6 | (byte(2) & 0x3FU);
        if (point >= 0x800 && (point < 0xD800 || point > 0xDFFF)) return {point, 3};
    }
    if (first >= 0xF0 && first <= 0xF4 && follows(1) && follows(2) && follows(3)) {
        const char32_t point =
            (first & 0x07U) << 18 | (byte(1) & 0x3FU) << 12 | (byte(2) & 0x3FU) << 6 | (byte(3) & 0x3FU);
        if (point >= 0x10000 && point <= 0x10FFFF) return {point, 4};
    }
    return {kReplacement, 1};
}

Letter letter_before(std::string_view text, std::size_t at) {
    for (std::size_t bytes = 1; bytes <= std::min<std::size_t>(4, at); ++bytes) {
        const auto letter = letter_at(text, at - bytes);
        if (letter.bytes == bytes && letter.point != kReplacement) return letter;
    }
    return {kReplacement, 1};
}

bool is_letter(char32_t point) {
    if (point < 0x80) return (point >= 'a' && point <= 'z') || (point >= 'A' && point <= 'Z');
    return !within(std::begin(kNoLetters), std::end(kNoLetters), point);
}

bool is_digit(char32_t point) { return (point >= '0' && point <= '9') || (point >= 0xFF10 && point <= 0xFF19); }

bool is_space(char32_t point) {
    return point == ' ' || (point >= 0x09 && point <= 0x0D) || point == 0x85 || point == 0xA0 || point == 0x1680 ||
           (point >= 0x2000 && point <= 0x200A) || point == 0x2028 || point == 0x2029 || point == 0x202F ||
           point == 0x205F || point == 0x3000;
}

bool is_ideograph(char32_t point) { return within(std::begin(kIdeographs), std::end(kIdeographs), point); }

bool is_invisible(char32_t point) {
    return point == 0xAD || (point >= 0x200B && point <= 0x200F) || (point >= 0x202A && point <= 0x202E) ||
           (point >= 0x2060 && point <= 0x2064) || point == 0xFEFF;
}

bool is_upper(char32_t point) { return lower(point) != point; }

bool is_lower(char32_t point) {
    if (!is_letter(point) || is_upper(point)) return false;
    return point < 0x530 || (point >= 0x1E00 && point <= 0x1FFF);
}

char32_t lower(char32_t point) {
    if (point < 0x80) return point >= 'A' && point <= 'Z' ? point + 32 : point;
    if (point >= 0xC0 && point <= 0xDE && point != 0xD7) return point + 32;
    if (point == 0x130) return 'i';  // the Turkish capital with its dot
    if (point == 0x178) return 0xFF;
    if ((point >= 0x139 && point <= 0x148) || (point >= 0x179 && point <= 0x17E))
        return point % 2 == 1 ? point + 1 : point;
    if (even_is_capital(point)) return point % 2 == 0 ? point + 1 : point;
    if (point == 0x386) return 0x3AC;
    if (point >= 0x388 && point <= 0x38A) return point + 37;
    if (point == 0x38C) return 0x3CC;
    if (point == 0x38E || point == 0x38F) return point + 63;
    if (point >= 0x391 && point <= 0x3AB && point != 0x3A2) return point + 32;
    if (point >= 0x400 && point <= 0x40F) return point + 80;
    if (point >= 0x410 && point <= 0x42F) return point + 32;
    if (point == 0x1E9E) return 0xDF;
    if (point >= 0xFF21 && point <= 0xFF3A) return point + 32;
    return point;
}

std::string lower(std::string_view text) {
    std::string made;
    made.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const auto letter = letter_at(text, at);
        platform::append_utf8(made, lower(letter.point));
        at += letter.bytes;
    }
    return made;
}

std::string tidy(std::string_view text) {
    std::string made;
    made.reserve(text.size());
    bool gap = false;
    for (std::size_t at = 0; at < text.size();) {
        const auto letter = letter_at(text, at);
        const auto bytes = text.substr(at, letter.bytes);
        at += letter.bytes;
        if (is_space(letter.point)) {
            gap = true;
        } else if (!is_invisible(letter.point) && letter.point >= 0x20 && letter.point != 0x7F) {
            if (gap && !made.empty()) made += ' ';
            gap = false;
            if (letter.point == kReplacement) {
                platform::append_utf8(made, kReplacement);
            } else {
                made += bytes;
            }
        }
    }
    return made;
}

std::string shortened(std::string_view text, std::size_t bytes) {
    static constexpr std::string_view kEllipsis = "\xE2\x80\xA6";
    if (text.size() <= bytes) return std::string(text);
    auto kept = platform::utf8_prefix(text, bytes - std::min(bytes, kEllipsis.size()));
    // Looked for in the second half only: one endless word must not leave nothing.
    if (const auto blank = kept.rfind(' '); blank != std::string_view::npos && blank > bytes / 2)
        kept = kept.substr(0, blank);
    while (!kept.empty() && (kept.back() == ',' || kept.back() == ';' || kept.back() == ' ')) kept.remove_suffix(1);
    return std::string(kept) + std::string(kEllipsis);
}

}
