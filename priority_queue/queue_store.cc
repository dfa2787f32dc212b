#include "priority_queue/queue_store.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "platform/gate_json.h"
#include "platform/read_rows.h"
#include "priority_queue/write_columns.h"
#include "priority_queue_sql.h"

namespace impresario::priority_queue {

using domain::Execution;
using platform::Params;
using platform::RowReader;
using platform::Rows;
using platform::SqlArray;
using platform::Tx;

namespace {

/// The columns of execution_columns.inc, in its order.
Execution read_execution(RowReader& row) {
    Execution e;
    e.id = row.id<domain::ExecutionId>();
    e.lane.organization_id = row.text();
    e.lane.workflow_type = row.text();
    const std::string status = row.text();
    const auto known = domain::parse_status(status);
    e.status = known.value_or(domain::Status::queued);
    if (!known) e.foreign_status = status;
    e.priority = row.small();
    e.created_at = row.time();
    e.scheduled_at = row.time();
    e.ready = row.flag();
    e.ready_at = row.maybe_time();
    e.due_at = row.maybe_time();
    e.started_at = row.maybe_time();
    e.completed_at = row.maybe_time();
    e.timeout_at = row.maybe_time();
    e.retry_count = row.small();
    e.max_retries = row.small();
    e.attempts = row.small();
    if (row.null()) {
        row.skip(9);
    } else {
        domain::LiveAttempt attempt;
        attempt.id = row.id<domain::AttemptId>();
        attempt.number = e.attempts;
        const auto state = domain::parse_attempt_state(row.view());
        attempt.state = state.value_or(domain::AttemptState::unknown);
        if (!state) e.foreign_status = status;
        attempt.node = row.id<domain::NodeId>();
        attempt.fence = row.small();
        attempt.lease_until = row.maybe_time().value_or(domain::TimePoint{});
        attempt.granted_at = row.maybe_time().value_or(domain::TimePoint{});
        attempt.accepted_at = row.maybe_time();
        attempt.endpoint = row.id<domain::EndpointId>();
        attempt.deliveries = row.small();
        e.attempt = attempt;
    }
    e.opening = row.small();
    e.last_seq = row.small();
    e.parent = row.maybe_id<domain::ExecutionId>();
    e.parent_attempt = row.maybe_id<domain::AttemptId>();
    e.child_ordinal = row.small();
    e.open_children = row.small();
    e.batch = row.maybe_id<domain::BatchId>();
    e.concurrency_key = row.text();
    e.gate = platform::parse_gate(row.view());
    e.gate_since = row.maybe_time();
    e.reason = row.text();
    e.duration_ms = row.maybe_integer();
    if (const auto cost = row.maybe_integer()) e.cost = domain::MicroUsd{*cost};
    e.items_processed = row.maybe_integer();
    e.progress = row.text();
    const auto attempt_cost = row.maybe_integer();
    if (attempt_cost && e.attempt) e.attempt->cost = domain::MicroUsd{*attempt_cost};
    const auto reserved = row.maybe_integer();
    const auto batch_percent = row.maybe_integer();
    const bool cheaper = row.flag();
    if (e.attempt) {
        if (reserved) e.attempt->reserved = domain::MicroUsd{*reserved};
        if (batch_percent) e.attempt->thrift.batch_percent = static_cast<int>(*batch_percent);
        e.attempt->thrift.cheaper_variant = cheaper;
    }
    e.size_class = row.small();
    e.need_amounts = row.text();
    e.limit_keys = row.text();
    return e;
}

std::vector<LockedExecution> read_locked(const Rows& rows) {
    return platform::read_rows(rows, [](RowReader& row) {
        LockedExecution each;
        each.execution = read_execution(row);
        each.now = row.time();
        return each;
    });
}

std::vector<ClaimableExecution> read_claimable(const Rows& rows) {
    return platform::read_rows(rows, [](RowReader& row) {
        ClaimableExecution each;
        each.execution = read_execution(row);
        each.input = row.text();
        each.context = row.text();
        each.now = row.time();
        each.trace_context = row.text();
        return each;
    });
}

/// What is to be acted on: not what only a newer hub understands (protocol R23). Writing it back would lose its status.
template <class Row>
std::vector<Row> without_foreign(std::vector<Row> rows) {
    std::erase_if(rows, [](const Row& row) { return !row.execution.foreign_status.empty(); });
    return rows;
}

std::vector<domain::ExecutionId> read_ids(const Rows& rows) {
    std::vector<domain::ExecutionId> ids;
    ids.reserve(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) ids.push_back(RowReader(rows, i).id<domain::ExecutionId>());
    return ids;
}

}

void QueueStore::insert(Tx& tx, const std::vector<NewExecution>& executions) const {
    if (executions.empty()) return;
    std::array<SqlArray, 22> a;
    for (const auto& each : executions) {
        const Execution& e = each.execution;
        a[0].add(e.id);
        a[1].add(e.lane.organization_id);
        a[2].add(e.lane.workflow_type);
        a[3].add(e.priority);
        a[4].add(e.created_at);
        a[5].add(e.scheduled_at);
        a[6].add(e.ready);
        a[7].add(e.ready_at);
        a[8].add(e.due_at);
        a[9].add(e.max_retries);
        a[10].add(e.parent);
        a[11].add(e.parent_attempt);
        a[12].add(e.child_ordinal);
        a[13].add(e.batch);
        a[14].add_or_null(e.concurrency_key);
        a[15].add(e.last_seq);
        a[16].add_or_null(each.input);
        a[17].add_or_null(each.context);
        a[18].add(e.size_class);
        a[19].add_or_null(e.need_amounts);
        a[20].add_or_null(e.limit_keys);
        a[21].add_or_null(each.trace_context);
    }
    tx.send(sql::insert_executions, Params().add(std::move(a)));
}

void QueueStore::insert_granted(Tx& tx, const NewExecution& granted) const {
    const Execution& e = granted.execution;
    const domain::LiveAttempt& attempt = e.attempt.value();
    Params params;
    params.add(e.id).add_or_null(granted.input).add_or_null(granted.context);
    params.add(e.lane.organization_id).add(e.lane.workflow_type).add(domain::name(e.status)).add(e.priority);
    params.add(e.created_at).add(e.scheduled_at).add(e.ready_at).add(e.started_at).add(e.timeout_at);
    params.add(e.max_retries).add(e.attempts);
    params.add(attempt.id).add(domain::name(attempt.state)).add(attempt.node).add(attempt.fence);
    params.add(attempt.lease_until).add(attempt.granted_at).add(attempt.endpoint).add(attempt.deliveries);
    params.add(e.parent).add(e.parent_attempt).add(e.child_ordinal).add(e.batch).add_or_null(e.concurrency_key);
    params.add(e.last_seq).add(e.size_class).add(attempt.reserved).add(attempt.thrift.smaller());
    params.add(attempt.thrift.cheaper_variant).add_or_null(e.need_amounts).add_or_null(e.limit_keys);
    params.add_or_null(granted.trace_context);
    tx.send(sql::insert_granted, params);
}

std::map<domain::ExecutionId, std::string> QueueStore::trace_contexts(
    Tx& tx, const std::vector<domain::ExecutionId>& ids) const {
    const auto rows = tx.exec(sql::trace_contexts, Params().add(SqlArray::of(ids)));
    std::map<domain::ExecutionId, std::string> contexts;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RowReader row(rows, i);
        const auto id = row.id<domain::ExecutionId>();
        contexts.emplace(id, row.text());
    }
    return contexts;
}

