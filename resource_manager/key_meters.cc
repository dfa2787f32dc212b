#include "resource_manager/key_meters.h"

#include <algorithm>

namespace impresario::resource_manager {

using domain::TimePoint;

namespace {
/// Keys of one trim.
constexpr std::size_t kTrimmedAtOnce = 1000;
}

ProviderLimit limit_of_one_key(ProviderLimit limit) {
    limit.limit = limit.ceiling;
    // Each key has a copy.
    limit.name.clear();
    limit.key.clear();
    if (limit.kind == WindowKind::token_bucket) limit.kind = WindowKind::sliding_window;
    return limit;
}

KeyMeters::KeyMeters(const ProviderLimit& limit) : limit_(limit_of_one_key(limit)) {}

Meter& KeyMeters::meter(const std::string& key) { return keys_.try_emplace(key, limit_).first->second; }

const Meter* KeyMeters::known(std::string_view key) const {
    const auto found = keys_.find(key);
    return found == keys_.end() ? nullptr : &found->second;
}

void KeyMeters::charge(const std::string& key, std::int64_t amount) { meter(key).charge(amount); }
void KeyMeters::give_back(const std::string& key, std::int64_t amount) {
    meter(key).give_back(amount);
    eased_.insert(key);
}
void KeyMeters::end(const std::string& key, std::int64_t amount, TimePoint at) {
    meter(key).end(amount, at);
    eased_.insert(key);
}

void KeyMeters::waits(const std::string& key, std::int64_t asks, int more) {
    const auto waiting = waiting_.try_emplace(key).first;
    const auto at = waiting->second.try_emplace(asks, 0).first;
    at->second += more;
    if (at->second == 0) waiting->second.erase(at);
    if (waiting->second.empty()) waiting_.erase(waiting);
}

std::int64_t KeyMeters::used(const std::string& key, TimePoint now) const {
    const auto* meter = known(key);
    return meter ? meter->used(now) : 0;
}

std::int64_t KeyMeters::in_flight(const std::string& key) const {
    const auto* meter = known(key);
    return meter ? meter->in_flight() : 0;
}

std::optional<TimePoint> KeyMeters::fits_at(const std::string& key, std::int64_t amount, TimePoint now) const {
    if (const auto* meter = known(key)) return meter->fits_at(amount, now);
    if (amount > limit_.limit) return std::nullopt;
    return now;
}

std::int64_t KeyMeters::claim(const std::string& key, const Asks& asks, TimePoint now) const {
    const auto unused = limit_.guaranteed - used(key, now);
    return unused >= asks.begin()->first ? unused : 0;
}

std::int64_t KeyMeters::claim(const std::string& key, TimePoint now) const {
    const auto waiting = waiting_.find(key);
    return waiting == waiting_.end() ? 0 : claim(key, waiting->second, now);
}

std::int64_t KeyMeters::claimed(std::int64_t enough, TimePoint now) const {
    std::int64_t claimed = 0;
    if (limit_.guaranteed == 0) return claimed;
    for (const auto& [key, asks] : waiting_) {
        if (claimed > enough) break;
        claimed += claim(key, asks, now);
    }
    return claimed;
}

void KeyMeters::trim(TimePoint now) {
    auto at = keys_.lower_bound(trimmed_to_);
    for (std::size_t i = 0; i < kTrimmedAtOnce && at != keys_.end(); ++i) {
        at->second.trim(now);
        at = at->second.idle() ? keys_.erase(at) : std::next(at);
    }
    trimmed_to_ = at == keys_.end() ? std::string{} : at->first;
}

std::size_t KeyMeters::in_use(TimePoint now) const {
    return static_cast<std::size_t>(
        std::count_if(keys_.begin(), keys_.end(), [&](const auto& each) { return each.second.used(now) > 0; }));
}

std::vector<KeyMeters::Use> KeyMeters::heaviest(std::size_t most, TimePoint now) const {
    std::vector<Use> uses;
    uses.reserve(keys_.size());
    for (const auto& [key, meter] : keys_)
        if (const auto used = meter.used(now); used > 0) uses.push_back({key, used, meter.in_flight()});
    const auto heavier = [](const Use& a, const Use& b) { return a.used != b.used ? a.used > b.used : a.key < b.key; };
    const auto end = uses.begin() + static_cast<std::ptrdiff_t>(std::min(most, uses.size()));
    std::partial_sort(uses.begin(), end, uses.end(), heavier);
    uses.erase(end, uses.end());
    return uses;
}

}
