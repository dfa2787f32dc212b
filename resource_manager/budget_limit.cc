#include <algorithm>

#include "resource_manager/limiter.h"

namespace impresario::resource_manager {

using domain::Demand;
using domain::Gate;
using domain::GateKind;
using domain::Importance;
using domain::MicroUsd;
using domain::TimePoint;

namespace {

/// Where the budget stands, as the decision saw it; the caller says what follows from it.
Gate gate_of(const BudgetState& state, MicroUsd asks, MicroUsd taken, TimePoint now) {
    auto balance = state.counted(now);
    balance.reserved = balance.reserved + taken;
    const auto shown = [](MicroUsd amount) { return domain::decimal(amount); };
    Gate gate;
    gate.kind = GateKind::budget;
    gate.subject = state.budget.name;
    gate.numbers = {{"asks", shown(asks)},
                    {"settled", shown(balance.settled)},
                    {"reserved", shown(balance.reserved)},
                    {"suspense", shown(balance.suspense)},
                    {"limit", shown(state.budget.limit)}};
    gate.detail = shown(balance.counted()) + " of " + shown(state.budget.limit) + " USD are spent or reserved";
    return gate;
}

std::string turn_of(const BudgetState& state, TimePoint now) {
    if (state.budget.window.unit == WindowUnit::batch) return "its window is the batch's whole life";
    if (state.budget.window.unit == WindowUnit::rolling)
        return "its window is the last " + std::to_string(state.budget.window.hours) + " hours";
    return "its window turns at " + domain::rfc3339(*state.turns_at(now));
}

Gate stopped_by(const BudgetStep& step, const BudgetState& state, MicroUsd asks, MicroUsd taken, TimePoint now) {
    auto gate = gate_of(state, asks, taken, now);
    gate.opens_at = state.falls_to(most_below(state.budget.limit, step.undone_below_percent), now);
    // Less counts already: the next turn notices.
    if (gate.opens_at && *gate.opens_at <= now) gate.opens_at.reset();
    gate.detail += "; at " + std::to_string(step.at_percent) + " % " + std::string(name(step.action)) +
                   " until less than " + std::to_string(step.undone_below_percent) + " % counts";
    if (gate.opens_at) gate.detail += ", by itself at " + domain::rfc3339(*gate.opens_at);
    gate.detail += "; " + turn_of(state, now);
    return gate;
}

/// What one step says to a start, whatever its priority.
std::optional<Gate> check_step(const BudgetStep& step, const BudgetState& state, MicroUsd asks, MicroUsd taken,
                               TimePoint now) {
    switch (step.action) {
        case BudgetAction::stop:
        case BudgetAction::pause_non_critical:
            return stopped_by(step, state, asks, taken, now);
        case BudgetAction::ask_human: {
            if (state.approved_until && *state.approved_until > now) return std::nullopt;
            auto gate = stopped_by(step, state, asks, taken, now);
            gate.detail += "; or when somebody approves going on";
            return gate;
        }
        case BudgetAction::off_peak_hours: {
            const auto& zone = state.budget.window.zone;
            if (within_hours(zone, step.from_hour, step.to_hour, now)) return std::nullopt;
            auto gate = stopped_by(step, state, asks, taken, now);
            const auto off_peak = next_hour(zone, step.from_hour, now);
            gate.opens_at = domain::earlier(gate.opens_at, off_peak);
            gate.detail += "; off-peak hours begin at " + domain::rfc3339(off_peak);
            return gate;
        }
        case BudgetAction::alert:
        case BudgetAction::defer_low_priority:
        case BudgetAction::smaller_batches:
        case BudgetAction::cheaper_variant:
            return std::nullopt;
    }
    return std::nullopt;
}

/// What those that are on say to a start, whatever its priority.
std::optional<Gate> check_steps(const BudgetState& state, Importance importance, MicroUsd asks, MicroUsd taken,
                                TimePoint now) {
    const auto& steps = state.budget.steps;
    for (std::size_t i = 0; i < std::min(state.steps_on, steps.size()); ++i) {
        if (importance == Importance::critical && steps[i].action != BudgetAction::stop) continue;
        if (auto gate = check_step(steps[i], state, asks, taken, now)) return gate;
    }
    return std::nullopt;
}

}

std::optional<Gate> BudgetLimit::check(const Demand& demand, TimePoint now) const {
    const auto share = state->budget.scope.share(demand);
    if (!share) return std::nullopt;
    if (auto gate = check_steps(*state, demand.importance, *share, taken, now)) return gate;

    const bool fits = state->allows(taken + *share, now);
    if (fits && (!kept || *share == MicroUsd{0})) return std::nullopt;
    const MicroUsd limit = state->budget.limit;
    auto gate = gate_of(*state, *share, taken, now);
    if (fits) {
        gate.detail += "; " + std::string(kKeptForAnother);
        return gate;
    }
    gate.detail += " and " + domain::decimal(*share) + " more asked";
    if (*share > limit) {
        gate.detail += ", more than the budget ever gives; raise the limit or lower what the workflow type costs";
        return gate;
    }
    // At a turn what was granted since is forgotten with the rest.
    const auto fits_at = state->falls_to(std::max(MicroUsd{0}, limit - *share - taken), now);
    if (fits_at && *fits_at > now) gate.opens_at = fits_at;
    gate.detail += "; " + turn_of(*state, now);
    if (state->budget.window.unit == WindowUnit::rolling && gate.opens_at)
        gate.detail += ", fits at " + domain::rfc3339(*gate.opens_at);
    return gate;
}

std::optional<Gate> BatchBudgetLimit::check(const Demand& demand, TimePoint now) const {
    const bool for_another = kept_for && *kept_for != demand.lane;
    return BudgetLimit{state, taken, kept || for_another}.check(demand, now);
}

bool BudgetLimit::lacking(const Demand& demand, TimePoint now) const {
    const auto share = state->budget.scope.share(demand);
    return share && !state->allows(taken + *share, now) &&
           state->counted(now).settled + *share <= state->budget.limit &&
           !check_steps(*state, demand.importance, *share, taken, now);
}

bool BudgetLimit::never_fits(const Demand& demand) const {
    const auto share = state->budget.scope.share(demand);
    return share && state->budget.hard && *share > state->budget.limit;
}

void BudgetLimit::take(const Demand& demand, Granted&, TimePoint) {
    if (const auto share = state->budget.scope.share(demand)) taken = taken + *share;
}

std::optional<Gate> BudgetPriority::check(const Demand& demand, TimePoint now) const {
    const auto* step = state->on(BudgetAction::defer_low_priority);
    if (!step || demand.importance == Importance::critical || demand.priority >= step->below_priority)
        return std::nullopt;
    const auto share = state->budget.scope.share(demand);
    if (!share) return std::nullopt;
    auto gate = stopped_by(*step, *state, *share, {}, now);
    gate.numbers.emplace_back("below_priority", std::to_string(step->below_priority));
    return gate;
}

}
