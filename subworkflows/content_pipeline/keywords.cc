#include "subworkflows/content_pipeline/keywords.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "subworkflows/content_pipeline/sentences.h"

namespace impresario::subworkflows::content_pipeline {

namespace {

constexpr double kInTitle = 3;
constexpr double kInHeading = 2;
/// A phrase tells more than its words do alone.
constexpr double kPairBonus = 1.5;
/// A whole book need not be counted to know what it is about.
constexpr std::size_t kMostWords = 100'000;

/// How often each written form of one stem, or of one pair of stems, occurs.
class Forms {
  public:
    void add(const std::string& form) {
        for (auto& [known, count] : forms_)
            if (known == form) {
                ++count;
                return;
            }
        forms_.emplace_back(form, 1);
    }
    /// The most frequent, the first among equals.
    const std::string& best() const {
        return std::max_element(forms_.begin(), forms_.end(),
                                [](const auto& a, const auto& b) { return a.second < b.second; })
            ->first;
    }

  private:
    std::vector<std::pair<std::string, int>> forms_;
};

struct Term {
    double weight = 0;
    int count = 0;
    /// Order of the first occurrence: what comes early wins among equals.
    std::size_t first = 0;
    Forms forms;
    std::vector<std::string> parts;
};

class Counter {
  public:
    explicit Counter(Language language) : language_(language), stemmer_(language) {}

    /// Reads nothing more once it has read kMostWords.
    void read(std::string_view line, double weight) {
        if (at_ >= kMostWords) return;
        const std::string* before = nullptr;
        std::string form_before;
        for (const auto& word : words_of(line)) {
            ++at_;
            std::string form(bare(word.lower, language_));
            if (!tells(word, language_) || form.size() < 3) {
                before = nullptr;
                continue;
            }
            const auto& stem = stemmer_.stem(form);
            add(terms_, stem, form, weight, {stem});
            if (before && word.joined && *before != stem)
                add(pairs_, *before + ' ' + stem, form_before + ' ' + form, weight, {*before, stem});
            before = &stem;
            form_before = std::move(form);
        }
    }

    std::vector<std::string> best(std::size_t most) {
        std::vector<Term> chosen;
        for (auto& pair : repeated_pairs()) {
            const bool fits = std::all_of(pair.parts.begin(), pair.parts.end(), [&](const std::string& part) {
                return terms_.at(part).weight >= pair.weight;
            });
            if (!fits) continue;
            for (const auto& part : pair.parts) {
                terms_.at(part).weight -= pair.weight;
                terms_.at(part).count -= pair.count;
            }
            pair.weight *= kPairBonus;
            chosen.push_back(pair);
        }
        for (auto& [stem, term] : terms_)
            if (term.weight > 0) chosen.push_back(term);
        sort(chosen);
        std::vector<std::string> keywords;
        for (const auto& term : chosen) {
            if (keywords.size() == most) break;
            if (term.weight < 2 && keywords.size() >= 3) break;
            keywords.push_back(term.forms.best());
        }
        return keywords;
    }

  private:
    using Terms = std::unordered_map<std::string, Term>;

    void add(Terms& terms, const std::string& key, const std::string& form, double weight,
             std::vector<std::string> parts) {
        auto& term = terms[key];
        if (term.count == 0) {
            term.first = at_;
            term.parts = std::move(parts);
        }
        term.weight += weight;
        ++term.count;
        term.forms.add(form);
    }

    static void sort(std::vector<Term>& terms) {
        std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) {
            if (a.weight != b.weight) return a.weight > b.weight;
            if (a.first != b.first) return a.first < b.first;
            return a.parts < b.parts;
        });
    }
    std::vector<Term> repeated_pairs() const {
        std::vector<Term> list;
        for (const auto& [key, pair] : pairs_)
            if (pair.count >= 2) list.push_back(pair);
        sort(list);
        return list;
    }

    Language language_;
    Stemmer stemmer_;
    Terms terms_;
    Terms pairs_;
    std::size_t at_ = 0;
};

}

std::vector<std::string> keywords_of(std::string_view title, const CleanText& text, Language language,
                                     std::size_t most) {
    Counter counter(language);
    counter.read(title, kInTitle);
    for (const auto& block : text.blocks) {
        if (!block.prose()) continue;
        if (block.kind == Block::Kind::heading) {
            // The title again is not another voice for it.
            if (block.text != title) counter.read(block.text, kInHeading);
            continue;
        }
        for (const auto& sentence : sentences_of(block.text)) counter.read(sentence, 1);
    }
    return counter.best(most);
}

}
