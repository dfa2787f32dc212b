#include "subworkflows/content_pipeline/slug.h"

#include <algorithm>
#include <iterator>

#include "subworkflows/content_pipeline/letters.h"

namespace impresario::subworkflows::content_pipeline {

namespace {

struct Spelling {
    char32_t letter;
    const char* ascii;
};

/// Small Latin letters with marks, by code point.
constexpr Spelling kSpellings[] = {
    {0xE0, "a"},   {0xE1, "a"},   {0xE2, "a"},  {0xE3, "a"},  {0xE4, "ae"}, {0xE5, "a"},  {0xE6, "ae"}, {0xE7, "c"},
    {0xE8, "e"},   {0xE9, "e"},   {0xEA, "e"},  {0xEB, "e"},  {0xEC, "i"},  {0xED, "i"},  {0xEE, "i"},  {0xEF, "i"},
    {0xF0, "d"},   {0xF1, "n"},   {0xF2, "o"},  {0xF3, "o"},  {0xF4, "o"},  {0xF5, "o"},  {0xF6, "oe"}, {0xF8, "o"},
    {0xF9, "u"},   {0xFA, "u"},   {0xFB, "u"},  {0xFC, "ue"}, {0xFD, "y"},  {0xFE, "th"}, {0xFF, "y"},  {0xDF, "ss"},
    {0x101, "a"},  {0x103, "a"},  {0x105, "a"}, {0x107, "c"}, {0x109, "c"}, {0x10B, "c"}, {0x10D, "c"}, {0x10F, "d"},
    {0x111, "d"},  {0x113, "e"},  {0x115, "e"}, {0x117, "e"}, {0x119, "e"}, {0x11B, "e"}, {0x11D, "g"}, {0x11F, "g"},
    {0x121, "g"},  {0x123, "g"},  {0x125, "h"}, {0x127, "h"}, {0x129, "i"}, {0x12B, "i"}, {0x12D, "i"}, {0x12F, "i"},
    {0x131, "i"},  {0x133, "ij"}, {0x135, "j"}, {0x137, "k"}, {0x13A, "l"}, {0x13C, "l"}, {0x13E, "l"}, {0x140, "l"},
    {0x142, "l"},  {0x144, "n"},  {0x146, "n"}, {0x148, "n"}, {0x14B, "n"}, {0x14D, "o"}, {0x14F, "o"}, {0x151, "o"},
    {0x153, "oe"}, {0x155, "r"},  {0x157, "r"}, {0x159, "r"}, {0x15B, "s"}, {0x15D, "s"}, {0x15F, "s"}, {0x161, "s"},
    {0x163, "t"},  {0x165, "t"},  {0x167, "t"}, {0x169, "u"}, {0x16B, "u"}, {0x16D, "u"}, {0x16F, "u"}, {0x171, "u"},
    {0x173, "u"},  {0x175, "w"},  {0x177, "y"}, {0x17A, "z"}, {0x17C, "z"}, {0x17E, "z"}, {0x219, "s"}, {0x21B, "t"},
};

const char* ascii_of(char32_t letter) {
    const auto* found = std::find_if(std::begin(kSpellings), std::end(kSpellings),
                                     [&](const Spelling& spelling) { return spelling.letter == letter; });
    return found == std::end(kSpellings) ? nullptr : found->ascii;
}

/// Within a word: "don't" is one, and a mark of its own belongs to the letter before it.
bool is_silent(char32_t point) {
    return point == '\'' || point == 0x2019 || point == 0x2BC || is_invisible(point) ||
           (point >= 0x300 && point <= 0x36F);
}

std::string cut(std::string slug, std::size_t bytes) {
    if (slug.size() <= bytes) return slug;
    const auto hyphen = slug.rfind('-', bytes);
    slug.resize(hyphen != std::string::npos && hyphen > bytes / 2 ? hyphen : bytes);
    while (!slug.empty() && slug.back() == '-') slug.pop_back();
    return slug;
}

}

std::string slug_of(std::string_view title) {
    std::string slug;
    for (std::size_t at = 0; at < title.size();) {
        const auto letter = letter_at(title, at);
        at += letter.bytes;
        const char32_t small = lower(letter.point);
        if ((small >= 'a' && small <= 'z') || (small >= '0' && small <= '9')) {
            slug += static_cast<char>(small);
        } else if (const char* ascii = ascii_of(small)) {
            slug += ascii;
        } else if (!is_silent(small) && !slug.empty() && slug.back() != '-') {
            slug += '-';
        }
    }
    while (!slug.empty() && slug.back() == '-') slug.pop_back();
    return cut(std::move(slug), kLongestSlug);
}

std::string unique_slug(const std::string& slug, std::set<std::string>& taken) {
    if (taken.insert(slug).second) return slug;
    for (int number = 2;; ++number) {
        const std::string ending = "-" + std::to_string(number);
        const std::string tried = cut(slug, kLongestSlug - ending.size()) + ending;
        if (taken.insert(tried).second) return tried;
    }
}

}
