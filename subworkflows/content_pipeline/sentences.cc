#include "subworkflows/content_pipeline/sentences.h"

#include <algorithm>
#include <iterator>

#include "subworkflows/content_pipeline/letters.h"

namespace impresario::subworkflows::content_pipeline {

namespace {

bool is_one_of(char32_t point, std::u32string_view set) { return set.find(point) != std::u32string_view::npos; }
bool is_end(char32_t point) { return is_one_of(point, U".!?\u2026\u3002\uFF01\uFF1F"); }
bool is_ideographic_end(char32_t point) { return is_one_of(point, U"\u3002\uFF01\uFF1F"); }
bool is_closing(char32_t point) { return is_one_of(point, U"\"')]}\u201D\u2019\u201C\u00BB\u300D\u300F"); }
bool is_opening(char32_t point) { return is_one_of(point, U"\"'([{\u201C\u2018\u201E\u201A\u00AB\u00BF\u00A1"); }

template <std::size_t Count>
bool is_among(const std::string_view (&list)[Count], std::string_view word) {
    return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

/// Never the last word of a sentence, whatever follows.
constexpr std::string_view kAbbreviations[] = {
    "mr",   "mrs", "ms",  "dr",   "prof", "st",     "mt",   "gen",  "col",  "sgt",  "capt", "rev", "hon",  "messrs",
    "e.g",  "i.e", "vs",  "cf",   "ca",   "approx", "esp",  "bzw",  "z.b",  "d.h",  "u.a",  "ggf", "evtl", "inkl",
    "zzgl", "vgl", "mme", "mlle", "sra",  "srta",   "p.ej", "resp", "incl", "excl", "viz",  "jr",  "sr"};

/// Before a number only: "no. 5" is a number, "no. Then" an answer.
constexpr std::string_view kBeforeNumbers[] = {"no",  "nos",  "nr",  "fig", "figs", "vol", "pp",  "ch",  "sec",
                                               "eq",  "art",  "jan", "feb", "mar",  "apr", "jun", "jul", "aug",
                                               "sep", "sept", "oct", "nov", "dec",  "pt",  "abb", "tab"};

constexpr std::string_view kGermanMonths[] = {"januar", "februar", "m\xC3\xA4rz", "april",   "mai",      "juni",
                                              "juli",   "august",  "september",   "oktober", "november", "dezember"};

/// Words that begin sentences more often than names: "in the U.S. The" ends one, "the U.S. Navy" does not.
constexpr std::string_view kStarters[] = {"the", "this", "that", "these", "it",   "in",  "on", "at",   "but",
                                          "and", "we",   "he",   "she",   "they", "i",   "if", "when", "while",
                                          "for", "a",    "an",   "there", "you",  "not", "as", "so",   "after"};

std::string_view word_from(std::string_view text, std::size_t at) {
    std::size_t end = at;
    while (end < text.size()) {
        const auto letter = letter_at(text, end);
        if (!is_letter(letter.point) && !is_digit(letter.point)) break;
        end += letter.bytes;
    }
    return text.substr(at, end - at);
}

/// What stands before `dot` without a blank or an opening bracket: "e.g" of "(e.g.".
std::string_view token_before(std::string_view text, std::size_t dot) {
    std::size_t from = dot;
    while (from > 0) {
        const auto letter = letter_before(text, from);
        if (is_space(letter.point) || is_opening(letter.point)) break;
        from -= letter.bytes;
    }
    return text.substr(from, dot - from);
}

/// "U.S" or "N.A.S.A": capitals with points between them.
bool is_acronym(std::string_view token) {
    if (token.find('.') == std::string_view::npos) return false;
    return std::all_of(token.begin(), token.end(), [](char c) { return c == '.' || (c >= 'A' && c <= 'Z'); });
}

/// Whether the full stop at `dot` ends its sentence, given where the next word begins. `from` is the sentence's start.
bool stop_ends(std::string_view text, std::size_t from, std::size_t dot, std::size_t next) {
    const auto token = token_before(text, dot);
    if (token.empty()) return true;
    const std::string small = lower(token);
    const char32_t follower = letter_at(text, next).point;
    const auto first = letter_at(token, 0);
    if (first.bytes == token.size() && is_letter(first.point)) return token == "I" || is_ideograph(first.point);
    if (is_among(kAbbreviations, small)) return false;
    if (is_digit(follower) && is_among(kBeforeNumbers, small)) return false;
    if (std::all_of(token.begin(), token.end(), [](char c) { return c >= '0' && c <= '9'; })) {
        // "1." at the start numbers an item; "3. Mai" is a date.
        if (static_cast<std::size_t>(token.data() - text.data()) == from && token.size() <= 3) return false;
        if (is_among(kGermanMonths, lower(word_from(text, next)))) return false;
    }
    if (is_acronym(token)) return is_among(kStarters, lower(word_from(text, next)));
    return true;
}

std::size_t skip_spaces(std::string_view text, std::size_t at) {
    while (at < text.size() && is_space(letter_at(text, at).point)) at += letter_at(text, at).bytes;
    return at;
}

bool has_capitals(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const auto letter = letter_at(text, at);
        if (is_upper(letter.point)) return true;
        at += letter.bytes;
    }
    return false;
}

/// Whether the marks from `mark` to `stop` (with closing quotes) end a sentence that began at `from`. Where the text is
/// `cased`, a small letter goes on with the sentence.
bool ends_here(std::string_view text, bool cased, std::size_t from, std::size_t mark, std::size_t marks_end,
               std::size_t stop) {
    if (stop >= text.size()) return true;
    const auto last = letter_before(text, marks_end);
    if (is_ideographic_end(last.point)) return true;
    if (!is_space(letter_at(text, stop).point)) return false;
    std::size_t next = skip_spaces(text, stop);
    while (next < text.size() && is_opening(letter_at(text, next).point)) next += letter_at(text, next).bytes;
    if (next >= text.size()) return true;
    if (cased && is_lower(letter_at(text, next).point)) return false;
    const bool single_stop = marks_end - mark == 1 && text[mark] == '.';
    return !single_stop || stop_ends(text, from, mark, next);
}

}

std::vector<std::string> sentences_of(std::string_view text) {
    std::vector<std::string> sentences;
    const bool cased = has_capitals(text);
    std::size_t from = skip_spaces(text, 0);
    const auto take = [&](std::size_t end) {
        auto sentence = tidy(text.substr(from, end - from));
        if (!sentence.empty()) sentences.push_back(std::move(sentence));
    };
    for (std::size_t at = from; at < text.size();) {
        const auto letter = letter_at(text, at);
        if (!is_end(letter.point)) {
            at += letter.bytes;
            continue;
        }
        std::size_t marks_end = at;
        while (marks_end < text.size() && is_end(letter_at(text, marks_end).point))
            marks_end += letter_at(text, marks_end).bytes;
        std::size_t stop = marks_end;
        while (stop < text.size() && is_closing(letter_at(text, stop).point)) stop += letter_at(text, stop).bytes;
        if (ends_here(text, cased, from, at, marks_end, stop)) {
            take(stop);
            from = skip_spaces(text, stop);
        }
        at = stop;
    }
    if (from < text.size()) take(text.size());
    return sentences;
}

bool is_finished(std::string_view sentence) {
    std::size_t at = sentence.size();
    while (at > 0 && is_closing(letter_before(sentence, at).point)) at -= letter_before(sentence, at).bytes;
    return at > 0 && is_end(letter_before(sentence, at).point);
}

}
