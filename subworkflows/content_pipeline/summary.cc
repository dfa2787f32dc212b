#include "subworkflows/content_pipeline/summary.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "subworkflows/content_pipeline/letters.h"
#include "subworkflows/content_pipeline/sentences.h"

namespace impresario::subworkflows::content_pipeline {

namespace {

constexpr double kDamping = 0.85;
constexpr double kStill = 1e-9;
constexpr int kMostRounds = 200;
constexpr std::size_t kLongest = 500;
/// Two sentences that share so much of their stems say the same.
constexpr double kSame = 0.7;

struct Candidate {
    std::string text;
    /// Sorted, each once.
    std::vector<std::string> stems;
    bool whole = false;
};

struct Edge {
    std::size_t to;
    double weight;
};

double likeness(std::size_t shared, std::size_t a, std::size_t b) {
    // Logarithms of sizes, as in the paper; one more, so that sentences of one stem do not divide by zero.
    return static_cast<double>(shared) /
           (std::log(1.0 + static_cast<double>(a)) + std::log(1.0 + static_cast<double>(b)));
}

std::vector<std::vector<Edge>> graph_of(const std::vector<std::vector<std::string>>& stems) {
    std::unordered_map<std::string_view, std::vector<std::size_t>> holders;
    for (std::size_t i = 0; i < stems.size(); ++i)
        for (const auto& stem : stems[i]) holders[stem].push_back(i);
    std::vector<std::vector<Edge>> edges(stems.size());
    std::vector<std::size_t> shared(stems.size());
    for (std::size_t i = 0; i < stems.size(); ++i) {
        std::fill(shared.begin(), shared.end(), 0);
        for (const auto& stem : stems[i])
            for (const auto j : holders[stem]) ++shared[j];
        for (std::size_t j = 0; j < stems.size(); ++j)
            if (j != i && shared[j] > 0) edges[i].push_back({j, likeness(shared[j], stems[i].size(), stems[j].size())});
    }
    return edges;
}

std::vector<Candidate> candidates_of(const CleanText& text, Language language) {
    std::vector<Candidate> candidates;
    Stemmer stemmer(language);
    for (const auto& block : text.blocks) {
        if (block.kind != Block::Kind::paragraph && block.kind != Block::Kind::item) continue;
        for (auto& sentence : sentences_of(block.text)) {
            if (candidates.size() == kMostSentences) return candidates;
            const auto words = words_of(sentence);
            if (words.empty()) continue;
            Candidate candidate;
            candidate.whole = is_finished(sentence) && words.size() >= 5 && words.size() <= 60;
            for (const auto& word : words)
                if (tells(word, language))
                    candidate.stems.push_back(stemmer.stem(std::string(bare(word.lower, language))));
            std::sort(candidate.stems.begin(), candidate.stems.end());
            candidate.stems.erase(std::unique(candidate.stems.begin(), candidate.stems.end()), candidate.stems.end());
            candidate.text = std::move(sentence);
            candidates.push_back(std::move(candidate));
        }
    }
    return candidates;
}

bool says_the_same(const Candidate& a, const Candidate& b) {
    if (a.text == b.text) return true;
    std::vector<std::string> shared;
    std::set_intersection(a.stems.begin(), a.stems.end(), b.stems.begin(), b.stems.end(), std::back_inserter(shared));
    const auto all = a.stems.size() + b.stems.size() - shared.size();
    return all > 0 && static_cast<double>(shared.size()) > kSame * static_cast<double>(all);
}

}

std::vector<double> text_rank(const std::vector<std::vector<std::string>>& stems) {
    const auto edges = graph_of(stems);
    const auto count = static_cast<double>(stems.size());
    std::vector<double> out(stems.size());
    for (std::size_t i = 0; i < stems.size(); ++i)
        out[i] = std::accumulate(edges[i].begin(), edges[i].end(), 0.0,
                                 [](double sum, const Edge& edge) { return sum + edge.weight; });
    std::vector<double> rank(stems.size(), 1.0 / count);
    std::vector<double> next(stems.size());
    for (int round = 0; round < kMostRounds; ++round) {
        // A sentence without a neighbour votes for all alike, or the ranks would not add up to 1.
        double lonely = 0;
        for (std::size_t i = 0; i < stems.size(); ++i)
            if (edges[i].empty()) lonely += rank[i];
        std::fill(next.begin(), next.end(), (1 - kDamping) / count + kDamping * lonely / count);
        for (std::size_t i = 0; i < stems.size(); ++i)
            for (const auto& edge : edges[i]) next[edge.to] += kDamping * rank[i] * edge.weight / out[i];
        double moved = 0;
        for (std::size_t i = 0; i < stems.size(); ++i) moved += std::fabs(next[i] - rank[i]);
        rank.swap(next);
        if (moved < kStill) break;
    }
    return rank;
}

std::vector<std::string> summarise(const CleanText& text, Language language, std::size_t most) {
    const auto candidates = candidates_of(text, language);
    std::vector<std::vector<std::string>> stems;
    stems.reserve(candidates.size());
    for (const auto& candidate : candidates) stems.push_back(candidate.stems);
    const auto rank = text_rank(stems);
    std::vector<std::size_t> order(candidates.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        if (candidates[a].whole != candidates[b].whole) return candidates[a].whole;
        return rank[a] > rank[b];
    });
    std::vector<std::size_t> chosen;
    for (const auto at : order) {
        if (chosen.size() == most) break;
        const bool repeats = std::any_of(chosen.begin(), chosen.end(), [&](std::size_t other) {
            return says_the_same(candidates[at], candidates[other]);
        });
        if (!repeats) chosen.push_back(at);
    }
    std::sort(chosen.begin(), chosen.end());
    std::vector<std::string> summary;
    for (const auto at : chosen) summary.push_back(shortened(candidates[at].text, kLongest));
    return summary;
}

}
