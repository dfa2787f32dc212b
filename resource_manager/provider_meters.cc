#include "resource_manager/provider_meters.h"

#include <algorithm>
#include <utility>

#include "domain/limit_keys.h"

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

const ProviderMeters::LaneCounters& ProviderMeters::counters(CountersByProvider& known, const Lane& lane,
                                                             const std::string& name) {
    if (const auto found = known.find(name); found != known.end()) return found->second;
    LaneCounters made;
    const auto provider =
        std::find_if(providers_.begin(), providers_.end(), [&](const Provider& each) { return each.name == name; });
    if (provider != providers_.end()) {
        made.provider = &*provider;
        for (const auto& limit : provider->limits) {
            auto key = std::tuple(provider->name, limit.name, subject_of(limit.scope, lane));
            made.counters.push_back(&meters_.try_emplace(std::move(key), limit).first->second);
        }
    }
    return known.emplace(name, std::move(made)).first->second;
}

namespace {
/// One key's meter, used as a Meter is.
struct KeyAccount {
    KeyMeters& keys;
    std::string key;
    void charge(std::int64_t amount) { keys.charge(key, amount); }
    void give_back(std::int64_t amount) { keys.give_back(key, amount); }
    void end(std::int64_t amount, TimePoint at) { keys.end(key, amount, at); }
};
}

std::vector<ProviderMeters::Use> ProviderMeters::uses(const Lane& lane, const std::vector<Need>& needs) {
    std::vector<Use> uses;
    uses.reserve(needs.size());
    auto& of_lane = counters_[lane];
    for (const auto& need : needs) {
        const auto weather = weather_.find(need.provider);
        uses.push_back(
            {need, &counters(of_lane, lane, need.provider), weather == weather_.end() ? nullptr : &weather->second});
    }
    return uses;
}

template <class Each>
void ProviderMeters::each_account(const std::vector<Use>& uses, const std::string& limit_keys, Each each) {
    for (const auto& use : uses)
        for (auto* counter : use.counters->counters) {
            const auto& limit = counter->meter.limit();
            const auto amount = limit.amount(use.need);
            each(counter->meter, limit, amount);
            if (!counter->keys || amount == 0) continue;
            KeyAccount account{*counter->keys, domain::limit_key(limit_keys, limit.pointer())};
            each(account, limit, amount);
        }
}

template <class Each>
void ProviderMeters::each_weather(const std::vector<Use>& uses, Each each) {
    for (const auto& use : uses)
        if (use.weather) each(*use.weather, use.need);
}

namespace {
/// Requests are counted in the shortest window that the provider declares for them, or in a minute.
ProviderWeather unclouded(const Provider& provider) {
    const ProviderLimit* shortest = nullptr;
    for (const auto& limit : provider.limits)
        if (limit.of == Measure::requests && limit.scope == LimitScope::global &&
            (!shortest || limit.per < shortest->per))
            shortest = &limit;
    if (!shortest) return {std::chrono::minutes{1}, std::nullopt};
    return {shortest->per, shortest->limit};
}
}

void ProviderMeters::load(const std::vector<Provider>& providers, const std::vector<LoadedPermit>& permits,
                          TimePoint now, const WeatherRecords& records) {
    providers_ = providers;
    meters_.clear();
    counters_.clear();
    permits_.clear();
    std::map<std::string, ProviderWeather> weather;
    for (const auto& provider : providers_) {
        auto& fresh = weather.emplace(provider.name, unclouded(provider)).first->second;
        if (const auto known = weather_.find(provider.name); known != weather_.end()) {
            fresh.remember(known->second.record());
        } else if (const auto told = records.find(provider.name); told != records.end()) {
            fresh.remember(told->second);
        }
    }
    weather_ = std::move(weather);
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
            remember(each, each.ended_at.value_or(now));
        }
    }
    for (const auto& [execution, of_it] : live) {
        const auto& first = *of_it.front();
        std::vector<Need> needs;
        for (const auto* each : of_it) needs.push_back(each->need);
        charge(execution, first.lane, needs, first.limit_keys, now);
        if (first.ended_at) ended(execution, *first.ended_at);
    }
}

void ProviderMeters::remember(const LoadedPermit& permit, TimePoint ended_at) {
    const auto used = uses(permit.lane, {permit.need});
    each_account(used, permit.limit_keys, [&](auto& account, const ProviderLimit& limit, std::int64_t amount) {
        if (limit.of == Measure::concurrency) return;
        account.charge(amount);
        account.end(amount, ended_at);
    });
    if (permit.beyond) return;
    each_weather(used, [&](ProviderWeather& weather, const Need& need) {
        weather.charge(need, ended_at);
        weather.end(need, ended_at);
    });
}

