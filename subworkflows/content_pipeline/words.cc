#include "subworkflows/content_pipeline/words.h"

#include "platform/json_text.h"
#include "subworkflows/content_pipeline/letters.h"

namespace impresario::subworkflows::content_pipeline {

namespace {

bool is_apostrophe(char32_t point) { return point == '\'' || point == 0x2019 || point == 0x02BC; }
bool is_hyphen(char32_t point) { return point == '-' || point == 0x2010 || point == 0x2011; }
bool is_word_part(char32_t point) { return (is_letter(point) || is_digit(point)) && !is_ideograph(point); }

/// Calls `found(Word&&)` for each word; the word's text is only made when `Wanted`.
template <bool Wanted, class Found>
void each_word(std::string_view text, Found found) {
    bool joined = false;
    for (std::size_t at = 0; at < text.size();) {
        auto letter = letter_at(text, at);
        if (is_invisible(letter.point)) {
            at += letter.bytes;
            continue;
        }
        if (is_ideograph(letter.point)) {
            Word word;
            if constexpr (Wanted) platform::append_utf8(word.lower, letter.point);
            word.joined = joined;
            found(std::move(word));
            joined = true;
            at += letter.bytes;
            continue;
        }
        if (!is_word_part(letter.point)) {
            if (!is_space(letter.point)) joined = false;
            at += letter.bytes;
            continue;
        }
        Word word;
        word.number = true;
        word.joined = joined;
        char32_t before = 0;
        while (at < text.size()) {
            letter = letter_at(text, at);
            const char32_t next = at + letter.bytes < text.size() ? letter_at(text, at + letter.bytes).point : 0;
            char32_t kept = letter.point;
            if (is_word_part(letter.point)) {
                if (!is_digit(letter.point)) word.number = false;
                kept = lower(letter.point);
            } else if (is_apostrophe(letter.point) && is_letter(before) && is_letter(next)) {
                kept = '\'';
            } else if (is_hyphen(letter.point) && is_word_part(before) && is_word_part(next)) {
                kept = '-';
            } else if ((letter.point == '.' || letter.point == ',') && is_digit(before) && is_digit(next)) {
                // 3.5 and 10,000 are one number.
            } else if (is_invisible(letter.point)) {
                at += letter.bytes;
                continue;
            } else {
                break;
            }
            if constexpr (Wanted) platform::append_utf8(word.lower, kept);
            before = letter.point;
            at += letter.bytes;
        }
        found(std::move(word));
        joined = true;
    }
}

}

std::vector<Word> words_of(std::string_view text) {
    std::vector<Word> words;
    each_word<true>(text, [&](Word&& word) { words.push_back(std::move(word)); });
    return words;
}

std::int64_t count_words(std::string_view text) {
    std::int64_t count = 0;
    each_word<false>(text, [&](Word&&) { ++count; });
    return count;
}

}