QueueStore::Locked QueueStore::lock(Tx& tx, const std::vector<domain::ExecutionId>& ids) const {
    Locked locked;
    locked.rows = without_foreign(read_locked(tx.exec(sql::lock_executions, Params().add(SqlArray::of(ids)))));
    if (locked.rows.size() == ids.size()) return locked;
    std::set<domain::ExecutionId> got;
    for (const auto& row : locked.rows) got.insert(row.execution.id);
    std::vector<domain::ExecutionId> missing;
    std::copy_if(ids.begin(), ids.end(), std::back_inserter(missing),
                 [&](const domain::ExecutionId& id) { return !got.contains(id); });
    locked.held = read_ids(tx.exec(sql::existing_executions, Params().add(SqlArray::of(missing))));
    return locked;
}

std::vector<ClaimableExecution> QueueStore::lock_claimable(Tx& tx, const std::vector<domain::ExecutionId>& ids) const {
    return without_foreign(read_claimable(tx.exec(sql::lock_claimable, Params().add(SqlArray::of(ids)))));
}

std::vector<LockedExecution> QueueStore::read(Tx& tx, const std::vector<domain::ExecutionId>& ids) const {
    return read_locked(tx.exec(sql::read_executions, Params().add(SqlArray::of(ids))));
}

std::vector<LockedExecution> QueueStore::list(Tx& tx, const ExecutionFilter& filter) const {
    Params params;
    params.add(filter.organization_id)
        .add_or_null(filter.statuses)
        .add_or_null(filter.workflow_type)
        .add(filter.batch)
        .add(filter.parent)
        .add(filter.created_after)
        .add(filter.created_before)
        .add(filter.before_at)
        .add(filter.before_id)
        .add(filter.most);
    return read_locked(tx.exec(sql::list_executions, params));
}

