#include "subworkflows/content_pipeline/shingles.h"

#include <algorithm>
#include <set>

namespace impresario::subworkflows::content_pipeline {

namespace {

/// FNV-1a with a last stir (splitmix64), for the smallest of plain FNV values are not evenly spread. Stored sketches
/// depend on it: changing it makes every draft so far unlike every new one.
std::uint64_t hash_of(std::span<const Word> words) {
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    const auto eat = [&](unsigned char byte) { hash = (hash ^ byte) * 0x100000001b3ULL; };
    for (const auto& word : words) {
        for (const char c : word.lower) eat(static_cast<unsigned char>(c));
        eat(' ');
    }
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ULL;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebULL;
    return hash ^ (hash >> 31);
}

}

Sketch sketch_of(std::span<const Word> words) {
    Sketch sketch;
    if (words.size() < kShingleWords) return sketch;
    sketch.reserve(words.size() - kShingleWords + 1);
    for (std::size_t at = 0; at + kShingleWords <= words.size(); ++at)
        sketch.push_back(hash_of(words.subspan(at, kShingleWords)));
    std::sort(sketch.begin(), sketch.end());
    sketch.erase(std::unique(sketch.begin(), sketch.end()), sketch.end());
    if (sketch.size() > kSketchSize) sketch.resize(kSketchSize);
    sketch.shrink_to_fit();
    return sketch;
}

std::span<const std::uint64_t> probes_of(const Sketch& sketch) {
    return std::span(sketch).first(std::min(kProbes, sketch.size()));
}

double similarity(const Sketch& a, const Sketch& b) {
    if (a.empty() || b.empty()) return 0;
    // A full sketch says nothing about hashes beyond its last. The smallest kSketchSize of both together never reach
    // beyond either's, so among them membership is known; they are a fair sample of all.
    const bool sampled = a.size() == kSketchSize || b.size() == kSketchSize;
    std::size_t all = 0;
    std::size_t shared = 0;
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a.size() || j < b.size()) {
        if (sampled && all == kSketchSize) break;
        ++all;
        if (j == b.size() || (i < a.size() && a[i] < b[j])) {
            ++i;
        } else if (i == a.size() || b[j] < a[i]) {
            ++j;
        } else {
            ++shared;
            ++i;
            ++j;
        }
    }
    return static_cast<double>(shared) / static_cast<double>(all);
}

void Seen::add(DraftId id, std::string key, Sketch sketch) {
    for (const auto probe : probes_of(sketch)) by_probe_[probe].push_back(entries_.size());
    entries_.push_back({id, std::move(key), std::move(sketch)});
}

std::optional<Likeness> Seen::closest(const Sketch& sketch) const {
    std::set<std::size_t> candidates;
    for (const auto probe : probes_of(sketch))
        if (const auto found = by_probe_.find(probe); found != by_probe_.end())
            candidates.insert(found->second.begin(), found->second.end());
    std::optional<Likeness> best;
    for (const auto at : candidates) {
        const double alike = similarity(sketch, entries_[at].sketch);
        if (alike >= kDuplicate && (!best || alike > best->similarity))
            best = Likeness{entries_[at].id, entries_[at].key, alike};
    }
    return best;
}

}
