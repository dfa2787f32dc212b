#include "resource_manager/provider_preview.h"

#include <algorithm>
#include <cmath>

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
        const auto last = last_in(limit, amount, room, lane.waiting);
        met.last_in = met.last_in && last ? std::optional(std::max(*met.last_in, *last)) : std::nullopt;
        if (gate && !met.gate) met.gate = std::move(gate);
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
