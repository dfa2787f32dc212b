#include "reports/report_store.h"

#include "platform/json_text.h"
#include "platform/read_rows.h"
#include "reports_sql.h"

namespace impresario::reports {

using platform::Params;
using platform::RowReader;
using platform::SqlArray;
using platform::Tx;

namespace {

Params of(const Period& period, const std::string& organization_id) {
    return Params().add(period.from).add(period.to).add_or_null(organization_id);
}

domain::Lane lane_of(RowReader& row) {
    domain::Lane lane;
    lane.organization_id = row.text();
    lane.workflow_type = row.text();
    return lane;
}

/// A row says how many ended so, or in which range of times.
void add_row(RowReader& row, std::map<domain::Lane, Ended>& lanes) {
    auto& ended = lanes[lane_of(row)];
    const auto status = row.text();
    const int ran = row.small();
    const int waited = row.small();
    const auto count = row.integer();
    if (status.empty()) {
        // Both are -1 where it neither ran to its end nor waited: that says nothing.
        if (ran >= 0) ended.durations.add(ran, count);
        if (waited >= 0) ended.waits.add(waited, count);
        return;
    }
    if (status == "completed") ended.completed += count;
    if (status == "failed") ended.failed += count;
    if (status == "dead") ended.dead += count;
    if (status == "cancelled") ended.cancelled += count;
    ended.attempts += row.integer();
    ended.retries += row.integer();
    ended.items += row.integer();
    ended.cost = ended.cost + domain::MicroUsd{row.integer()};
}

}

void ReportStore::add_ended(Tx& tx, const Period& period, const std::string& organization_id,
                            std::map<domain::Lane, Ended>& lanes) const {
    const auto rows = tx.exec(sql::ended_in, of(period, organization_id));
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RowReader row(rows, i);
        add_row(row, lanes);
    }
}

std::vector<Failure> ReportStore::failures(Tx& tx, const Period& period, const std::string& organization_id) const {
    const auto rows = tx.exec(sql::failed_in, of(period, organization_id));
    return platform::read_rows(rows, [](RowReader& row) {
        Failure failure;
        failure.lane = lane_of(row);
        failure.reason = row.text();
        failure.fingerprint = row.text();
        failure.error = row.text();
        failure.count = row.integer();
        failure.executions = platform::json_strings(row.view());
        return failure;
    });
}

std::vector<ProviderUse> ReportStore::providers(Tx& tx, const Period& period,
                                                const std::string& organization_id) const {
    const auto rows = tx.exec(sql::used_in, of(period, organization_id));
    return platform::read_rows(rows, [](RowReader& row) {
        ProviderUse use;
        use.lane = lane_of(row);
        use.provider = row.text();
        use.usages = row.integer();
        use.cost = domain::MicroUsd{row.integer()};
        return use;
    });
}

std::vector<GateTime> ReportStore::gates(Tx& tx, const Period& period, const std::string& organization_id) const {
    const auto rows = tx.exec(sql::gates_in, of(period, organization_id));
    return platform::read_rows(rows, [](RowReader& row) {
        GateTime gate;
        gate.lane = lane_of(row);
        gate.gate = row.text();
        gate.subject = row.text();
        gate.seconds = row.real();
        return gate;
    });
}

std::vector<AlertSeen> ReportStore::alerts(Tx& tx, const Period& period, const std::string& organization_id) const {
    const auto rows = tx.exec(sql::alerts_in, of(period, organization_id));
    return platform::read_rows(rows, [](RowReader& row) {
        AlertSeen alert;
        alert.name = row.text();
        alert.severity = row.text();
        alert.summary = row.text();
        alert.since = row.time();
        alert.until = row.maybe_time();
        alert.executions = platform::json_strings(row.view());
        return alert;
    });
}

std::vector<BudgetUse> ReportStore::budgets(Tx& tx, const Period& period, const std::string& organization_id) const {
    const auto rows = tx.exec(sql::budgets_in, of(period, organization_id));
    return platform::read_rows(rows, [](RowReader& row) {
        BudgetUse budget;
        budget.organization_id = row.text();
        budget.name = row.text();
        budget.window = row.text();
        budget.limit = domain::MicroUsd{row.integer()};
        budget.settled = domain::MicroUsd{row.integer()};
        budget.peak = domain::MicroUsd{row.integer()};
        budget.windows = row.integer();
        return budget;
    });
}

