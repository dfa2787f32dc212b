#include "resource_manager/budget_state.h"

#include <algorithm>
#include <limits>

namespace impresario::resource_manager {

using domain::MicroUsd;
using domain::TimePoint;

namespace {

// 128 bits: a percentage or a rate of the largest amount.
__extension__ using Wide = __int128;

bool turns(WindowUnit unit) { return unit != WindowUnit::rolling && unit != WindowUnit::batch; }

MicroUsd saturated(Wide amount) {
    constexpr Wide kMost = std::numeric_limits<std::int64_t>::max();
    return {static_cast<std::int64_t>(std::min(amount, kMost))};
}

bool reaches(MicroUsd counted, int percent, MicroUsd limit) {
    return static_cast<Wide>(counted.value) * 100 >= static_cast<Wide>(limit.value) * percent;
}

}

Balance& Balance::operator+=(const Balance& other) {
    settled = settled + other.settled;
    reserved = reserved + other.reserved;
    suspense = suspense + other.suspense;
    return *this;
}

Balance BudgetState::counted(TimePoint now) const {
    Balance sum;
    const auto current = window_at(budget.window, now);
    for (const auto& each : windows) {
        const bool counts = budget.window.unit == WindowUnit::rolling
                                ? counts_until(budget.window, each.window) > now
                                : current.contains(each.window.start) ||
                                      (current.start < each.window.end && each.window.end <= current.end);
        if (counts) sum += each.balance;
    }
    return sum;
}

namespace {
bool fits(const Budget& budget, MicroUsd counted, MicroUsd amount) {
    return !budget.hard || counted + amount <= budget.limit;
}
}

bool BudgetState::allows(MicroUsd amount, TimePoint now) const {
    return !budget.hard || fits(budget, counted(now).counted(), amount);
}

BudgetRoom::BudgetRoom(const BudgetState& state, TimePoint now)
    : state_(&state),
      now_(now),
      window_(window_at(state.budget.window, now)),
      counted_(state.counted(now).counted()),
      steps_on_(steps_due(state, now)) {}

bool BudgetRoom::allows(MicroUsd amount, const domain::Demand& demand) const {
    if (!fits(state_->budget, counted_, amount)) return false;
    for (auto i = steps_begun(state_->budget, steps_on_, counted_); i-- > 0;) {
        const auto& step = state_->budget.steps[i];
        if (stops(step, *state_, demand.importance, now_) || defers(step, demand)) return false;
    }
    return true;
}

std::vector<BudgetRoom> rooms_of(const std::vector<BudgetState>& budgets, TimePoint now) {
    std::vector<BudgetRoom> rooms;
    rooms.reserve(budgets.size());
    for (const auto& each : budgets) rooms.emplace_back(each, now);
    return rooms;
}

bool BudgetState::ample(TimePoint now) const {
    if (steps_on > 0) return false;
    if (!budget.hard && budget.steps.empty()) return true;
    auto first = budget.hard ? budget.limit : MicroUsd{std::numeric_limits<std::int64_t>::max()};
    if (!budget.steps.empty()) first = std::min(first, most_below(budget.limit, budget.steps.front().at_percent));
    return counted(now).counted() < MicroUsd{first.value / 2};
}

void BudgetState::book(const BudgetWindow& window, const Balance& change) {
    for (auto& each : windows)
        if (each.window == window) {
            each.balance += change;
            return;
        }
    windows.push_back({window, change});
}

std::optional<TimePoint> BudgetState::turns_at(TimePoint now) const {
    if (budget.window.unit == WindowUnit::batch) return std::nullopt;
    return window_at(budget.window, now).end;
}

std::optional<TimePoint> BudgetState::falls_to(MicroUsd amount, TimePoint now) const {
    if (counted(now).counted() <= amount) return now;
    if (amount < MicroUsd{0}) return std::nullopt;
    if (budget.window.unit != WindowUnit::rolling) return turns_at(now);
    std::vector<TimePoint> steps;
    for (const auto& each : windows)
        if (const auto until = counts_until(budget.window, each.window); until > now) steps.push_back(until);
    std::sort(steps.begin(), steps.end());
    const auto fits =
        std::find_if(steps.begin(), steps.end(), [&](TimePoint at) { return counted(at).counted() <= amount; });
    if (fits == steps.end()) return std::nullopt;
    return *fits;
}

const BudgetStep* BudgetState::on(BudgetAction action) const {
    // The last: a later step says it more strictly.
    for (std::size_t i = std::min(steps_on, budget.steps.size()); i-- > 0;)
        if (budget.steps[i].action == action) return &budget.steps[i];
    return nullptr;
}

std::size_t steps_begun(const Budget& budget, std::size_t on, MicroUsd counted) {
    on = std::min(on, budget.steps.size());
    while (on < budget.steps.size() && reaches(counted, budget.steps[on].at_percent, budget.limit)) ++on;
    return on;
}

bool stops(const BudgetStep& step, const BudgetState& state, domain::Importance importance, TimePoint now) {
    if (importance == domain::Importance::critical && step.action != BudgetAction::stop) return false;
    switch (step.action) {
        case BudgetAction::stop:
        case BudgetAction::pause_non_critical:
            return true;
        case BudgetAction::ask_human:
            return !state.approved_until || *state.approved_until <= now;
        case BudgetAction::off_peak_hours:
            return !within_hours(state.budget.window.zone, step.from_hour, step.to_hour, now);
        case BudgetAction::alert:
        case BudgetAction::defer_low_priority:
        case BudgetAction::smaller_batches:
        case BudgetAction::cheaper_variant:
            return false;
    }
    return false;
}

bool defers(const BudgetStep& step, const domain::Demand& demand) {
    return step.action == BudgetAction::defer_low_priority && demand.importance != domain::Importance::critical &&
           demand.priority < step.below_priority;
}

MicroUsd most_below(MicroUsd limit, int percent) {
    return saturated((static_cast<Wide>(limit.value) * percent + 99) / 100 - 1);
}

std::size_t steps_due(const BudgetState& state, TimePoint now) {
    const auto& steps = state.budget.steps;
    const auto counted = state.counted(now).counted();
    const bool turned = turns(state.budget.window.unit) && state.steps_window != window_at(state.budget.window, now);
    std::size_t on = turned ? 0 : std::min(state.steps_on, steps.size());
    while (on > 0 && !reaches(counted, steps[on - 1].undone_below_percent, state.budget.limit)) --on;
    return steps_begun(state.budget, on, counted);
}

bool move_steps(BudgetState& state, TimePoint now) {
    const auto due = steps_due(state, now);
    const bool changed = due != state.steps_on;
    state.steps_on = due;
    state.steps_window = window_at(state.budget.window, now);
    return changed;
}

domain::Thrift thrift(const BudgetState& state) {
    domain::Thrift asked;
    if (const auto* step = state.on(BudgetAction::smaller_batches)) asked.batch_percent = step->batch_percent;
    asked.cheaper_variant = state.on(BudgetAction::cheaper_variant) != nullptr;
    return asked;
}

Forecast forecast(const BudgetState& state, TimePoint now) {
    const auto balance = state.counted(now);
    const MicroUsd counted = balance.counted();
    Forecast result{counted, std::nullopt};
    if (counted >= state.budget.limit) result.reached_at = now;
    if (!turns(state.budget.window.unit)) return result;
    const auto window = window_at(state.budget.window, now);
    const auto length = (window.end - window.start).count();
    const auto past = std::max((now - window.start).count(), length / 100);
    const auto left = (window.end - now).count();
    const Wide spent = (balance.settled + balance.suspense).value;
    result.at_end = saturated(counted.value + spent * left / past);
    if (result.reached_at || spent == 0) return result;
    const Wide wait = (static_cast<Wide>(state.budget.limit.value - counted.value) * past + spent - 1) / spent;
    if (wait < left) result.reached_at = now + domain::Duration{static_cast<std::int64_t>(wait)};
    return result;
}

}
