#include "orchestrator/hour_store.h"

#include "journal/metric_store.h"
#include "orchestrator_sql.h"
#include "platform/json_writer.h"

namespace impresario::orchestrator {

using domain::TimePoint;
using platform::Params;
using platform::RowReader;
using platform::SqlArray;
using platform::Tx;

namespace {
/// The line that says that an hour was looked at, and the beginning of the names of the others.
constexpr std::string_view kHour = "hour";
constexpr std::string_view kPrefix = "hour_";
constexpr double kPassedOver = -1;
}

std::optional<TimePoint> HourStore::next(Tx& tx, domain::Duration longest) const {
    const auto rows = tx.exec(sql::next_hour, Params().add(std::to_string(domain::in_seconds(longest))));
    return RowReader(rows, 0).maybe_time();
}

void HourStore::write(Tx& tx, TimePoint hour, const std::optional<std::map<LaneSeries, double>>& values) const {
    const auto lanes = values ? static_cast<double>(values->size()) : kPassedOver;
    std::vector<journal::Measurement> lines{{std::string(kHour), lanes, "{}", hour}};
    const auto known = values.value_or(std::map<LaneSeries, double>{});
    for (const auto& [of, value] : known) {
        platform::JsonWriter about;
        about.open();
        about.field("organization_id", of.lane.organization_id).field("workflow_type", of.lane.workflow_type);
        about.close();
        lines.push_back({std::string(kPrefix) + std::string(name(of.series)), value, std::move(about).text(), hour});
    }
    journal::MetricStore().record(tx, lines);
}

HourStore::Hours HourStore::read(Tx& tx, TimePoint at, domain::Duration longest) const {
    SqlArray types;
    types.add(kHour);
    for (const auto& [series, text] : kSeries) types.add(std::string(kPrefix) + std::string(text));
    const auto rows = tx.exec(sql::hour_history,
                              Params().add(at).add(std::to_string(domain::in_seconds(longest))).add(std::move(types)));
    Hours found;
    std::map<LaneSeries, double> values;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RowReader row(rows, i);
        const auto type = row.text();
        LaneSeries of;
        of.lane.organization_id = row.text();
        of.lane.workflow_type = row.text();
        const auto hour = row.time();
        const double value = row.real();
        if (type == kHour) {
            const bool passed_over = value == kPassedOver;
            if (hour == at) found.passed_over = passed_over;
            if (passed_over) continue;
            if (hour == at) found.values.emplace();
            if (hour < at) found.history.hours.push_back(hour);
            continue;
        }
        of.series = domain::value_in(kSeries, std::string_view(type).substr(kPrefix.size())).value();
        if (hour == at) values[of] = value;
        if (hour < at) found.history.samples[of].push_back({hour, value});
    }
    if (found.values) found.values = std::move(values);
    return found;
}

std::vector<std::vector<std::string>> HourStore::evidence(Tx& tx, const std::vector<LaneSeries>& asked,
                                                          TimePoint hour) const {
    SqlArray organizations;
    SqlArray types;
    SqlArray series;
    for (const auto& each : asked) {
        organizations.add(each.lane.organization_id);
        types.add(each.lane.workflow_type);
        series.add(name(each.series));
    }
    const auto rows = tx.exec(sql::hour_evidence, Params()
                                                      .add(std::move(organizations))
                                                      .add(std::move(types))
                                                      .add(std::move(series))
                                                      .add(hour)
                                                      .add(hour + std::chrono::hours{1}));
    std::vector<std::vector<std::string>> executions(asked.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RowReader row(rows, i);
        const auto place = static_cast<std::size_t>(row.integer());
        executions.at(place - 1).push_back(row.text());
    }
    return executions;
}

}
