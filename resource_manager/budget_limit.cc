#include <algorithm>

#include "resource_manager/limiter.h"

namespace impresario::resource_manager {

using domain::Demand;
using domain::Gate;
using domain::GateKind;
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
    gate.numbers.emplace_back("undone_below_percent", std::to_string(step.undone_below_percent));
    gate.opens_at = state.falls_to(most_below(state.budget.limit, step.undone_below_percent), now);
    // Less counts already: the next turn notices.
    if (gate.opens_at && *gate.opens_at <= now) gate.opens_at.reset();
    gate.detail += "; at " + std::to_string(step.at_percent) + " % " + std::string(name(step.action)) +
                   " until less than " + std::to_string(step.undone_below_percent) + " % counts";
    if (gate.opens_at) gate.detail += ", by itself at " + domain::rfc3339(*gate.opens_at);
    gate.detail += "; " + turn_of(state, now);
    if (step.action == BudgetAction::ask_human) gate.detail += "; or when somebody approves going on";
    if (step.action == BudgetAction::off_peak_hours) {
        const auto off_peak = next_hour(state.budget.window.zone, step.from_hour, now);
        gate.opens_at = domain::earlier(gate.opens_at, off_peak);
        gate.detail += "; off-peak hours begin at " + domain::rfc3339(off_peak);
    }
    return gate;
}

/// What those that are on say to a start, whatever its priority; some may have begun with what was granted since.
std::optional<Gate> check_steps(const BudgetState& state, MicroUsd counted, const Demand& demand, MicroUsd asks,
                                MicroUsd taken, TimePoint now) {
    const auto& steps = state.budget.steps;
    const auto on = steps_begun(state.budget, state.steps_on, counted);
    for (std::size_t i = 0; i < on; ++i)
        if (stops(steps[i], state, demand.importance, now)) return stopped_by(steps[i], state, asks, taken, now);
    return std::nullopt;
}

}

std::optional<Gate> BudgetLimit::check(const Demand& demand, TimePoint now) const {
    const auto share = state->budget.scope.share(demand);
    if (!share) return std::nullopt;
    const auto counted = state->counted(now).counted() + taken;
    if (auto gate = check_steps(*state, counted, demand, *share, taken, now)) return gate;

    const MicroUsd limit = state->budget.limit;
    const bool fits = !state->budget.hard || counted + *share <= limit;
    if (fits && (!kept || *share == MicroUsd{0})) return std::nullopt;
    auto gate = gate_of(*state, *share, taken, now);
    if (fits) {
        gate.detail += "; " + std::string(kKeptForAnother);
        return gate;
    }
    gate.detail += " and " + domain::decimal(*share) + " more asked";
    if (*share > limit) {
        gate.detail += ", " + std::string(kNeverGiven) + "; raise the limit or lower what the workflow type costs";
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
    if (!share || !state->budget.hard) return false;
    const auto balance = state->counted(now);
    const auto counted = balance.counted() + taken;
    return counted + *share > state->budget.limit && balance.settled + *share <= state->budget.limit &&
           !check_steps(*state, counted, demand, *share, taken, now);
}

bool BudgetLimit::never_fits(const Demand& demand) const {
    const auto share = state->budget.scope.share(demand);
    return share && state->budget.hard && *share > state->budget.limit;
}

void BudgetLimit::take(const Demand& demand, Granted&, TimePoint) {
    if (const auto share = state->budget.scope.share(demand)) taken = taken + *share;
}

const BudgetStep* BudgetPriority::step(const Demand& demand, TimePoint now) const {
    const auto& steps = state->budget.steps;
    // Most budgets have none that defers.
    if (std::none_of(steps.begin(), steps.end(), [&](const auto& each) { return defers(each, demand); }))
        return nullptr;
    const BudgetStep* strictest = nullptr;
    const auto on = steps_begun(state->budget, state->steps_on, state->counted(now).counted() + taken);
    for (std::size_t i = 0; i < on; ++i)
        if (defers(steps[i], demand) && (!strictest || steps[i].below_priority > strictest->below_priority))
            strictest = &steps[i];
    return strictest;
}

std::optional<Gate> BudgetPriority::check(const Demand& demand, TimePoint now) const {
    const auto* deferring = step(demand, now);
    if (!deferring) return std::nullopt;
    const auto share = state->budget.scope.share(demand);
    if (!share) return std::nullopt;
    auto gate = stopped_by(*deferring, *state, *share, taken, now);
    gate.numbers.emplace_back("below_priority", std::to_string(deferring->below_priority));
    return gate;
}

void BudgetPriority::take(const Demand& demand, Granted&, TimePoint) {
    if (const auto share = state->budget.scope.share(demand)) taken = taken + *share;
}

}