std::vector<QueueOutlook> ReportStore::queues(Tx& tx, const std::string& organization_id) const {
    const auto rows = tx.exec(sql::queues_now, Params().add_or_null(organization_id));
    return platform::read_rows(rows, [](RowReader& row) {
        QueueOutlook queue;
        queue.lane = lane_of(row);
        queue.waiting = row.integer();
        return queue;
    });
}

std::optional<domain::TimePoint> ReportStore::known_from(Tx& tx) const {
    const auto rows = tx.exec(sql::known_from);
    return RowReader(rows, 0).maybe_time();
}

domain::TimePoint ReportStore::installed_at(Tx& tx) const {
    const auto rows = tx.exec(sql::installed_at);
    return RowReader(rows, 0).time();
}

std::optional<StoredReport> ReportStore::find(Tx& tx, Kind kind, const Period& period) const {
    const auto rows = tx.exec(sql::find_report, Params().add(name(kind)).add(period.from).add(period.to));
    if (rows.empty()) return std::nullopt;
    RowReader row(rows, 0);
    StoredReport report;
    report.id = row.id<ReportId>();
    report.content = row.text();
    report.document = row.text();
    return report;
}

std::optional<ReportId> ReportStore::put(Tx& tx, const Report& report, const std::string& content,
                                         const std::string& document, const std::vector<std::string>& receivers) const {
    const auto rows = tx.exec(sql::put_report, Params()
                                                   .add(name(report.kind))
                                                   .add(report.period.from)
                                                   .add(report.period.to)
                                                   .add(report.zone)
                                                   .add(content)
                                                   .add(document));
    if (rows.empty()) return std::nullopt;
    const auto id = RowReader(rows, 0).id<ReportId>();
    if (!receivers.empty()) tx.send(sql::put_report_deliveries, Params().add(id).add(SqlArray::of(receivers)));
    return id;
}

std::vector<ReportRow> ReportStore::list(Tx& tx, const std::string& kind, int most) const {
    const auto rows = tx.exec(sql::list_reports, Params().add_or_null(kind).add(most));
    return platform::read_rows(rows, [](RowReader& row) {
        ReportRow report;
        report.id = row.id<ReportId>();
        report.kind = row.text();
        report.period.from = row.time();
        report.period.to = row.time();
        report.zone = row.text();
        report.made_at = row.time();
        report.deliveries = row.text();
        return report;
    });
}

std::vector<Delivery> ReportStore::claim(Tx& tx) const {
    const auto rows = tx.exec(sql::claim_deliveries);
    return platform::read_rows(rows, [](RowReader& row) {
        Delivery delivery;
        delivery.report = row.id<ReportId>();
        delivery.receiver = row.text();
        delivery.attempts = row.small();
        delivery.in_doubt = row.small();
        delivery.kind = domain::value_in(kKinds, row.view()).value_or(Kind::daily);
        delivery.made_at = row.time();
        delivery.content = row.text();
        delivery.document = row.text();
        return delivery;
    });
}

std::optional<domain::Duration> ReportStore::next_due(Tx& tx) const {
    const auto rows = tx.exec(sql::next_delivery);
    RowReader row(rows, 0);
    if (row.null()) return std::nullopt;
    return std::chrono::duration_cast<domain::Duration>(std::chrono::duration<double>(row.real()));
}

void ReportStore::settle(Tx& tx, const Delivery& delivery, std::string_view state, const std::string& error,
                         domain::Duration again, bool unanswered) const {
    tx.send(sql::settle_delivery, Params()
                                      .add(delivery.report)
                                      .add(delivery.receiver)
                                      .add(state)
                                      .add(error)
                                      .add(std::to_string(domain::in_seconds(again)))
                                      .add(unanswered));
}

void ReportStore::lapse(Tx& tx, const std::vector<std::string>& receivers) const {
    tx.send(sql::lapse_deliveries, Params().add(SqlArray::of(receivers)));
}

void ReportStore::forget(Tx& tx) const { tx.send(sql::forget_reports); }

}
