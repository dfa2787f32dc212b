#include "resource_manager/admission.h"

#include <algorithm>

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
        if (demand.starving) keep(demand, named, place, now);
        return *std::move(stopped);
    }
    Granted granted;
    for (const auto place : named)
        std::visit([&](auto& limiter) { limiter.take(demand, granted, now); }, limiters_[place]);
    return granted;
}

namespace {

BudgetLimit* budget_in(Limiter& limiter) {
    if (auto* batch = std::get_if<BatchBudgetLimit>(&limiter)) return batch;
    return std::get_if<BudgetLimit>(&limiter);
}

/// Of what is shared it lacks a quantity that others give back.
bool lacking(Limiter& limiter, const domain::Demand& demand, domain::TimePoint now) {
    if (const auto* budget = budget_in(limiter)) return budget->lacking(demand, now);
    return std::holds_alternative<ProviderRate>(limiter) || std::holds_alternative<ProviderLearnt>(limiter) ||
           std::holds_alternative<Memory>(limiter);
}

bool shared(Limiter& limiter) {
    return budget_in(limiter) || std::holds_alternative<ProviderRate>(limiter) ||
           std::holds_alternative<ProviderLearnt>(limiter) || std::holds_alternative<Memory>(limiter);
}

/// It asks more than there will ever be, as things are defined.
bool never_fits(Limiter& limiter, const domain::Demand& demand) {
    if (const auto* rate = std::get_if<ProviderRate>(&limiter))
        return rate->asked(demand) > rate->meter->limit().capacity();
    if (const auto* memory = std::get_if<Memory>(&limiter)) return demand.memory_mb > memory->limit_mb;
    if (const auto* budget = budget_in(limiter)) {
        const auto share = budget->state->budget.scope.share(demand);
        return share && budget->state->budget.hard && *share > budget->state->budget.limit;
    }
    return false;
}

}

/// What it lacks is kept for it as it comes free, and what it does not lack is set aside, so that the one is not gone
/// when the other has come (protocol R16). What something else stops keeps nothing, and what never fits would keep it
/// for ever.
void Admission::keep(const domain::Demand& demand, const std::vector<std::size_t>& named, std::size_t stopped_at,
                     domain::TimePoint now) {
    if (!lacking(limiters_[stopped_at], demand, now)) return;
    const auto closed = [&](const Limiter& limiter) {
        return std::visit([&](const auto& each) { return each.check(demand, now).has_value(); }, limiter);
    };
    for (const auto place : named)
        if (never_fits(limiters_[place], demand) ||
            (closed(limiters_[place]) && !lacking(limiters_[place], demand, now)))
            return;
    for (const auto place : named) {
        auto& limiter = limiters_[place];
        if (!shared(limiter)) continue;
        if (!closed(limiter)) {
            Granted granted;
            std::visit([&](auto& each) { each.take(demand, granted, now); }, limiter);
            continue;
        }
        if (auto* rate = std::get_if<ProviderRate>(&limiter)) rate->kept = true;
        if (auto* learnt = std::get_if<ProviderLearnt>(&limiter)) learnt->kept = true;
        if (auto* memory = std::get_if<Memory>(&limiter)) memory->kept = true;
        if (auto* budget = budget_in(limiter)) budget->kept = true;
    }
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
