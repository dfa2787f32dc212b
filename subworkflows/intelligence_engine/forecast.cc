#include "subworkflows/intelligence_engine/forecast.h"

#include <algorithm>
#include <cmath>

#include "subworkflows/intelligence_engine/history.h"
#include "subworkflows/intelligence_engine/statistics.h"

namespace impresario::subworkflows::intelligence_engine {

using domain::Duration;
using domain::MicroUsd;
using domain::TimePoint;
using std::chrono::days;
using std::chrono::floor;
using std::chrono::hours;

namespace {

constexpr int kSimulatedDays = 4000;

/// One earlier day's spend in each of the hours that remain of today, micro-dollars.
using Rest = std::vector<double>;

struct Remaining {
    /// Ends of the hours that remain, as times of the day; the first of them has begun already.
    std::vector<Duration> ends;
    std::vector<Rest> earlier;
    std::string note;
};

Remaining remaining(const std::vector<Spend>& spends, TimePoint since, TimePoint now) {
    Remaining made;
    const TimePoint today = midnight(now);
    const Duration from = now - today;
    for (Duration end = floor<hours>(from) + hours{1}; end <= hours{24}; end += hours{1}) made.ends.push_back(end);

    struct Day {
        TimePoint start;
        bool same_kind;
    };
    std::vector<Day> held;
    std::size_t same = 0;
    for (TimePoint day = today - days{1}; day + from >= since; day -= days{1}) {
        held.push_back({day, weekend(day) == weekend(today)});
        same += held.back().same_kind ? 1 : 0;
    }
    const bool only_same = same >= kEnoughOfKind;
    for (const auto& day : held) {
        if (only_same && !day.same_kind) continue;
        Rest rest(made.ends.size(), 0);
        for (const auto& spend : spends) {
            const Duration at = spend.at - day.start;
            if (at < from || at >= hours{24}) continue;
            rest[static_cast<std::size_t>((floor<hours>(at) - floor<hours>(from)).count())] +=
                static_cast<double>(spend.amount.value);
        }
        made.earlier.push_back(std::move(rest));
    }
    if (!only_same && same < held.size())
        made.note = "workdays and weekends are taken together, for there are fewer than " +
                    std::to_string(kEnoughOfKind) + " earlier " + (weekend(today) ? "weekend days" : "workdays");
    return made;
}

MicroUsd micro(double value) {
    // The nearest double to the most lies above it.
    return std::min(MicroUsd{std::llround(std::min(value, static_cast<double>(domain::kMostMoney.value)))},
                    domain::kMostMoney);
}

}

Forecast forecast(const std::vector<Spend>& spends, TimePoint since, TimePoint now, std::optional<MicroUsd> budget,
                  platform::Dice& dice) {
    Forecast made;
    const TimePoint today = midnight(now);
    std::vector<Spend> so_far;
    for (const auto& spend : spends)
        if (spend.at >= today && spend.at < now) so_far.push_back(spend);
    std::sort(so_far.begin(), so_far.end(), [](const Spend& a, const Spend& b) { return a.at < b.at; });
    for (const auto& spend : so_far) {
        made.spent = add(made.spent, spend.amount);
        if (budget && made.spent > *budget && !made.over_budget_at) made.over_budget_at = spend.at;
    }
    if (budget && made.over_budget_at) made.chance_over_budget = 1;

    Remaining rest = remaining(spends, since, now);
    made.days = rest.earlier.size();
    made.note = rest.note;
    if (made.days < kFewestDays) {
        made.note = "no outlook: the history holds the rest of " + std::to_string(made.days) +
                    " earlier days, and at least " + std::to_string(kFewestDays) + " are needed";
        return made;
    }

    const std::size_t segments = rest.ends.size();
    const auto n = static_cast<double>(made.days);
    std::vector<double> means(segments, 0);
    double mean = 0;
    for (std::size_t s = 0; s < segments; ++s) {
        for (const auto& day : rest.earlier) means[s] += day[s] / n;
        mean += means[s];
    }

    const double stretch = std::sqrt((n + 1) / (n - 1));
    std::vector<double> sums;
    sums.reserve(kSimulatedDays);
    for (int i = 0; i < kSimulatedDays; ++i) {
        double sum = 0;
        for (std::size_t s = 0; s < segments; ++s) sum += rest.earlier[static_cast<std::size_t>(dice.unit() * n)][s];
        sums.push_back(std::max(0.0, mean + stretch * (sum - mean)));
    }
    std::sort(sums.begin(), sums.end());
    const auto spent = static_cast<double>(made.spent.value);
    made.day = Outlook{micro(spent + mean), micro(spent + quantile(sums, 0.1)), micro(spent + quantile(sums, 0.9))};

    if (!budget || made.over_budget_at) return made;
    const double left = static_cast<double>(budget->value) - spent;
    const auto over = std::count_if(sums.begin(), sums.end(), [left](double sum) { return sum > left; });
    made.chance_over_budget = static_cast<double>(over) / kSimulatedDays;
    double course = 0;
    Duration begin = now - today;
    for (std::size_t s = 0; s < segments; ++s) {
        if (course + means[s] > left) {
            const double part = (left - course) / means[s];
            const auto within = static_cast<double>((rest.ends[s] - begin).count());
            made.over_budget_at = today + begin + Duration{std::llround(part * within)};
            break;
        }
        course += means[s];
        begin = rest.ends[s];
    }
    return made;
}

}
