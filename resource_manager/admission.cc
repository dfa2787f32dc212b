#include "resource_manager/admission.h"

namespace impresario::resource_manager {

std::size_t Admission::add(Limiter limiter) {
    limiters_.push_back(std::move(limiter));
    return limiters_.size() - 1;
}

Verdict Admission::admit(const domain::Demand& demand, const std::vector<std::size_t>& named, domain::TimePoint now) {
    for (const auto place : named) {
        auto stopped = std::visit(
            [&](const auto& limiter) -> std::optional<Deferred> {
                auto gate = limiter.check(demand, now);
                if (!gate) return std::nullopt;
                return Deferred{*std::move(gate), limiter.kWholeLane};
            },
            limiters_[place]);
        if (!stopped) continue;
        if (demand.starving)
            if (auto* rate = std::get_if<ProviderRate>(&limiters_[place])) rate->kept = true;
        return *std::move(stopped);
    }
    Granted granted;
    for (const auto place : named)
        std::visit([&](auto& limiter) { limiter.take(demand, granted, now); }, limiters_[place]);
    return granted;
}

std::optional<domain::Gate> Admission::closed(const domain::Demand& demand, const std::vector<std::size_t>& named,
                                              domain::TimePoint now) const {
    for (const auto place : named) {
        auto gate = std::visit(
            [&](const auto& limiter) -> std::optional<domain::Gate> {
                if (!limiter.kWholeLane) return std::nullopt;
                return limiter.check(demand, now);
            },
            limiters_[place]);
        if (gate) return gate;
    }
    return std::nullopt;
}

}
