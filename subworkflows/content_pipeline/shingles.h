#pragma once
// Near duplicates: texts as sets of four words in a row (w-shingling, Broder 1997), kept as a sketch of their smallest
// hashes (bottom-k MinHash).

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "domain/id.h"
#include "subworkflows/content_pipeline/words.h"

namespace impresario::subworkflows::content_pipeline {

using DraftId = domain::Id<struct DraftTag>;

/// Words to a shingle.
inline constexpr std::size_t kShingleWords = 4;
/// Hashes to a sketch: likeness is exact for texts of fewer shingles, and within about 0.02 for longer ones.
inline constexpr std::size_t kSketchSize = 1024;
/// The smallest hashes of a sketch, by which like texts are found: two texts that are duplicates share one of them but
/// for one chance in 10^10.
inline constexpr std::size_t kProbes = 16;
/// From this Jaccard similarity on, a text is a duplicate.
inline constexpr double kDuplicate = 0.8;

/// The smallest hashes of a text's shingles: sorted, each once, at most kSketchSize. The same for ever: they are
/// stored.
using Sketch = std::vector<std::uint64_t>;

Sketch sketch_of(std::span<const Word> words);

std::span<const std::uint64_t> probes_of(const Sketch& sketch);

/// Jaccard similarity of the two texts, 0 to 1: shingles in both among shingles in either. 0 when one has none.
double similarity(const Sketch& a, const Sketch& b);

struct Likeness {
    DraftId id;
    std::string key;
    /// kDuplicate to 1.
    double similarity = 0;
};

/// The drafts so far, to be asked for the likeness of another.
class Seen {
  public:
    void add(DraftId id, std::string key, Sketch sketch);
    /// The most similar, the earliest added among equals; nullopt when none is a duplicate.
    std::optional<Likeness> closest(const Sketch& sketch) const;

  private:
    struct Entry {
        DraftId id;
        std::string key;
        Sketch sketch;
    };
    std::vector<Entry> entries_;
    /// From a probe to the entries that have it.
    std::unordered_map<std::uint64_t, std::vector<std::size_t>> by_probe_;
};

}
