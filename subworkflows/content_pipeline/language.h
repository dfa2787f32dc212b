#pragma once
// The languages whose stop words and stems we know.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "subworkflows/content_pipeline/words.h"

struct sb_stemmer;

namespace impresario::subworkflows::content_pipeline {

enum class Language { english, german, french, spanish };

/// ISO 639-1: "en", "de", "fr", "es".
std::string_view code(Language language);

/// The language most of whose stop words are among `words`; English when none stands out.
Language language_of(std::span<const Word> words);

/// Words so common that they say nothing about a text, in small letters.
const std::unordered_set<std::string_view>& stop_words(Language language);

/// Brings the forms of a word together by the Snowball algorithm ("pruning", "pruned" → "prune"'s stem). One thread.
class Stemmer {
  public:
    explicit Stemmer(Language language);
    /// `word` in small letters. The reference lives as long as the stemmer.
    const std::string& stem(const std::string& word);

  private:
    std::unique_ptr<sb_stemmer, void (*)(sb_stemmer*)> stemmer_;
    std::unordered_map<std::string, std::string> known_;
};

/// `word` without an article that was run into it: French "l'océan" is "océan".
std::string_view bare(std::string_view word, Language language);

/// Whether a word says something about its text: no stop word, no number, not a lone letter.
bool tells(const Word& word, Language language);

}
