#pragma once
// What the day will have cost when it is over. Pure; any thread.

#include <optional>
#include <string>
#include <vector>

#include "domain/money.h"
#include "domain/time.h"
#include "platform/dice.h"

namespace impresario::subworkflows::intelligence_engine {

/// Money that one execution cost, at the time it is counted for.
struct Spend {
    domain::TimePoint at;
    domain::MicroUsd amount;
};

/// Fewer earlier days than this say too little about the rest of one.
inline constexpr std::size_t kFewestDays = 3;
/// So many days of the same kind (workdays, weekends) are enough to leave the others out.
inline constexpr std::size_t kEnoughOfKind = 4;

struct Outlook {
    domain::MicroUsd expected;
    /// The central 80 %: below `low` and above `high` one day in ten each.
    domain::MicroUsd low;
    domain::MicroUsd high;
};

struct Forecast {
    /// Since 00:00 UTC, exact.
    domain::MicroUsd spent;
    /// The whole day, what is spent already included; nullopt where there are too few earlier days.
    std::optional<Outlook> day;
    /// Earlier days that it rests on.
    std::size_t days = 0;
    /// The share of simulated days that exceed the budget, 0 to 1; nullopt without a budget or an outlook. 1 once it is
    /// exceeded.
    std::optional<double> chance_over_budget;
    /// When it was exceeded, or when the expected course of the day exceeds it; nullopt where that stays below.
    std::optional<domain::TimePoint> over_budget_at;
    /// Why there is no outlook, or what it lacks; empty where nothing is to be said.
    std::string note;
};

/// Spent so far, and for the rest of the day a bootstrap (Efron 1979) over earlier days: every remaining hour of a
/// simulated day is that same hour, from the same minute on, of an earlier day drawn by `dice`. A profile by hour of
/// the day with bursts and batches as they really come is in that by itself, and no distribution is assumed. As a mean
/// of n days is uncertain itself and n days vary less about their own mean than about the true one, simulated sums are
/// stretched about their mean by √((n + 1) / (n − 1)), never below zero. Hours are drawn independently: a day that is
/// unusual as a whole is not foreseen.
///
/// Earlier days are those whose rest of the day lies after `since` and before today; only those of today's kind
/// (workday or weekend) where there are at least kEnoughOfKind of them.
Forecast forecast(const std::vector<Spend>& spends, domain::TimePoint since, domain::TimePoint now,
                  std::optional<domain::MicroUsd> budget, platform::Dice& dice);

}
