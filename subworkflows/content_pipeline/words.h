#pragma once
// A text as its words.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace impresario::subworkflows::content_pipeline {

struct Word {
    /// In small letters, with a plain apostrophe.
    std::string lower;
    /// Only digits and what stands between them.
    bool number = false;
    /// Nothing but blanks between this and the word before: the two may be one phrase.
    bool joined = false;
};

/// Letters and digits that stand together; apostrophes and hyphens within a word and points and commas within a number
/// belong to it. Each ideograph is a word.
std::vector<Word> words_of(std::string_view text);

/// words_of(text).size() without making them.
std::int64_t count_words(std::string_view text);

}
