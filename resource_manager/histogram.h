#pragma once
// How large something usually is: counts of amounts by their size, of which old ones fade. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace impresario::resource_manager {

/// Amounts from 0 on, in buckets of which each is about 3 % wider than the one before: an amount below 32 exactly, a
/// larger one by its first six bits. A few hundred buckets hold whatever comes. The same amounts in the same order give
/// the same histogram on every machine; those of two nodes can be added.
class Histogram {
  public:
    /// Before it is added, everything else weighs `keep` times what it did.
    void add(std::int64_t amount, double keep);
    void merge(const Histogram& other);

    /// The sum of weights.
    double weight() const;
    bool empty() const { return buckets_.empty(); }
    /// The least upper end of a bucket that at least this part of the weight, as if one more were to come, is not
    /// above; the largest one's where all of it is less. 0 when empty.
    std::int64_t quantile(double part) const;

    /// "617:0.5 640:1": buckets and weights, exact.
    std::string text() const;
    static std::optional<Histogram> parse(std::string_view text);

    friend bool operator==(const Histogram&, const Histogram&) = default;

  private:
    /// By bucket.
    std::vector<std::pair<int, double>> buckets_;
};

}
