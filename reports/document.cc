#include "reports/document.h"

#include <algorithm>
#include <cstdio>

#include "platform/zone.h"

namespace impresario::reports {

namespace {

constexpr std::size_t kMostRows = 15;
constexpr std::size_t kLongestCell = 200;
constexpr const char* kNotKept = "That is not known any more: it is too long ago.";

std::string number(double value, const char* form) {
    char text[64];
    std::snprintf(text, sizeof text, form, value);
    return text;
}

std::string dollars(domain::MicroUsd amount) { return number(static_cast<double>(amount.value) / 1e6, "%.2f"); }

std::string share(const std::optional<double>& percent) { return percent ? number(*percent, "%.1f %%") : "–"; }

std::string length(const std::optional<domain::Duration>& duration) {
    if (!duration) return "–";
    const double seconds = domain::in_seconds(*duration);
    if (seconds < 1) return number(seconds * 1000, "%.0f ms");
    if (seconds < 100) return number(seconds, "%.1f s");
    return domain::human(std::chrono::duration_cast<std::chrono::seconds>(*duration));
}

std::string length(double seconds) {
    return length(std::chrono::duration_cast<domain::Duration>(std::chrono::duration<double>(seconds)));
}

std::string each_costs(const std::optional<double>& usd) { return usd ? number(*usd, "%.4f") : "–"; }

std::string count(std::int64_t value) { return std::to_string(value); }

std::string cell(std::string text) {
    if (text.size() <= kLongestCell) return text;
    std::size_t at = kLongestCell;
    // Not within a character.
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
    return text.substr(0, at) + "…";
}

std::string clock(domain::TimePoint at, const date::time_zone* zone) {
    const auto local = std::chrono::floor<std::chrono::seconds>(at + platform::offset_at(zone, at));
    auto text = domain::rfc3339(local);
    return text.substr(0, 10) + " " + text.substr(11, 5);
}

class Writer {
  public:
    explicit Writer(const Report& report) : report_(report), zone_(platform::find_zone(report.zone)) {}

    Document write() {
        document_.title = std::string(report_.kind == Kind::daily ? "Daily summary" : "Weekly optimisation") + ", " +
                          period_text(report_.period, zone_);
        if (!report_.organization_id.empty()) document_.title += ", " + report_.organization_id;
        summary();
        if (report_.kind == Kind::weekly) proposed();
        types();
        providers();
        gates();
        failures();
        alerts();
        budgets();
        outlook();
        return std::move(document_);
    }

  private:
    Section& section(std::string heading, std::vector<std::string> columns = {}) {
        document_.sections.push_back({std::move(heading), {}, std::move(columns), {}});
        return document_.sections.back();
    }

    /// A table of these, cut; "nothing" where there are none.
    template <class Each, class Row>
    void table(const char* heading, std::vector<std::string> columns, const Each& all, const char* none, Row row) {
        auto& made = section(heading, std::move(columns));
        for (const auto& each : all) {
            if (made.rows.size() == kMostRows) break;
            made.rows.push_back(row(each));
        }
        if (made.rows.empty()) {
            made.columns.clear();
            made.lines.emplace_back(none);
        }
        if (all.size() > made.rows.size())
            made.lines.push_back("The first " + count(static_cast<std::int64_t>(made.rows.size())) + " of " +
                                 count(static_cast<std::int64_t>(all.size())) + ".");
    }

    void summary() {
        const auto total = report_.total();
        auto& made = section("In short");
        made.columns = {"", ""};
        made.rows = {{"ended", count(total.all())},
                     {"completed", count(total.completed)},
                     {"failed, dead", count(total.failed + total.dead)},
                     {"cancelled", count(total.cancelled)},
                     {"success", share(total.success_percent())},
                     {"ran for, median and 95 %",
                      length(total.durations.quantile(0.5)) + ", " + length(total.durations.quantile(0.95))},
                     {"waited for, median and 95 %",
                      length(total.waits.quantile(0.5)) + ", " + length(total.waits.quantile(0.95))},
                     {"cost, USD", dollars(total.cost)},
                     {"items", count(total.items)},
                     {"cost of an item, USD", each_costs(total.cost_per_item())},
                     {"retries", count(total.retries)}};
        if (report_.known_from && *report_.known_from > report_.period.from)
            made.lines.push_back("What ended before " + clock(*report_.known_from, zone_) +
                                 " has been removed and is not counted.");
    }

    void proposed() {
        auto& made = section("Proposed changes");
        for (const auto& each : report_.proposals)
            made.lines.push_back(each.subject + ": " + each.now + " → " + each.proposed + ", because " + each.because +
                                 ". See: " + each.command);
        if (made.lines.empty()) made.lines.emplace_back("None: limits and budgets fit what ran.");
    }

