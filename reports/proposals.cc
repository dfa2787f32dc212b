#include "reports/proposals.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>

namespace impresario::reports {

namespace {

constexpr double kBudgetFull = 98;
constexpr double kBudgetIdle = 40;
constexpr std::int64_t kLeastWindows = 3;
constexpr double kHeldByLimit = 0.10;
constexpr double kRefused = 0.05;
constexpr double kHardlyRefused = 0.01;
constexpr double kHeldByConcurrency = 0.25;
constexpr double kWell = 95;

std::string percent(double part) {
    char text[32];
    std::snprintf(text, sizeof text, "%.0f %%", part);
    return text;
}

/// Whole dollars where it is more than ten, else cents; never less than a cent.
std::string rounded_up(double usd) {
    const double step = usd >= 10 ? 1 : 0.01;
    char text[48];
    std::snprintf(text, sizeof text, usd >= 10 ? "%.0f" : "%.2f", std::max(step, std::ceil(usd / step - 1e-9) * step));
    return text;
}

std::string dollars(domain::MicroUsd amount) {
    char text[48];
    std::snprintf(text, sizeof text, "%.2f", static_cast<double>(amount.value) / 1e6);
    return text;
}

double in_usd(domain::MicroUsd amount) { return static_cast<double>(amount.value) / 1e6; }

using OfLane = std::function<bool(const domain::Lane&)>;

/// The longest that one lane of these was held by it: lanes are held at the same time.
double held(
    const Report& report, std::string_view gate, std::string_view subject,
    const OfLane& of = [](const auto&) { return true; }) {
    double longest = 0;
    for (const auto& each : report.gates)
        if (each.gate == gate && each.subject == subject && of(each.lane)) longest = std::max(longest, each.seconds);
    return longest;
}

/// A budget's name is its organization's own; what is for all stops those that have none of that name.
OfLane stopped_by(const Report& report, const BudgetUse& budget) {
    return [&](const domain::Lane& lane) {
        if (!budget.organization_id.empty()) return lane.organization_id == budget.organization_id;
        return std::none_of(report.budgets.begin(), report.budgets.end(), [&](const BudgetUse& other) {
            return other.name == budget.name && other.organization_id == lane.organization_id;
        });
    };
}

void of_budgets(const Report& report, std::vector<Proposal>& found) {
    for (const auto& budget : report.budgets) {
        // What a rolling window held at its most is not kept, and a batch's budget ends with it.
        if (budget.window == "rolling" || budget.window == "batch" || budget.limit.value <= 0) continue;
        const double stopped = held(report, "budget", budget.name, stopped_by(report, budget));
        const bool full = budget.peak_percent() >= kBudgetFull || stopped > 0;
        const bool idle = budget.windows >= kLeastWindows && budget.peak.value > 0 &&
                          budget.peak_percent() <= kBudgetIdle && stopped <= 0;
        if (!full && !idle) continue;
        const auto wanted =
            rounded_up(full ? std::max(in_usd(budget.peak), in_usd(budget.limit)) * 1.25 : in_usd(budget.peak) * 1.5);
        Proposal proposal;
        proposal.subject =
            "budget " + budget.name + (budget.organization_id.empty() ? "" : " of " + budget.organization_id);
        proposal.now = dollars(budget.limit) + " USD a " + budget.window;
        proposal.proposed = wanted + " USD a " + budget.window;
        proposal.because = "at most " + percent(budget.peak_percent()) + " of it was used (" + dollars(budget.peak) +
                           " USD) in " + std::to_string(budget.windows) + " windows";
        if (stopped > 0)
            proposal.because += ", and work waited for it for " +
                                domain::human(std::chrono::seconds{static_cast<std::int64_t>(stopped)});
        proposal.command = "impresario budgets show " + budget.name;
        found.push_back(std::move(proposal));
    }
}

void of_providers(const Report& report, const Limits& limits, std::vector<Proposal>& found) {
    const double whole = report.period_seconds();
    for (const auto& provider : limits.providers) {
        const double refused = held(report, "provider", provider.name) / whole;
        for (const auto& limit : provider.limits) {
            const double waited = held(report, "provider", provider.name + " " + limit.name) / whole;
            const bool higher = waited > kHeldByLimit && refused < kHardlyRefused;
            const bool lower = refused > kRefused;
            if (!higher && !lower) continue;
            const double factor = higher ? 1.25 : 0.8;
            const auto wanted = std::max<std::int64_t>(
                1, static_cast<std::int64_t>(higher ? std::ceil(static_cast<double>(limit.limit) * factor)
                                                    : std::floor(static_cast<double>(limit.limit) * factor)));
            if (wanted == limit.limit) continue;
            Proposal proposal;
            proposal.subject = "limit " + limit.name + " of provider " + provider.name;
            proposal.now = std::to_string(limit.limit);
            proposal.proposed = std::to_string(wanted) + (higher ? ", if the provider allows it" : "");
            proposal.because = higher ? "work waited for it for " + percent(100 * waited) +
                                            " of the time, and the provider refused for " + percent(100 * refused)
                                      : "the provider refused for " + percent(100 * refused) + " of the time";
            proposal.command = "impresario providers show " + provider.name;
            found.push_back(std::move(proposal));
        }
    }
}

void of_concurrency(const Report& report, const Limits& limits, std::vector<Proposal>& found) {
    for (const auto& [lane, most] : limits.concurrency) {
        double seconds = 0;
        for (const auto& each : report.gates)
            if (each.lane == lane && each.gate == "concurrency") seconds += each.seconds;
        const double waited = seconds / report.period_seconds();
        const auto ended = report.lanes.find(lane);
        const auto success = ended == report.lanes.end() ? std::nullopt : ended->second.success_percent();
        if (waited <= kHeldByConcurrency || !success || *success < kWell) continue;
        Proposal proposal;
        proposal.subject = "max_concurrency of " + lane.text();
        proposal.now = std::to_string(most);
        proposal.proposed = std::to_string(most + std::max(1, most / 4));
        proposal.because = "it held work for " + percent(100 * waited) + " of the time, and " + percent(*success) +
                           " of " + std::to_string(ended->second.judged()) + " succeeded";
        proposal.command = "impresario types show " + lane.workflow_type;
        found.push_back(std::move(proposal));
    }
}

}

std::vector<Proposal> proposals(const Report& report, const Limits& limits) {
    std::vector<Proposal> found;
    if (report.kind != Kind::weekly || report.made_at < report.period.to) return found;
    of_budgets(report, found);
    of_providers(report, limits, found);
    of_concurrency(report, limits, found);
    return found;
}

}
