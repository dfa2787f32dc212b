#include "subworkflows/content_pipeline/encoding.h"

#include <cstdint>

#include "platform/json_text.h"
#include "subworkflows/content_pipeline/letters.h"

namespace impresario::subworkflows::content_pipeline {

namespace {

using Text = domain::Result<std::string, domain::Fault>;

/// A string could be either, so it is said which.
Text good(std::string text) { return Text(boost::system::in_place_value, std::move(text)); }

/// Windows-1252 from 0x80 to 0x9F; 0 is not assigned.
constexpr char32_t kWindows[32] = {0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
                                   0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0,      0x017D, 0,
                                   0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                   0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,      0x017E, 0x0178};

char32_t latin9(unsigned char byte) {
    switch (byte) {
        case 0xA4:
            return 0x20AC;
        case 0xA6:
            return 0x160;
        case 0xA8:
            return 0x161;
        case 0xB4:
            return 0x17D;
        case 0xB8:
            return 0x17E;
        case 0xBC:
            return 0x152;
        case 0xBD:
            return 0x153;
        case 0xBE:
            return 0x178;
        default:
            return byte;
    }
}

std::string from_latin(std::string_view bytes, bool ninth) {
    std::string text;
    text.reserve(bytes.size() + bytes.size() / 8);
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        char32_t point = ninth ? latin9(byte) : byte;
        if (byte >= 0x80 && byte <= 0x9F) point = kWindows[byte - 0x80] ? kWindows[byte - 0x80] : kReplacement;
        platform::append_utf8(text, point);
    }
    return text;
}

Text from_utf16(std::string_view bytes, bool big) {
    if (bytes.size() % 2 != 0) return domain::Fault{"is not text: UTF-16 with half a character at its end"};
    const auto unit = [&](std::size_t at) -> char32_t {
        const auto high = static_cast<unsigned char>(bytes[big ? at : at + 1]);
        const auto low = static_cast<unsigned char>(bytes[big ? at + 1 : at]);
        return static_cast<char32_t>(high) << 8 | low;
    };
    std::string text;
    for (std::size_t at = 0; at < bytes.size(); at += 2) {
        char32_t point = unit(at);
        if (point >= 0xD800 && point <= 0xDBFF && at + 2 < bytes.size() && unit(at + 2) >= 0xDC00 &&
            unit(at + 2) <= 0xDFFF) {
            point = 0x10000 + ((point - 0xD800) << 10) + (unit(at + 2) - 0xDC00);
            at += 2;
        } else if (point >= 0xD800 && point <= 0xDFFF) {
            return domain::Fault{"is not text: UTF-16 with half a surrogate pair"};
        }
        platform::append_utf8(text, point);
    }
    return good(std::move(text));
}

/// Where UTF-8 ends to be UTF-8; the size when it never does.
std::size_t good_until(std::string_view bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
        const auto letter = letter_at(bytes, at);
        if (letter.point == kReplacement && letter.bytes == 1) return at;
        at += letter.bytes;
    }
    return bytes.size();
}

}

Text text_from(std::string_view bytes, std::string_view charset) {
    if (bytes.starts_with("\xFE\xFF")) return from_utf16(bytes.substr(2), true);
    if (bytes.starts_with("\xFF\xFE")) return from_utf16(bytes.substr(2), false);
    const bool marked = bytes.starts_with("\xEF\xBB\xBF");
    if (marked) bytes.remove_prefix(3);
    const std::string name = lower(charset);
    if (!marked) {
        if (name == "iso-8859-1" || name == "latin1" || name == "windows-1252" || name == "cp1252")
            return good(from_latin(bytes, false));
        if (name == "iso-8859-15" || name == "latin9") return good(from_latin(bytes, true));
        if (name == "utf-16" || name == "utf-16be") return from_utf16(bytes, true);
        if (name == "utf-16le") return from_utf16(bytes, false);
        if (!name.empty() && name != "utf-8" && name != "utf8" && name != "us-ascii" && name != "ascii")
            return domain::Fault{"is in the encoding '" + std::string(charset) +
                                 "', which is none of UTF-8, ISO-8859-1, ISO-8859-15, Windows-1252, UTF-16"};
    }
    if (const auto end = good_until(bytes); end != bytes.size())
        return domain::Fault{"is not text: it is not UTF-8 from byte " + std::to_string(end) +
                             (name.empty() ? ", and names no other encoding" : "")};
    return good(std::string(bytes));
}

std::string why_not_text(std::string_view text) {
    std::int64_t odd = 0;
    std::int64_t all = 0;
    for (std::size_t at = 0; at < text.size(); ++all) {
        const auto letter = letter_at(text, at);
        at += letter.bytes;
        if (letter.point == 0) return "is not text: it holds NUL";
        const bool control = (letter.point < 0x20 && !is_space(letter.point)) || letter.point == 0x7F;
        if (control || letter.point == kReplacement) ++odd;
    }
    // A stray control character is a slip of an editor; one in fifty is a file for programs.
    if (odd * 50 > all)
        return "is not text: " + std::to_string(odd) + " of " + std::to_string(all) +
               " characters are control characters";
    return {};
}

}