    void types() {
        std::vector<std::pair<domain::Lane, const Ended*>> all;
        for (const auto& [lane, ended] : report_.lanes) all.emplace_back(lane, &ended);
        std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
            return std::pair(a.second->cost, a.second->all()) > std::pair(b.second->cost, b.second->all());
        });
        table("Workflow types", {"type", "ended", "success", "median", "95 %", "waited", "cost, USD", "of an item"},
              all, "Nothing ended.", [&](const auto& each) -> std::vector<std::string> {
                  const auto& [lane, ended] = each;
                  return {called(lane),
                          count(ended->all()),
                          share(ended->success_percent()),
                          length(ended->durations.quantile(0.5)),
                          length(ended->durations.quantile(0.95)),
                          length(ended->waits.quantile(0.5)),
                          dollars(ended->cost),
                          each_costs(ended->cost_per_item())};
              });
    }

    void providers() {
        table("Providers", {"provider", "type", "usages", "cost, USD"}, report_.providers, "No usage was reported.",
              [&](const ProviderUse& each) -> std::vector<std::string> {
                  return {each.provider.empty() ? "(none named)" : each.provider, called(each.lane), count(each.usages),
                          dollars(each.cost)};
              });
    }

    void gates() {
        table("What held work back", {"type", "gate", "of", "for", "of the time"}, report_.gates,
              report_.gates_known ? "Nothing did." : kNotKept, [&](const GateTime& each) -> std::vector<std::string> {
                  return {called(each.lane), each.gate, each.subject, length(each.seconds),
                          share(100 * each.seconds / std::max(1.0, report_.period_seconds()))};
              });
    }

    void failures() {
        table("Failures", {"type", "times", "reason", "error", "such as"}, report_.failures, "None.",
              [&](const Failure& each) -> std::vector<std::string> {
                  return {called(each.lane), count(each.count), each.reason, cell(each.error),
                          each.executions.empty() ? "" : each.executions.front()};
              });
    }

    void alerts() {
        const auto anomalies = std::count_if(report_.alerts.begin(), report_.alerts.end(),
                                             [](const auto& each) { return each.name == "anomaly"; });
        table("Alerts and anomalies", {"alert", "since", "until", "", "such as"}, report_.alerts,
              report_.alerts_known ? "None." : kNotKept, [&](const AlertSeen& each) -> std::vector<std::string> {
                  return {each.name, clock(each.since, zone_), each.until ? clock(*each.until, zone_) : "fires",
                          cell(each.summary), each.executions.empty() ? "" : each.executions.front()};
              });
        if (anomalies > 0)
            document_.sections.back().lines.push_back(count(anomalies) +
                                                      (anomalies == 1 ? " is an anomaly." : " are anomalies."));
    }

    void budgets() {
        table("Budgets", {"budget", "of", "settled, USD", "most at once, USD", "limit, USD", "used at most"},
              report_.budgets, "There are none.", [&](const BudgetUse& each) -> std::vector<std::string> {
                  return {each.name,
                          each.organization_id.empty() ? "all" : each.organization_id,
                          dollars(each.settled),
                          dollars(each.peak),
                          dollars(each.limit) + " a " + each.window,
                          share(each.peak_percent())};
              });
    }

    void outlook() {
        if (!report_.outlook) return;
        auto& made = section("What is to be expected");
        for (const auto& each : report_.outlook->budgets) {
            auto line = "Budget " + each.name + ": " + dollars(each.counted) + " of " + dollars(each.limit) + " USD, ";
            line += each.reached_at ? "used up at " + clock(*each.reached_at, zone_)
                                    : dollars(each.at_end) + " at the end of its window";
            if (each.resets_at) line += "; it turns at " + clock(*each.resets_at, zone_);
            made.lines.push_back(line + ".");
        }
        for (const auto& each : report_.outlook->queues)
            made.lines.push_back(called(each.lane) + ": " + count(each.waiting) + " wait, " +
                                 (each.seconds ? "done in " + length(*each.seconds) + " at the pace of this report."
                                               : "and none has ended in the time of this report."));
        if (made.lines.empty()) made.lines.emplace_back("Nothing waits, and there are no budgets.");
    }

    /// Without the organization where there is only one to be seen, or it is the default.
    std::string called(const domain::Lane& lane) const {
        return lane.organization_id == domain::kDefaultOrganization || !report_.organization_id.empty()
                   ? lane.workflow_type
                   : lane.text();
    }

    const Report& report_;
    const date::time_zone* zone_;
    Document document_;
};

}

Document document_of(const Report& report) { return Writer(report).write(); }

}
