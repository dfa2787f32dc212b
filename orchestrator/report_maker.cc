#include "orchestrator/report_maker.h"

#include <algorithm>

#include "orchestrator/decide.h"
#include "reports/proposals.h"
#include "reports/report_store.h"
#include "resource_manager/budget_store.h"
#include "resource_manager/provider_store.h"

namespace impresario::orchestrator {

using domain::TimePoint;
using platform::Task;
using platform::Tx;
using reports::Period;
using reports::Report;
using reports::ReportStore;

namespace {

/// The next of its kind is made in the first half of the day that follows its period.
constexpr std::chrono::hours kMadeWithin{12};
constexpr std::size_t kMostExecutions = 3;
constexpr std::size_t kMostFailures = 200;
/// Closed intervals of gates are kept for so long (forget_lane_gates.sql).
constexpr std::chrono::hours kGatesKept{24 * 30};
/// What the database does not sum up in time is asked in four parts, unless it is as short as that.
constexpr std::chrono::minutes kShortest{5};

struct Hour {
    std::map<domain::Lane, reports::Ended> lanes;
    std::vector<reports::Failure> failures;
    std::vector<reports::ProviderUse> providers;
};

Hour read_hour(Tx& tx, const Period& hour, const std::string& organization_id) {
    const ReportStore store;
    Hour read;
    store.add_ended(tx, hour, organization_id, read.lanes);
    read.failures = store.failures(tx, hour, organization_id);
    read.providers = store.providers(tx, hour, organization_id);
    return read;
}

/// Hours, put together.
class Sums {
  public:
    void add(Hour hour) {
        for (const auto& [lane, ended] : hour.lanes) lanes_[lane].add(ended);
        for (auto& failure : hour.failures) add(std::move(failure));
        for (const auto& use : hour.providers) {
            auto& sum = providers_[{use.provider, use.lane}];
            sum.lane = use.lane;
            sum.provider = use.provider;
            sum.usages += use.usages;
            sum.cost = sum.cost + use.cost;
        }
    }

    void write(Report& report) {
        report.lanes = std::move(lanes_);
        for (auto& [key, use] : providers_) report.providers.push_back(std::move(use));
        std::stable_sort(report.providers.begin(), report.providers.end(),
                         [](const auto& a, const auto& b) { return a.cost > b.cost; });
        for (auto& [key, failure] : failures_) report.failures.push_back(std::move(failure));
        std::stable_sort(report.failures.begin(), report.failures.end(),
                         [](const auto& a, const auto& b) { return a.count > b.count; });
        if (report.failures.size() > kMostFailures) report.failures.resize(kMostFailures);
    }

  private:
    void add(reports::Failure failure) {
        if (failure.fingerprint.empty())
            failure.fingerprint = error_fingerprint(failure.lane.workflow_type, failure.reason, failure.error);
        const auto [at, is_new] = failures_.try_emplace({failure.lane, failure.fingerprint}, failure);
        if (is_new) return;
        auto& known = at->second;
        known.count += failure.count;
        // The latest are worth the most.
        known.executions.insert(known.executions.begin(), failure.executions.begin(), failure.executions.end());
        if (known.executions.size() > kMostExecutions) known.executions.resize(kMostExecutions);
    }

    std::map<domain::Lane, reports::Ended> lanes_;
    std::map<std::pair<std::string, domain::Lane>, reports::ProviderUse> providers_;
    std::map<std::pair<domain::Lane, std::string>, reports::Failure> failures_;
};

/// The latest of its kind says where things go from here, however late it is made.
bool is_latest(const Period& period, TimePoint now) {
    return now < period.to + (period.to - period.from) + kMadeWithin;
}

reports::Outlook look_ahead(Tx& tx, const Report& report, TimePoint now) {
    reports::Outlook outlook;
    const auto budgets = resource_manager::BudgetStore().load(tx, now);
    for (const auto& state : budgets) {
        const auto& scope = state.budget.scope.organization_id;
        if (!report.organization_id.empty() && scope != report.organization_id) continue;
        const auto forecast = resource_manager::forecast(state, now);
        outlook.budgets.push_back({scope, state.budget.name, state.budget.limit, state.counted(now).counted(),
                                   forecast.at_end, forecast.reached_at, state.turns_at(now)});
    }
    outlook.queues = ReportStore().queues(tx, report.organization_id);
    const double seconds = domain::in_seconds(std::min(report.period.to, now) - report.period.from);
    for (auto& queue : outlook.queues) {
        const auto ended = report.lanes.find(queue.lane);
        if (ended == report.lanes.end() || ended->second.all() == 0) continue;
        queue.seconds = static_cast<double>(queue.waiting) * seconds / static_cast<double>(ended->second.all());
    }
    return outlook;
}

/// Those that whoever reads the report may change.
reports::Limits limits_of(Tx& tx, const subworkflows::Catalogue& catalogue, const std::string& organization_id) {
    reports::Limits limits;
    const bool all = organization_id.empty();
    if (all) limits.providers = resource_manager::ProviderStore().load(tx);
    for (const auto& [lane, type] : catalogue.types)
        if (type.max_concurrency && (all || lane.organization_id == organization_id))
            limits.concurrency[lane] = *type.max_concurrency;
    return limits;
}

}

Task<std::optional<Report>> make_report(Node& node, ReportAsked asked, std::function<bool()> goes_on) {
    const auto now = node.clock().now();
    Report report;
    report.kind = asked.kind;
    report.zone = asked.zone;
    report.period = asked.period;
    report.organization_id = asked.organization_id;
    report.made_at = now;
    Sums sums;
    std::vector<Period> parts;
    for (auto from = asked.period.from; from < std::min(asked.period.to, now); from += std::chrono::hours{1})
        parts.push_back({from, std::min(from + std::chrono::hours{1}, asked.period.to)});
    // The last one is the next one.
    std::reverse(parts.begin(), parts.end());
    while (!parts.empty()) {
        if (!goes_on()) co_return std::nullopt;
        const auto part = parts.back();
        parts.pop_back();
        const auto began = std::chrono::steady_clock::now();
        std::optional<Hour> read;
        try {
            auto reading = node.database().read(
                [part, organization = asked.organization_id](Tx& tx) { return read_hour(tx, part, organization); });
            read = co_await std::move(reading);
        } catch (const platform::StatementRefused&) {
            if (part.to - part.from <= kShortest) throw;
        }
        if (read) {
            sums.add(*std::move(read));
        } else {
            for (int i = 3; i >= 0; --i)
                parts.push_back(
                    {part.from + (part.to - part.from) * i / 4, part.from + (part.to - part.from) * (i + 1) / 4});
        }
        if (asked.gently) co_await platform::pause_for(std::chrono::steady_clock::now() - began);
    }
    sums.write(report);
    auto reading =
        node.database().read([&report, now, alerts_kept = asked.alerts_kept, catalogue = node.catalogue()](Tx& tx) {
            const ReportStore store;
            const auto& organization = report.organization_id;
            report.known_from = store.known_from(tx);
            report.gates_known = now - report.period.from < kGatesKept;
            report.alerts_known = now - report.period.from < alerts_kept;
            report.gates = store.gates(tx, report.period, organization);
            report.alerts = store.alerts(tx, report.period, organization);
            report.budgets = store.budgets(tx, report.period, organization);
            if (is_latest(report.period, now)) report.outlook = look_ahead(tx, report, now);
            report.proposals = reports::proposals(report, limits_of(tx, *catalogue, organization));
            return true;
        });
    co_await std::move(reading);
    co_return report;
}

}
