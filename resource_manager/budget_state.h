#pragma once
// Where a budget stands: what is booked, which of its steps are on, where it is heading. Pure.

#include <cstddef>
#include <optional>
#include <vector>

#include "domain/demand.h"
#include "domain/money.h"
#include "domain/thrift.h"
#include "domain/time.h"
#include "resource_manager/budget.h"
#include "resource_manager/budget_window.h"

namespace impresario::resource_manager {

/// What is booked in a window; none of it is below zero.
struct Balance {
    domain::MicroUsd settled;
    /// Held for what has been granted.
    domain::MicroUsd reserved;
    /// Held for what may be running or not, nobody knows.
    domain::MicroUsd suspense;

    /// What counts against the limit.
    domain::MicroUsd counted() const { return settled + reserved + suspense; }
    Balance& operator+=(const Balance& other);
    friend bool operator==(const Balance&, const Balance&) = default;
};

struct WindowBalance {
    BudgetWindow window;
    Balance balance;
};

struct BudgetState {
    Budget budget;
    /// Those that may still count, in any order.
    std::vector<WindowBalance> windows;
    /// How many of its steps are on: they begin and end in their order.
    std::size_t steps_on = 0;
    /// The window in which they began.
    BudgetWindow steps_window;
    /// Somebody has approved going on until then.
    std::optional<domain::TimePoint> approved_until;

    /// What counts now. Where the budget's window was changed, what was booked in the ones before counts as far as they
    /// begin or end in the one of now.
    Balance counted(domain::TimePoint now) const;
    /// Whether so much more may be granted now.
    bool allows(domain::MicroUsd amount, domain::TimePoint now) const;
    /// No step is on, and not half of what begins the first one, or of the limit, counts: a moment more or less of what
    /// is booked changes nothing.
    bool ample(domain::TimePoint now) const;
    void book(const BudgetWindow& window, const Balance& change);
    /// When at most `amount` will count, if nothing else is booked; nullopt: never by itself.
    std::optional<domain::TimePoint> falls_to(domain::MicroUsd amount, domain::TimePoint now) const;
    /// When the window in which money is booked now ends; nullopt: with its batch.
    std::optional<domain::TimePoint> turns_at(domain::TimePoint now) const;
    const BudgetStep* on(BudgetAction action) const;
};

/// How many of a budget's steps are on once so much counts: those that were, and those that begin with it. Within a
/// turn only more is granted, so none ends.
std::size_t steps_begun(const Budget& budget, std::size_t on, domain::MicroUsd counted);
/// Whether a step that is on keeps such a start waiting; whoever is critical waits for `stop` alone.
bool stops(const BudgetStep& step, const BudgetState& state, domain::Importance importance, domain::TimePoint now);
/// Of what does not stop its lane: it waits for its little priority.
bool defers(const BudgetStep& step, const domain::Demand& demand);

/// What a budget has left at one moment, for one demand after the other.
class BudgetRoom {
  public:
    /// Borrows the state.
    BudgetRoom(const BudgetState& state, domain::TimePoint now);
    const Budget& budget() const { return state_->budget; }
    /// In which money is booked at that moment.
    const BudgetWindow& window() const { return window_; }
    /// So much more fits, and no step that is on by then keeps the start waiting.
    bool allows(domain::MicroUsd amount, const domain::Demand& demand) const;
    void take(domain::MicroUsd amount) { counted_ = counted_ + amount; }

  private:
    const BudgetState* state_;
    domain::TimePoint now_;
    BudgetWindow window_;
    domain::MicroUsd counted_;
    std::size_t steps_on_;
};
std::vector<BudgetRoom> rooms_of(const std::vector<BudgetState>& budgets, domain::TimePoint now);

/// The most that is below this part of a limit.
domain::MicroUsd most_below(domain::MicroUsd limit, int percent);

/// The number of steps that are to be on now: each begins at its threshold, ends below its other one, and all end when
/// the window turns. A rolling window never turns, a batch's neither.
std::size_t steps_due(const BudgetState& state, domain::TimePoint now);

/// Books the change; returns true when there was one, which administrators may have to hear of.
bool move_steps(BudgetState& state, domain::TimePoint now);

/// What its steps ask of whoever makes batches and chooses variants.
domain::Thrift thrift(const BudgetState& state);

struct Forecast {
    /// What will count at the window's end, going on as until now. Of a rolling window: what counts.
    domain::MicroUsd at_end;
    /// When the limit is reached, if before the window's end.
    std::optional<domain::TimePoint> reached_at;
};

/// Spent and unknown money at its rate since the window's start, and what is reserved once. At least a hundredth of
/// the window counts as past: a month's first call says nothing about the month.
Forecast forecast(const BudgetState& state, domain::TimePoint now);

}
