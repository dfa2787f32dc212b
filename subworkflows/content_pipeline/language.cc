#include "subworkflows/content_pipeline/language.h"

#include <libstemmer.h>

#include <algorithm>
#include <stdexcept>

#include "subworkflows/content_pipeline/letters.h"

namespace impresario::subworkflows::content_pipeline {

std::string_view code(Language language) {
    switch (language) {
        case Language::english:
            return "en";
        case Language::german:
            return "de";
        case Language::french:
            return "fr";
        case Language::spanish:
            return "es";
    }
    return "en";
}

Language language_of(std::span<const Word> words) {
    // The beginning tells; the rest of a long text would only repeat it.
    const auto looked_at = words.first(std::min<std::size_t>(words.size(), 2000));
    Language best = Language::english;
    std::ptrdiff_t most = -1;
    for (const auto language : {Language::english, Language::german, Language::french, Language::spanish}) {
        const auto& stops = stop_words(language);
        const auto found = std::count_if(looked_at.begin(), looked_at.end(),
                                         [&](const Word& word) { return stops.contains(word.lower); });
        if (found > most) {
            most = found;
            best = language;
        }
    }
    return best;
}

Stemmer::Stemmer(Language language)
    : stemmer_(sb_stemmer_new(std::string(code(language)).c_str(), nullptr), sb_stemmer_delete) {
    if (!stemmer_) throw std::runtime_error("libstemmer has no stemmer for '" + std::string(code(language)) + "'");
}

const std::string& Stemmer::stem(const std::string& word) {
    const auto [entry, fresh] = known_.try_emplace(word);
    if (fresh) {
        const auto* stem = sb_stemmer_stem(stemmer_.get(), reinterpret_cast<const sb_symbol*>(word.data()),
                                           static_cast<int>(word.size()));
        if (!stem) throw std::bad_alloc();
        entry->second.assign(reinterpret_cast<const char*>(stem),
                             static_cast<std::size_t>(sb_stemmer_length(stemmer_.get())));
    }
    return entry->second;
}

std::string_view bare(std::string_view word, Language language) {
    if (language != Language::french) return word;
    const auto apostrophe = word.find('\'');
    const bool elided = apostrophe == 1 || (apostrophe == 2 && word.starts_with("qu"));
    return elided ? word.substr(apostrophe + 1) : word;
}

bool tells(const Word& word, Language language) {
    const auto& stops = stop_words(language);
    const auto rest = bare(word.lower, language);
    if (word.number || rest.empty() || stops.contains(word.lower) || stops.contains(rest)) return false;
    return rest.size() >= 2 || is_ideograph(letter_at(rest, 0).point);
}

}
