#include "resource_manager/admission.h"

#include <algorithm>
#include <concepts>

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
        if (auto* share = std::get_if<KeyShare>(&limiters_[place])) share->hold(demand, now);
        if (demand.starving) keep(demand, named, now);
        return *std::move(stopped);
    }
    Granted granted;
    for (const auto place : named)
        std::visit([&](auto& limiter) { limiter.take(demand, granted, now); }, limiters_[place]);
    return granted;
}

namespace {

/// Several lanes share it, and what it gives comes back.
template <class L>
concept Shared = std::same_as<decltype(L::kept), bool>;

/// Of what is shared it lacks a quantity that others give back.
bool lacking(const Limiter& limiter, const domain::Demand& demand, domain::TimePoint now) {
    return std::visit(
        [&]<class L>(const L& each) {
            if constexpr (std::derived_from<L, BudgetLimit>) {
                return each.lacking(demand, now);
            } else {
                return Shared<L>;
            }
        },
        limiter);
}

/// It asks more than there will ever be, as things are defined.
bool never_fits(const Limiter& limiter, const domain::Demand& demand) {
    return std::visit(
        [&](const auto& each) {
            if constexpr (requires { each.never_fits(demand); }) {
                return each.never_fits(demand);
            } else {
                return false;
            }
        },
        limiter);
}

}

bool Admission::lacks_only(const domain::Demand& demand, const std::vector<std::size_t>& named,
                           domain::TimePoint now) const {
    const auto closed = [&](const Limiter& limiter) {
        return std::visit([&](const auto& each) { return each.check(demand, now).has_value(); }, limiter);
    };
    return std::none_of(named.begin(), named.end(), [&](std::size_t place) {
        const auto& limiter = limiters_[place];
        return never_fits(limiter, demand) || (closed(limiter) && !lacking(limiter, demand, now));
    });
}

/// What it lacks is kept for it as it comes free, and what it does not lack is set aside, so that the one is not gone
/// when the other has come (protocol R16). What something else stops keeps nothing, and what never fits would keep it
/// for ever.
void Admission::keep(const domain::Demand& demand, const std::vector<std::size_t>& named, domain::TimePoint now) {
    if (!lacks_only(demand, named, now)) return;
    for (const auto place : named)
        std::visit(
            [&]<class L>(L& each) {
                if constexpr (Shared<L>) {
                    Granted granted;
                    if (each.check(demand, now)) {
                        each.kept = true;
                    } else {
                        each.take(demand, granted, now);
                    }
                }
            },
            limiters_[place]);
}

void Admission::offer(const domain::Demand& demand, const std::vector<std::size_t>& named) {
    for (const auto place : named)
        if (auto* cooling = std::get_if<ProviderCooling>(&limiters_[place])) cooling->offer(demand);
}

namespace {
/// Who waits for a limit for no longer than this waits for the others at the same time.
constexpr auto kSoon = std::chrono::seconds{10};

/// What stops this and all else of its lane.
std::optional<domain::Gate> gate_of_lane(const Limiter& limiter, const domain::Demand& demand, domain::TimePoint now) {
    return std::visit(
        [&](const auto& each) -> std::optional<domain::Gate> {
            if (!each.kWholeLane) return std::nullopt;
            return each.check(demand, now);
        },
        limiter);
}
}

bool Admission::behind_key(const domain::Demand& demand, const std::vector<std::size_t>& shares,
                           domain::TimePoint now) {
    return std::any_of(shares.begin(), shares.end(), [&](std::size_t place) {
        auto& share = std::get<KeyShare>(limiters_[place]);
        if (!share.check(demand, now)) return false;
        share.hold(demand, now);
        return true;
    });
}

bool Admission::left_room() const {
    return std::any_of(limiters_.begin(), limiters_.end(), [](const Limiter& each) {
        const auto* share = std::get_if<KeyShare>(&each);
        return share && share->left_room && share->taken > 0;
    });
}

bool Admission::stopped(const domain::Demand& demand, const std::vector<std::size_t>& named,
                        domain::TimePoint now) const {
    return std::any_of(named.begin(), named.end(), [&](std::size_t place) {
        // What a limit with a key is waited for is the question.
        const auto* rate = std::get_if<ProviderRate>(&limiters_[place]);
        if (rate && rate->meter->limit().keyed()) return false;
        const auto gate = gate_of_lane(limiters_[place], demand, now);
        if (!gate) return false;
        switch (gate->kind) {
            case domain::GateKind::concurrency:
            case domain::GateKind::memory:
                return false;
            case domain::GateKind::endpoint:
                return gate->cooling;
            case domain::GateKind::provider:
                return gate->cooling || (gate->opens_at && *gate->opens_at > now + kSoon);
            default:
                return true;
        }
    });
}

std::optional<domain::Gate> Admission::closed(const domain::Demand& demand, const std::vector<std::size_t>& named,
                                              domain::TimePoint now) const {
    for (const auto place : named) {
        if (const auto* share = std::get_if<KeyShare>(&limiters_[place])) {
            if (share->check(demand, now)) return std::nullopt;
            continue;
        }
        if (auto gate = gate_of_lane(limiters_[place], demand, now)) return gate;
    }
    return std::nullopt;
}

}
