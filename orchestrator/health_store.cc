#include "orchestrator/health_store.h"

#include <algorithm>

#include "orchestrator/stalled_store.h"
#include "orchestrator_sql.h"
#include "platform/redact.h"

namespace impresario::orchestrator {

using platform::Params;
using platform::RowReader;
using platform::Tx;

namespace {

constexpr int kMostStalled = 1000;

std::map<std::string, std::int64_t> count_nodes(Tx& tx) {
    std::map<std::string, std::int64_t> counts;
    const auto rows = tx.exec(sql::count_nodes);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RowReader row(rows, i);
        const auto state = row.text();
        counts[state] = row.integer();
    }
    return counts;
}

}

HealthView HealthStore::view(Tx& tx, const std::string& organization_id) const {
    const auto of = [&] { return Params().add_or_null(organization_id); };
    HealthView view;
    const auto rows = tx.exec(sql::read_health, of());
    RowReader row(rows, 0);
    view.scheduler_silent =
        std::chrono::duration_cast<domain::Duration>(std::chrono::duration<double>(std::max(row.real(), 0.0)));
    view.endpoints = row.integer();
    view.broken_count = row.integer();
    view.waiting = row.integer();
    view.active = row.integer();
    view.nodes_lost = row.integer();
    view.at = row.time();
    const auto broken = tx.exec(sql::read_broken_endpoints, of());
    for (std::size_t i = 0; i < broken.size(); ++i) {
        RowReader each(broken, i);
        BrokenEndpoint endpoint;
        endpoint.workflow_type = each.text();
        endpoint.url = platform::shown_url(each.view());
        endpoint.detail = each.text();
        view.broken.push_back(std::move(endpoint));
    }
    const auto alerts = tx.exec(sql::read_critical_alerts, of());
    for (std::size_t i = 0; i < alerts.size(); ++i) view.alerts.push_back(RowReader(alerts, i).text());
    return view;
}

std::map<StallCause, std::int64_t> HealthStore::stalled(Tx& tx, const std::string& organization_id,
                                                        std::chrono::seconds quiet) const {
    std::map<StallCause, std::int64_t> causes;
    const auto found = StalledStore().find(tx, organization_id, quiet, kMostStalled);
    for (const auto& each : found.executions) ++causes[each.stall.cause];
    return causes;
}

HealthCounts HealthStore::count(Tx& tx) const {
    HealthCounts counts;
    counts.nodes = count_nodes(tx);
    const auto letters = tx.exec(sql::count_dead_letters);
    for (std::size_t i = 0; i < letters.size(); ++i) {
        RowReader row(letters, i);
        domain::Lane lane;
        lane.organization_id = row.text();
        lane.workflow_type = row.text();
        counts.dead_letters[lane] = row.integer();
    }
    const auto locks = tx.exec(sql::count_locks);
    counts.locks = RowReader(locks, 0).integer();
    return counts;
}

domain::MicroUsd HealthStore::ledger_difference(Tx& tx) const {
    const auto rows = tx.exec(sql::ledger_difference);
    return domain::MicroUsd{RowReader(rows, 0).integer()};
}

}