void ProviderMeters::charge(const ExecutionId& execution, const Lane& lane, const std::vector<Need>& needs,
                            const std::string& limit_keys, TimePoint now) {
    if (needs.empty()) return released(execution, now);
    auto& permit = permits_[execution];
    release(permit, now);
    permit = {uses(lane, needs), limit_keys, true};
    each_account(permit.uses, limit_keys,
                 [](auto& account, const ProviderLimit&, std::int64_t amount) { account.charge(amount); });
    each_weather(permit.uses, [&](ProviderWeather& weather, const Need& need) { weather.charge(need, now); });
}

void ProviderMeters::end(Permit& permit, TimePoint at) {
    if (!std::exchange(permit.in_flight, false)) return;
    each_account(permit.uses, permit.limit_keys, [&](auto& account, const ProviderLimit& limit, std::int64_t amount) {
        if (limit.of != Measure::concurrency) account.end(amount, at);
    });
    each_weather(permit.uses, [&](ProviderWeather& weather, const Need& need) { weather.end(need, at); });
}

void ProviderMeters::release(Permit& permit, TimePoint at) {
    end(permit, at);
    each_account(permit.uses, permit.limit_keys, [](auto& account, const ProviderLimit& limit, std::int64_t amount) {
        if (limit.of == Measure::concurrency) account.give_back(amount);
    });
}

void ProviderMeters::ended(const ExecutionId& execution, TimePoint now) {
    if (const auto found = permits_.find(execution); found != permits_.end()) end(found->second, now);
}

void ProviderMeters::released(const ExecutionId& execution, TimePoint at) {
    const auto found = permits_.find(execution);
    if (found == permits_.end()) return;
    release(found->second, at);
    permits_.erase(found);
}

void ProviderMeters::given_back(const ExecutionId& execution) {
    const auto found = permits_.find(execution);
    if (found == permits_.end()) return;
    const auto& permit = found->second;
    each_account(permit.uses, permit.limit_keys, [&](auto& account, const ProviderLimit& limit, std::int64_t amount) {
        if (permit.in_flight || limit.of == Measure::concurrency) account.give_back(amount);
    });
    if (permit.in_flight)
        each_weather(permit.uses, [](ProviderWeather& weather, const Need& need) { weather.give_back(need); });
    permits_.erase(found);
}

void ProviderMeters::trim(TimePoint now) {
    for (auto& [key, counter] : meters_) {
        counter.meter.trim(now);
        if (counter.keys) counter.keys->trim(now);
    }
    for (auto& [name, weather] : weather_) weather.trim(now);
}

void ProviderMeters::nobody_waits() {
    for (auto& [key, counter] : meters_)
        if (counter.keys) counter.keys->nobody_waits();
}

std::vector<ProviderMeters::Applied> ProviderMeters::applied(const Lane& lane, const std::vector<Need>& needs) {
    std::vector<Applied> applied;
    auto& of_lane = counters_[lane];
    for (const auto& need : needs) {
        const auto& known = counters(of_lane, lane, need.provider);
        for (auto* counter : known.counters)
            applied.push_back({&known.provider->name, &counter->meter, counter->keys ? &*counter->keys : nullptr});
    }
    return applied;
}

void ProviderMeters::set_weather(const WeatherRecords& records) {
    for (auto& [name, weather] : weather_) {
        const auto found = records.find(name);
        if (found == records.end() || found->second.orders <= weather.record().orders) continue;
        weather.remember(found->second);
        changed_weather_.erase(name);
    }
}

bool ProviderMeters::hear(const ProviderNews& news, TimePoint now) {
    const auto found = weather_.find(news.provider);
    if (found == weather_.end() || !found->second.hear(news, now)) return false;
    changed_weather_.insert(news.provider);
    return true;
}

bool ProviderMeters::went_well(const std::vector<Need>& needs, TimePoint began, TimePoint now) {
    bool changed = false;
    for (const auto& need : needs) {
        const auto found = weather_.find(need.provider);
        if (found == weather_.end() || !found->second.went_well(ProviderWeather::requests(need), began, now)) continue;
        changed_weather_.insert(need.provider);
        changed = true;
    }
    return changed;
}

WeatherRecords ProviderMeters::take_changed_weather(TimePoint now) {
    WeatherRecords changed;
    for (auto& [name, weather] : weather_)
        if (const bool passed = weather.passed(now); passed || changed_weather_.contains(name))
            changed.emplace(name, weather.record());
    changed_weather_.clear();
    return changed;
}

std::vector<ProviderMeters::Shown> ProviderMeters::all() const {
    std::vector<Shown> all;
    for (const auto& [key, counter] : meters_)
        all.push_back({std::get<0>(key), std::get<2>(key), &counter.meter, counter.keys ? &*counter.keys : nullptr});
    return all;
}

}