std::vector<LockedExecution> QueueStore::sent_by(Tx& tx, const domain::NodeId& node) const {
    return without_foreign(read_locked(tx.exec(sql::sent_by, Params().add(node))));
}

std::vector<ClaimableExecution> QueueStore::granted_to(Tx& tx, const domain::NodeId& node) const {
    return without_foreign(read_claimable(tx.exec(sql::granted_to, Params().add(node))));
}

void QueueStore::write(Tx& tx, const std::vector<const Execution*>& executions, const Columns& columns) const {
    if (executions.empty() || columns.none()) return;
    const auto write = write_columns(columns);
    tx.send(write.statement, column_values(write.columns, executions));
}

void QueueStore::write_results(Tx& tx, const std::vector<ResultRecord>& results) const {
    if (results.empty()) return;
    std::array<SqlArray, 7> a;
    for (const auto& each : results) {
        a[0].add(each.execution);
        a[1].add(each.opening);
        a[2].add_or_null(each.result_data);
        a[3].add_or_null(each.error_data);
        a[4].add_or_null(each.items);
        a[5].add(each.sanitised);
        a[6].add_or_null(each.peer_reference);
    }
    tx.send(sql::write_result, Params().add(std::move(a)));
}

void QueueStore::write_input(Tx& tx, const domain::ExecutionId& id, const std::string& input) const {
    tx.send(sql::write_input, Params().add(id).add_or_null(input));
}

QueueStore::Payload QueueStore::payload(Tx& tx, const domain::ExecutionId& id) const {
    const auto rows = tx.exec(sql::read_payload, Params().add(id));
    if (rows.empty()) return {};
    RowReader row(rows, 0);
    Payload payload;
    payload.input = row.text();
    payload.context = row.text();
    payload.trace_context = row.text();
    return payload;
}

std::vector<ChildResult> QueueStore::children(Tx& tx, const std::vector<domain::ExecutionId>& parents) const {
    const auto rows = tx.exec(sql::children, Params().add(SqlArray::of(parents)));
    return platform::read_rows(rows, [](RowReader& row) {
        ChildResult child;
        child.parent = row.id<domain::ExecutionId>();
        child.id = row.id<domain::ExecutionId>();
        child.status = domain::parse_status(row.view()).value_or(domain::Status::queued);
        child.retry_count = row.small();
        child.result_data = row.text();
        child.items = row.text();
        child.error_data = row.text();
        if (const auto cost = row.maybe_integer()) child.cost = domain::MicroUsd{*cost};
        child.reason = row.text();
        return child;
    });
}

