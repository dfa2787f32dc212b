// Of the limiters those about how a provider does.
#include <algorithm>

#include "resource_manager/limiter.h"

namespace impresario::resource_manager {

using domain::Demand;
using domain::Gate;
using domain::GateKind;
using domain::TimePoint;

namespace {
const domain::Need* need_of(const Demand& demand, const std::string& provider) {
    for (const auto& need : demand.needs)
        if (need.provider == provider) return &need;
    return nullptr;
}

std::pair<std::int64_t, std::int64_t> size(const domain::Need& need) {
    return {ProviderWeather::requests(need), need.tokens};
}

Gate gate_of(std::string subject, std::string detail, std::optional<TimePoint> opens_at) {
    Gate gate;
    gate.kind = GateKind::provider;
    gate.subject = std::move(subject);
    gate.detail = std::move(detail);
    gate.opens_at = opens_at;
    return gate;
}

std::string because(const WeatherRecord& record) {
    std::string text = record.by.empty() ? "" : "set by " + record.by;
    if (!record.why.empty()) text += (text.empty() ? "" : ": ") + record.why;
    return text.empty() ? "it has refused" : text;
}
}

void ProviderCooling::offer(const Demand& demand) {
    const auto* need = need_of(demand, provider);
    if (need && (!least || size(*need) < *least)) least = size(*need);
}

std::optional<Gate> ProviderCooling::check(const Demand& demand, TimePoint now) const {
    const auto* need = need_of(demand, provider);
    if (!need) return std::nullopt;
    const auto& record = weather->record();
    if (weather->cooling(now)) {
        const auto until = *record.cooling_until;
        auto gate =
            gate_of(provider, "cooling until " + domain::rfc3339(until) + ", because " + because(record), until);
        gate.cooling = true;
        return gate;
    }
    if (const auto left = weather->left(now); left && *left == 0) {
        const auto until = record.quota->until;
        auto gate = gate_of(provider,
                            "cooling until " + domain::rfc3339(until) + ", because nothing is left" +
                                (record.why.empty() ? "" : " (" + record.why + ")"),
                            until);
        gate.numbers = {{"left", "0"}};
        gate.cooling = true;
        return gate;
    }
    if (!weather->probed(now)) return std::nullopt;
    if (weather->in_flight() > 0 || taken > 0)
        return gate_of(provider, "one start tries whether it takes more; the others wait for its answer", std::nullopt);
    // Whoever asks least may be kept from going by something that nobody foresees: not for long.
    const auto patience = *record.cooling_until + ProviderWeather::kCheapestFirst;
    if (least && *least < size(*need) && !demand.starving && now < patience)
        return gate_of(provider, "tried first by what asks least of it", patience);
    return std::nullopt;
}

void ProviderLearnt::take(const Demand& demand, Granted&, TimePoint) {
    if (const auto* need = need_of(demand, provider)) {
        taken += ProviderWeather::requests(*need);
        tokens_taken += need->tokens;
    }
}

std::optional<Gate> ProviderLearnt::check(const Demand& demand, TimePoint now) const {
    const auto* need = need_of(demand, provider);
    if (!need) return std::nullopt;
    const auto requests = ProviderWeather::requests(*need);
    const auto& record = weather->record();
    if (const auto left = weather->left(now)) {
        const bool tokens = record.quota->of == Measure::tokens;
        const auto asks = tokens ? need->tokens : requests;
        const auto there = *left - (tokens ? tokens_taken : taken);
        if (asks > there) {
            auto gate = gate_of(provider + " (remaining)",
                                "it said that " + std::to_string(*left) + (tokens ? " tokens" : " requests") +
                                    " are left until " + domain::rfc3339(record.quota->until) + " and " +
                                    std::to_string(asks) + " are asked",
                                record.quota->until);
            gate.numbers = {{"asks", std::to_string(asks)}, {"left", std::to_string(there)}};
            return gate;
        }
    }
    const auto allowed = weather->allowed(now);
    if (!allowed) return std::nullopt;
    const auto fits = weather->fits_at(requests, taken, now);
    if (fits && *fits <= now && !kept) return std::nullopt;
    auto gate = gate_of(provider + " (learnt)", "", fits && *fits > now ? fits : std::nullopt);
    gate.numbers = {{"asks", std::to_string(requests)},
                    {"used", std::to_string(weather->used(now) + taken)},
                    {"in_flight", std::to_string(weather->in_flight() + taken)},
                    {"limit", std::to_string(*allowed)}};
    gate.detail = "it has refused, and " + std::to_string(*allowed) + " requests in " +
                  domain::human(weather->window()) + ", evenly spread, are what goes well since";
    if (kept) {
        gate.detail += "; " + std::string(kKeptForAnother);
    } else if (gate.opens_at) {
        gate.detail += "; the next may go at " + domain::rfc3339(*gate.opens_at);
    } else {
        gate.detail += "; the next may go when requests under way have ended";
    }
    return gate;
}

}
