#include "resource_manager/histogram.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

namespace impresario::resource_manager {

namespace {

/// Bits after the first that tell buckets apart.
constexpr int kBits = 5;
constexpr std::int64_t kSteps = 1 << kBits;
constexpr int kLast = ((62 - kBits) << kBits) + 2 * kSteps - 1;
/// Less than this of one amount is nothing.
constexpr double kFaded = 1e-4;

int bucket_of(std::int64_t amount) {
    if (amount < 2 * kSteps) return static_cast<int>(std::max<std::int64_t>(0, amount));
    const int shift = std::bit_width(static_cast<std::uint64_t>(amount)) - 1 - kBits;
    return static_cast<int>((static_cast<std::int64_t>(shift) << kBits) + (amount >> shift));
}

/// The largest amount in it.
std::int64_t upper_end(int bucket) {
    if (bucket < 2 * kSteps) return bucket;
    const int shift = (bucket >> kBits) - 1;
    const std::uint64_t first = static_cast<std::uint64_t>(bucket) - (static_cast<std::uint64_t>(shift) << kBits);
    const std::uint64_t end = ((first + 1) << shift) - 1;
    return static_cast<std::int64_t>(end);
}

}

void Histogram::add(std::int64_t amount, double keep) {
    for (auto& [bucket, weight] : buckets_) weight *= keep;
    std::erase_if(buckets_, [](const auto& each) { return each.second < kFaded; });
    const int bucket = bucket_of(amount);
    const auto place = std::lower_bound(buckets_.begin(), buckets_.end(), bucket,
                                        [](const auto& each, int wanted) { return each.first < wanted; });
    if (place != buckets_.end() && place->first == bucket) {
        place->second += 1;
    } else {
        buckets_.insert(place, {bucket, 1.0});
    }
}

void Histogram::merge(const Histogram& other) {
    std::vector<std::pair<int, double>> merged;
    auto here = buckets_.begin();
    for (const auto& each : other.buckets_) {
        for (; here != buckets_.end() && here->first < each.first; ++here) merged.push_back(*here);
        merged.push_back(each);
        if (here != buckets_.end() && here->first == each.first) merged.back().second += (here++)->second;
    }
    merged.insert(merged.end(), here, buckets_.end());
    buckets_ = std::move(merged);
}

double Histogram::weight() const {
    double sum = 0;
    for (const auto& [bucket, weight] : buckets_) sum += weight;
    return sum;
}

std::int64_t Histogram::quantile(double part) const {
    if (buckets_.empty()) return 0;
    // Of n that are there and one that comes, each rank is as likely: with n alone too little is promised.
    const double wanted = part * (weight() + 1);
    double sum = 0;
    for (const auto& [bucket, weight] : buckets_) {
        sum += weight;
        if (sum >= wanted) return upper_end(bucket);
    }
    return upper_end(buckets_.back().first);
}

std::string Histogram::text() const {
    std::string text;
    char buffer[32];
    for (const auto& [bucket, weight] : buckets_) {
        if (!text.empty()) text += ' ';
        text += std::to_string(bucket) + ':';
        text.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, weight).ptr);
    }
    return text;
}

std::optional<Histogram> Histogram::parse(std::string_view text) {
    Histogram made;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at != end) {
        if (!made.buckets_.empty() && *at++ != ' ') return std::nullopt;
        int bucket = 0;
        double weight = 0;
        const auto [colon, no_bucket] = std::from_chars(at, end, bucket);
        if (no_bucket != std::errc{} || colon == end || *colon != ':') return std::nullopt;
        const auto [after, no_weight] = std::from_chars(colon + 1, end, weight);
        if (no_weight != std::errc{} || !std::isfinite(weight) || weight <= 0) return std::nullopt;
        const bool in_order = made.buckets_.empty() || made.buckets_.back().first < bucket;
        if (bucket < 0 || bucket > kLast || !in_order) return std::nullopt;
        made.buckets_.emplace_back(bucket, weight);
        at = after;
    }
    return made;
}

}
