#include "orchestrator/scheduler_store.h"

#include "orchestrator_sql.h"
#include "platform/read_rows.h"

namespace impresario::orchestrator {

using platform::Params;
using platform::RowReader;
using platform::Tx;

namespace {
Params& add_pid(Params& params, int backend_pid) { return backend_pid == 0 ? params.null() : params.add(backend_pid); }

Params& add_outage(Params& params, const std::optional<Outage>& outage) {
    if (!outage) return params.null().null().null();
    return params.add(outage->from).add(outage->until).add(static_cast<std::int64_t>(outage->length.count()));
}

/// The columns of scheduler_columns.inc, in its order.
SchedulerRow read_scheduler(const platform::Rows& rows) {
    RowReader row(rows, 0);
    SchedulerRow read;
    read.epoch = row.integer();
    read.node = row.maybe_id<domain::NodeId>();
    read.session = static_cast<int>(row.maybe_integer().value_or(0));
    read.session_missing = row.flag();
    read.renewed_at = row.maybe_time();
    read.lease_over = row.flag();
    const auto from = row.maybe_time();
    const auto until = row.maybe_time();
    const auto length = row.maybe_integer();
    if (from && until && length) read.outage = Outage{*from, *until, domain::Duration{*length}};
    read.now = row.time();
    return read;
}
}

SchedulerRow SchedulerStore::look(Tx& tx) const { return read_scheduler(tx.exec(sql::look_at_scheduler)); }

std::optional<Lead> SchedulerStore::take_lead(Tx& tx, const domain::NodeId& node, int backend_pid,
                                              std::chrono::seconds lease, int missed_session) const {
    const auto row = read_scheduler(tx.exec(sql::lock_scheduler));
    if (!row.to_be_had(node, missed_session)) return std::nullopt;
    const auto outage = outage_after(row.outage, row.renewed_at, row.now, lease);
    Params params;
    params.add(node);
    add_pid(params, backend_pid).add(static_cast<std::int64_t>(lease.count()));
    const auto taken = tx.exec(sql::take_lead, add_outage(params, outage));
    return Lead{RowReader(taken, 0).integer(), outage, row.now};
}

std::optional<Lead> SchedulerStore::renew(Tx& tx, std::int64_t epoch, const domain::NodeId& node, int backend_pid,
                                          std::chrono::seconds lease) const {
    const auto row = read_scheduler(tx.exec(sql::lock_scheduler));
    if (row.epoch != epoch || row.node != node) return std::nullopt;
    const auto outage = outage_after(row.outage, row.renewed_at, row.now, lease);
    Params params;
    add_pid(params, backend_pid).add(static_cast<std::int64_t>(lease.count()));
    tx.send(sql::renew_lead, add_outage(params, outage));
    return Lead{epoch, outage, row.now};
}

void SchedulerStore::resign(Tx& tx, std::int64_t epoch, const domain::NodeId& node) const {
    tx.send(sql::resign_lead, Params().add(epoch).add(node));
}

domain::TimePoint SchedulerStore::fence(Tx& tx, std::int64_t epoch, const domain::NodeId& node) const {
    return ask_fence(tx, epoch, node)();
}

std::function<domain::TimePoint()> SchedulerStore::ask_fence(Tx& tx, std::int64_t epoch,
                                                             const domain::NodeId& node) const {
    return [asked = tx.ask(sql::fence, Params().add(epoch).add(node))] {
        const auto rows = asked();
        if (rows.empty()) throw Fenced();
        return RowReader(rows, 0).time();
    };
}

void SchedulerStore::insist_on_lead(Tx& tx, std::int64_t epoch, const domain::NodeId& node) const {
    tx.send(sql::insist_on_lead, Params().add(epoch).add(node));
}

int SchedulerStore::heartbeat(Tx& tx, const domain::NodeId& node, const std::string& name, bool draining,
                              int backend_pid, int lease_seconds) const {
    Params params;
    params.add(node).add(name).add(kHubVersion).add(draining ? "draining" : "delivering");
    add_pid(params, backend_pid).add(lease_seconds);
    const auto rows = tx.exec(sql::heartbeat, params);
    return RowReader(rows, 0).small();
}

std::optional<int> SchedulerStore::next_node_seq(Tx& tx, const domain::NodeId& node) const {
    const auto rows = tx.exec(sql::next_node_seq, Params().add(node));
    if (rows.empty()) return std::nullopt;
    return RowReader(rows, 0).small();
}

void SchedulerStore::leave(Tx& tx, const domain::NodeId& node) const { tx.send(sql::leave, Params().add(node)); }

std::vector<NodeSeen> SchedulerStore::alive(Tx& tx) const {
    const auto rows = tx.exec(sql::alive_nodes);
    std::vector<NodeSeen> alive;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RowReader row(rows, i);
        NodeSeen each;
        each.node = row.id<domain::NodeId>();
        each.takes_work = row.view() == "delivering";
        each.session = static_cast<int>(row.maybe_integer().value_or(0));
        each.session_missing = row.flag();
        each.heartbeat_at = row.time();
        alive.push_back(each);
    }
    return alive;
}

