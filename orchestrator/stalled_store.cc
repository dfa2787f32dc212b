#include "orchestrator/stalled_store.h"

#include <algorithm>
#include <map>

#include "orchestrator/gate_store.h"
#include "orchestrator_sql.h"
#include "platform/redact.h"
#include "priority_queue/queue_store.h"

namespace impresario::orchestrator {

using domain::ExecutionId;
using platform::Params;
using platform::RowReader;
using platform::Tx;

StalledList StalledStore::find(Tx& tx, const std::string& organization_id, std::chrono::seconds quiet, int most) const {
    const auto params = [&] {
        return Params().add_or_null(organization_id).add(static_cast<std::int64_t>(quiet.count())).add(most + 1);
    };
    StalledList list;
    const auto leading = tx.exec(sql::is_led);
    RowReader scheduler(leading, 0);
    const bool led = scheduler.flag();
    list.at = scheduler.time();
    std::map<ExecutionId, StallView> views;
    const auto live = tx.exec(sql::stalled_live, params());
    for (std::size_t i = 0; i < live.size(); ++i) {
        RowReader row(live, i);
        StallView& view = views[row.id<ExecutionId>()];
        view.last_event_at = row.time();
        view.node_alive = row.flag();
        view.node_name = row.text();
        view.endpoint_url = platform::shown_url(row.text());
        view.has_status_url = row.flag();
        view.endpoint_stopped = row.text();
        view.endpoint_until = row.maybe_time();
    }
    const auto waiting = tx.exec(sql::stalled_waiting, params());
    for (std::size_t i = 0; i < waiting.size(); ++i) {
        RowReader row(waiting, i);
        StallView& view = views[row.id<ExecutionId>()];
        view.last_event_at = row.time();
    }
    std::map<domain::Lane, domain::Gate> gates;
    for (auto& each : GateStore().closed(tx)) gates.emplace(each.lane, std::move(each.gate));
    std::vector<ExecutionId> ids;
    for (const auto& [id, view] : views) ids.push_back(id);
    for (auto& row : priority_queue::QueueStore().read(tx, ids)) {
        auto& view = views.at(row.execution.id);
        view.execution = std::move(row.execution);
        view.led = led;
        if (const auto gate = gates.find(view.execution.lane); gate != gates.end()) view.gate = gate->second;
        // It has gone on since.
        if (domain::terminal(view.execution.status)) continue;
        auto stall = classify(view, list.at);
        list.executions.push_back({std::move(view), std::move(stall)});
    }
    std::sort(list.executions.begin(), list.executions.end(), [](const Stalled& a, const Stalled& b) {
        return std::tie(a.view.last_event_at, a.view.execution.id) <
               std::tie(b.view.last_event_at, b.view.execution.id);
    });
    list.more = live.size() > static_cast<std::size_t>(most) || waiting.size() > static_cast<std::size_t>(most);
    if (list.more && list.executions.size() > static_cast<std::size_t>(most))
        list.executions.resize(static_cast<std::size_t>(most));
    return list;
}

}
