#pragma once
// Characters beyond ASCII, as far as articles need them: which are letters, which are spaces, and their small forms.
// Not the whole of Unicode, and never the process's locale: the same text gives the same draft everywhere.

#include <cstddef>
#include <string>
#include <string_view>

namespace impresario::subworkflows::content_pipeline {

/// What stands for bytes that are not UTF-8.
inline constexpr char32_t kReplacement = 0xFFFD;

struct Letter {
    char32_t point = 0;
    /// Length in the text, 1 to 4.
    std::size_t bytes = 1;
};

/// The character that begins at `text[at]`, which must be inside. A byte that begins none gives kReplacement.
Letter letter_at(std::string_view text, std::size_t at);
/// The character that ends just before `text[at]`; `at` must be above 0.
Letter letter_before(std::string_view text, std::size_t at);

/// Letters of any script, and marks that combine with them.
bool is_letter(char32_t point);
bool is_digit(char32_t point);
/// Blanks, line ends and no-break spaces.
bool is_space(char32_t point);
/// Written without spaces between words; each counts as a word.
bool is_ideograph(char32_t point);
/// Takes no room and means nothing to a reader: soft hyphens, zero-width marks, byte order marks.
bool is_invisible(char32_t point);
bool is_upper(char32_t point);
/// A small letter of a script that has capitals.
bool is_lower(char32_t point);

/// Small letters for the capitals of Latin, Greek and Cyrillic; anything else stays.
char32_t lower(char32_t point);
std::string lower(std::string_view text);

/// `text` on one line: runs of spaces become one blank, invisible and control characters go, ends are trimmed.
std::string tidy(std::string_view text);

/// At most `bytes` of tidy text, cut between words where there is one, with an ellipsis where something was cut.
std::string shortened(std::string_view text, std::size_t bytes);

}