std::vector<NodeView> SchedulerStore::nodes(Tx& tx) const {
    const auto rows = tx.exec(sql::list_nodes);
    return platform::read_rows(rows, [](RowReader& row) {
        NodeView node;
        node.node = row.id<domain::NodeId>();
        node.name = row.text();
        node.hub_version = row.small();
        node.state = row.text();
        node.started_at = row.time();
        node.heartbeat_at = row.time();
        node.lease_until = row.time();
        node.scheduler = row.flag();
        return node;
    });
}

void SchedulerStore::forget_nodes(Tx& tx) const { tx.send(sql::forget_nodes); }

resource_manager::DatabaseReading SchedulerStore::database_health(Tx& tx) const {
    const auto rows = tx.exec(sql::database_health);
    RowReader row(rows, 0);
    resource_manager::DatabaseReading reading;
    reading.lock_waits = row.small();
    reading.replication_lag = domain::Duration{static_cast<std::int64_t>(row.real() * 1e6)};
    return reading;
}

void SchedulerStore::write_queue_lengths(Tx& tx, const QueueLengths& lengths) const {
    std::array<platform::SqlArray, 4> a;
    for (const auto& [lane, length] : lengths) {
        a[0].add(lane.organization_id);
        a[1].add(lane.workflow_type);
        a[2].add(length.waiting);
        a[3].add_number(std::to_string(length.per_minute));
    }
    tx.send(sql::write_queue_lengths, Params().add(std::move(a)));
}

QueueLengths SchedulerStore::queue_lengths(Tx& tx) const {
    const auto rows = tx.exec(sql::read_queue_lengths);
    QueueLengths lengths;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RowReader row(rows, i);
        domain::Lane lane;
        lane.organization_id = row.text();
        lane.workflow_type = row.text();
        auto& length = lengths[std::move(lane)];
        length.waiting = row.integer();
        length.per_minute = row.real();
    }
    return lengths;
}

void SchedulerStore::write_state(Tx& tx, const ShownState& state) const {
    tx.send(sql::write_state, Params()
                                  .add(state.node)
                                  .add(state.state)
                                  .add(state.since)
                                  .add(state.why)
                                  .add(state.seconds_in)
                                  .add(state.last_execution)
                                  .add(state.next_scheduled));
}

ShownState SchedulerStore::read_state(Tx& tx) const {
    const auto rows = tx.exec(sql::read_state);
    RowReader row(rows, 0);
    ShownState state;
    state.node = row.maybe_id<domain::NodeId>();
    state.state = row.text();
    state.since = row.time();
    state.why = row.text();
    state.seconds_in = row.text();
    state.last_execution = row.maybe_time();
    state.next_scheduled = row.maybe_time();
    state.epoch = row.integer();
    state.led = row.flag();
    return state;
}

}
