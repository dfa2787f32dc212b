#include "resource_manager/provider_meters.h"

#include <algorithm>

namespace impresario::resource_manager {

using domain::ExecutionId;
using domain::Lane;
using domain::Need;
using domain::TimePoint;

namespace {
std::string subject_of(LimitScope scope, const Lane& lane) {
    switch (scope) {
        case LimitScope::global:
            return {};
        case LimitScope::organization:
            return lane.organization_id;
        case LimitScope::workflow_type:
            return lane.text();
    }
    return {};
}
}

template <class Each>
void ProviderMeters::each_meter(const Lane& lane, const std::vector<Need>& needs, Each each) {
    for (const auto& need : needs) {
        const auto provider = std::find_if(providers_.begin(), providers_.end(),
                                           [&](const Provider& known) { return known.name == need.provider; });
        if (provider == providers_.end()) continue;
        for (const auto& limit : provider->limits) {
            auto key = std::tuple(provider->name, limit.name, subject_of(limit.scope, lane));
            auto found = meters_.try_emplace(std::move(key), limit).first;
            each(*provider, found->second, limit.amount(need));
        }
    }
}

void ProviderMeters::load(const std::vector<Provider>& providers, const std::vector<LoadedPermit>& permits,
                          TimePoint now) {
    providers_ = providers;
    meters_.clear();
    permits_.clear();
    // What is counted for everybody is shown before anything was charged to it.
    for (const auto& provider : providers_)
        for (const auto& limit : provider.limits)
            if (limit.scope == LimitScope::global)
                meters_.try_emplace({provider.name, limit.name, std::string{}}, limit);
    std::map<ExecutionId, std::vector<const LoadedPermit*>> live;
    for (const auto& each : permits) {
        if (each.execution) {
            live[*each.execution].push_back(&each);
        } else {
            remember(each.lane, each.need, each.ended_at.value_or(now));
        }
    }
    for (const auto& [execution, of_it] : live) {
        const auto& first = *of_it.front();
        std::vector<Need> needs;
        for (const auto* each : of_it) needs.push_back(each->need);
        charge(execution, first.attempt, first.fence, first.lane, needs, now);
        if (first.ended_at) ended(execution, *first.ended_at);
    }
}

void ProviderMeters::remember(const Lane& lane, const Need& need, TimePoint ended_at) {
    each_meter(lane, {need}, [&](const Provider&, Meter& meter, std::int64_t amount) {
        if (meter.limit().of != Measure::concurrency) meter.remember(amount, ended_at);
    });
}

void ProviderMeters::charge(const ExecutionId& execution, const domain::AttemptId& attempt, int fence, const Lane& lane,
                            const std::vector<Need>& needs, TimePoint now) {
    released(execution, now);
    if (needs.empty()) return;
    each_meter(lane, needs, [](const Provider&, Meter& meter, std::int64_t amount) { meter.charge(amount); });
    permits_.emplace(execution, Permit{attempt, fence, lane, needs, true});
}

void ProviderMeters::ended(const ExecutionId& execution, TimePoint now) {
    const auto found = permits_.find(execution);
    if (found == permits_.end() || !found->second.in_flight) return;
    found->second.in_flight = false;
    each_meter(found->second.lane, found->second.needs, [&](const Provider&, Meter& meter, std::int64_t amount) {
        if (meter.limit().of != Measure::concurrency) meter.end(amount, now);
    });
}

void ProviderMeters::released(const ExecutionId& execution, TimePoint at) {
    const auto found = permits_.find(execution);
    if (found == permits_.end()) return;
    ended(execution, at);
    each_meter(found->second.lane, found->second.needs, [](const Provider&, Meter& meter, std::int64_t amount) {
        if (meter.limit().of == Measure::concurrency) meter.give_back(amount);
    });
    permits_.erase(found);
}

void ProviderMeters::given_back(const ExecutionId& execution) {
    const auto found = permits_.find(execution);
    if (found == permits_.end()) return;
    const bool in_flight = found->second.in_flight;
    each_meter(found->second.lane, found->second.needs, [&](const Provider&, Meter& meter, std::int64_t amount) {
        if (in_flight || meter.limit().of == Measure::concurrency) meter.give_back(amount);
    });
    permits_.erase(found);
}

void ProviderMeters::trim(TimePoint now) {
    for (auto& [key, meter] : meters_) meter.trim(now);
}

std::vector<ProviderMeters::Applied> ProviderMeters::applied(const Lane& lane, const std::vector<Need>& needs) {
    std::vector<Applied> applied;
    each_meter(lane, needs, [&](const Provider& provider, Meter& meter, std::int64_t) {
        applied.push_back({&provider.name, &meter});
    });
    return applied;
}

std::vector<ProviderMeters::Shown> ProviderMeters::all() const {
    std::vector<Shown> all;
    for (const auto& [key, meter] : meters_) all.push_back({std::get<0>(key), std::get<2>(key), &meter});
    return all;
}

}