std::vector<ResultRecord> QueueStore::results(Tx& tx,
                                              const std::vector<std::pair<domain::ExecutionId, int>>& of) const {
    SqlArray ids;
    SqlArray openings;
    for (const auto& [id, opening] : of) {
        ids.add(id);
        openings.add(opening);
    }
    const auto rows = tx.exec(sql::read_results, Params().add(std::move(ids)).add(std::move(openings)));
    return platform::read_rows(rows, [](RowReader& row) {
        ResultRecord result;
        result.execution = row.id<domain::ExecutionId>();
        result.opening = row.small();
        result.result_data = row.text();
        result.error_data = row.text();
        result.items = row.text();
        result.sanitised = row.flag();
        result.peer_reference = row.text();
        return result;
    });
}

std::vector<LevelCount> QueueStore::count_levels(Tx& tx) const {
    const auto rows = tx.exec(sql::count_levels);
    return platform::read_rows(rows, [](RowReader& row) {
        LevelCount each;
        each.lane.organization_id = row.text();
        each.lane.workflow_type = row.text();
        each.priority = row.small();
        each.count = static_cast<std::size_t>(row.integer());
        return each;
    });
}

std::vector<Entry> QueueStore::load_level(Tx& tx, const domain::Lane& lane, const Order::Refill& refill) const {
    const auto rows = tx.exec(sql::load_level, Params()
                                                   .add(lane.organization_id)
                                                   .add(lane.workflow_type)
                                                   .add(refill.priority)
                                                   .add(refill.after_created_at)
                                                   .add(refill.after_id)
                                                   .add(static_cast<std::int64_t>(refill.count)));
    return platform::read_rows(rows, [&](RowReader& row) {
        Entry entry;
        entry.id = row.id<domain::ExecutionId>();
        entry.priority = refill.priority;
        entry.created_at = row.time();
        entry.ready_at = row.time();
        entry.key = row.text();
        entry.seq = row.small();
        entry.size_class = row.small();
        entry.batch = row.maybe_id<domain::BatchId>();
        entry.need_amounts = row.text();
        entry.limit_keys = row.text();
        return entry;
    });
}

std::vector<LockedExecution> QueueStore::load_gated(Tx& tx) const { return read_locked(tx.exec(sql::load_gated)); }

std::vector<QueueStore::LastByScore> QueueStore::last_by_score(Tx& tx, const domain::Lane& lane, int most,
                                                               domain::TimePoint now) const {
    const auto rows =
        tx.exec(sql::lowest_waiting, Params().add(lane.organization_id).add(lane.workflow_type).add(now).add(most));
    return platform::read_rows(rows, [&](RowReader& row) {
        LastByScore each;
        each.id = row.id<domain::ExecutionId>();
        each.score = row.integer();
        each.created_at = row.time();
        each.lane = lane;
        return each;
    });
}

std::vector<domain::ExecutionId> QueueStore::first_by_table(Tx& tx, const domain::Lane& lane, int most,
                                                            domain::TimePoint now) const {
    return read_ids(
        tx.exec(sql::first_by_table, Params().add(lane.organization_id).add(lane.workflow_type).add(most).add(now)));
}

std::vector<LockedExecution> QueueStore::load_unsettled(Tx& tx) const {
    return read_locked(tx.exec(sql::load_unsettled));
}

std::vector<domain::ExecutionId> QueueStore::due(Tx& tx, domain::TimePoint now, int most,
                                                 const std::vector<domain::ExecutionId>& put_off) const {
    return read_ids(tx.exec(sql::due_executions, Params().add(now).add(most).add(SqlArray::of(put_off))));
}

std::optional<domain::TimePoint> QueueStore::next_due(Tx& tx, const std::vector<domain::ExecutionId>& put_off) const {
    const auto rows = tx.exec(sql::next_due, Params().add(SqlArray::of(put_off)));
    return RowReader(rows, 0).maybe_time();
}

}
