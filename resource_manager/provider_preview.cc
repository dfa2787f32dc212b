#include "resource_manager/provider_preview.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "domain/limit_keys.h"
#include "resource_manager/limiter.h"

namespace impresario::resource_manager {

namespace {

/// Until a limit of which nothing but these is taken has let all of them start. A window lets its limit through at
/// once, so the last ones go with the window that they fall into; a bucket lets them through one by one.
std::optional<domain::Duration> last_in(const ProviderLimit& limit, std::int64_t amount, std::int64_t room,
                                        std::int64_t waiting) {
    const bool at_once = limit.kind != WindowKind::token_bucket;
    const auto whole = [amount](std::int64_t some) { return static_cast<double>(some / amount * amount); };
    const double beyond = static_cast<double>(waiting) * static_cast<double>(amount) -
                          (at_once ? whole(room) : static_cast<double>(room));
    if (beyond <= 0) return domain::Duration{0};
    if (amount > limit.most_of_one() || limit.of == Measure::concurrency) return std::nullopt;
    const double windows = at_once ? std::ceil(beyond / whole(limit.limit)) : beyond / static_cast<double>(limit.limit);
    const double micros = windows * static_cast<double>(limit.per.count());
    // Beyond a thousand years nobody asks how many.
    if (micros > 3e16) return std::nullopt;
    return domain::Duration{static_cast<domain::Duration::rep>(std::ceil(micros))};
}

/// Of two times until the last may start, each nullopt where it never may.
std::optional<domain::Duration> later(std::optional<domain::Duration> a, std::optional<domain::Duration> b) {
    return a && b ? std::optional(std::max(*a, *b)) : std::nullopt;
}

/// What the ceilings of keys let through, each key by itself.
LimitsMet meet_keys(const ProviderMeters::Applied& applied, const WaitingLane& lane, domain::Demand demand,
                    std::int64_t amount, domain::TimePoint now) {
    const auto& limit = applied.meter->limit();
    std::map<std::string, std::int64_t> waiting;
    std::int64_t known = 0;
    for (const auto& each : lane.keys) {
        waiting[domain::limit_key(each.limit_keys, limit.key)] += each.waiting;
        known += each.waiting;
    }
    const auto of_key = limit_of_one_key(limit);
    LimitsMet met{std::nullopt, std::max<std::int64_t>(0, lane.waiting - known), domain::Duration{0}};
    for (const auto& [key, count] : waiting) {
        const auto room = std::max<std::int64_t>(0, limit.ceiling - applied.keys->used(key, now));
        met.fit += std::min(count, room / amount);
        met.last_in = later(met.last_in, last_in(of_key, amount, room, count));
    }
    if (met.fit > 0 || lane.keys.empty()) return met;
    const auto most = std::max_element(lane.keys.begin(), lane.keys.end(),
                                       [](const auto& a, const auto& b) { return a.waiting < b.waiting; });
    demand.limit_keys = most->limit_keys;
    met.gate = KeyShare{*applied.provider, applied.meter, applied.keys, limit.key}.check(demand, now);
    return met;
}

LimitsMet meet(ProviderMeters& meters, const WaitingLane& lane, const domain::Need& need, domain::TimePoint now) {
    LimitsMet met{std::nullopt, lane.waiting, domain::Duration{0}};
    domain::Demand demand;
    demand.lane = lane.lane;
    demand.needs = {need};
    for (const auto& each : meters.applied(lane.lane, demand.needs)) {
        const auto& limit = each.meter->limit();
        const auto amount = limit.amount(need);
        if (amount <= 0) continue;
        const auto room = std::max<std::int64_t>(0, limit.capacity() - each.meter->used(now));
        auto gate = ProviderRate{*each.provider, each.meter}.check(demand, now);
        met.fit = std::min(met.fit, gate ? 0 : room / amount);
        met.last_in = later(met.last_in, last_in(limit, amount, room, lane.waiting));
        if (gate && !met.gate) met.gate = std::move(gate);
        if (!each.keys) continue;
        auto keys = meet_keys(each, lane, demand, amount, now);
        met.fit = std::min(met.fit, keys.fit);
        met.last_in = later(met.last_in, keys.last_in);
        if (keys.gate && !met.gate) met.gate = std::move(keys.gate);
    }
    return met;
}

void load(ProviderMeters& meters, const Provider* provider, const std::vector<LoadedPermit>& permits,
          domain::TimePoint now) {
    if (provider) meters.load({*provider}, permits, now);
}

}

std::vector<ProviderLanePreview> preview(const Provider* before, const Provider* after,
                                         const std::vector<LoadedPermit>& permits,
                                         const std::vector<WaitingLane>& lanes, domain::TimePoint now) {
    ProviderMeters was;
    ProviderMeters is;
    load(was, before, permits, now);
    load(is, after, permits, now);
    std::vector<ProviderLanePreview> lines;
    const auto& name = after ? after->name : before->name;
    for (const auto& lane : lanes)
        for (const auto& need : lane.price.needs)
            if (need.provider == name)
                lines.push_back({lane.lane, lane.waiting, meet(was, lane, need, now), meet(is, lane, need, now)});
    return lines;
}

}
