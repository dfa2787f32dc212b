#pragma once
// How money moves: reserved before a start, settled by what it cost. Pure; ledger_store.* writes it.

#include <compare>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/demand.h"
#include "domain/id.h"
#include "domain/money.h"
#include "domain/time.h"
#include "resource_manager/budget_state.h"

namespace impresario::resource_manager {

enum class MovementKind {
    /// Before a start. The only one that may be refused: all others record what is so.
    reserve,
    /// The attempt says that it has cost more than was reserved, and is not at its end.
    top_up,
    /// It may be running, nobody knows: kept, and shown apart.
    suspend,
    /// What it cost replaces what was held.
    settle,
    /// It certainly was not started.
    release,
    /// Something else became known after it was settled.
    correct,
};
std::string_view name(MovementKind kind);
std::optional<MovementKind> parse_movement_kind(std::string_view text);

/// A movement of an attempt's money. The same attempt, kind and ordinal is the same movement, booked once.
struct Movement {
    MovementKind kind = MovementKind::reserve;
    domain::ExecutionId execution;
    domain::AttemptId attempt;
    /// Which of that kind: the attempt's fence for what happens with each grant, the number of the event for what may
    /// happen often, 0 for what happens once.
    int ordinal = 0;
    /// Of reserve: what it is expected to cost. Of top_up, settle and correct: what it has cost in all until now, in
    /// `cost` and by provider in `needs`; asked about nothing else.
    domain::Demand demand;
    /// Of settle: nobody says what it has cost. What is held, if anything, is taken for it, and a later report corrects
    /// it; a retry would spend the money twice (protocol R18).
    bool estimated = false;
    /// Of reserve: its attempt is made with it, so there is nothing that was booked for it before.
    bool first = false;
};

/// One budget's part of a movement. What leaves one account enters another: the four sum to zero.
struct LedgerEntry {
    domain::BudgetId budget;
    /// The window that the attempt's money was reserved in (protocol R18).
    BudgetWindow window;
    domain::MicroUsd available;
    Balance change;
    friend bool operator==(const LedgerEntry&, const LedgerEntry&) = default;
};

/// What of an attempt's money is in a budget.
struct Holding {
    domain::BudgetId budget;
    BudgetWindow window;
    Balance balance;
};

/// All that was booked for an attempt.
class AttemptAccount {
  public:
    bool has(MovementKind kind, int ordinal) const;
    const std::vector<Holding>& holdings() const { return holdings_; }

    /// Entries in the order in which they were written. A later reservation may be in a later window: the one before
    /// it was released.
    void book(MovementKind kind, int ordinal, const LedgerEntry& entry);

  private:
    std::vector<std::pair<MovementKind, int>> booked_;
    std::vector<Holding> holdings_;
};

/// What falls on one of the budgets.
struct Part {
    domain::BudgetId budget;
    BudgetWindow window;
    domain::MicroUsd amount;
};
/// What of a demand falls on which budget, in the window of `at`. What is free is there too: its window is pinned.
std::vector<Part> parts(const std::vector<BudgetState>& budgets, const domain::Demand& demand, domain::TimePoint at);

/// In the windows of the rooms, which are those of now.
std::vector<Part> parts(const std::vector<BudgetRoom>& rooms, const domain::Demand& demand);
/// True: the same of both falls on every budget.
bool same_money(const domain::Demand& a, const domain::Demand& b);
/// All of the parts is taken, or nothing where one may not be. They are of these rooms, in their order, and of this
/// demand.
bool take(std::vector<BudgetRoom>& rooms, const std::vector<Part>& parts, const domain::Demand& demand);

/// Books in memory what the demand asks of each.
void reserve(std::vector<BudgetState>& budgets, const domain::Demand& demand, domain::TimePoint at);

/// What a movement books, given what was booked before: nothing when it is there already. Parts are needed by
/// reserve, top_up, settle and correct; each goes to the window where the attempt has money already, if it has.
std::vector<LedgerEntry> entries_of(const Movement& movement, const AttemptAccount& account,
                                    const std::vector<Part>& parts);

}
