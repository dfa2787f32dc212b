#include "webhooks/attempt_store.h"

#include "platform/read_rows.h"
#include "webhooks_sql.h"

namespace impresario::webhooks {

using platform::Params;
using platform::RowReader;
using platform::SqlArray;
using platform::Tx;

namespace {
void add_bytes_or_null(SqlArray& array, const std::string& bytes) {
    if (bytes.empty()) {
        array.null();
    } else {
        array.add_bytes(bytes);
    }
}
}

void AttemptStore::close(Tx& tx, const std::vector<ClosedAttempt>& attempts) const {
    if (attempts.empty()) return;
    std::array<SqlArray, 14> a;
    for (const auto& each : attempts) {
        a[0].add(each.execution);
        a[1].add(each.attempt.number);
        a[2].add(each.attempt.id);
        a[3].add(each.opening);
        a[4].add(each.attempt.node);
        a[5].add(each.attempt.endpoint);
        a[6].add(each.attempt.deliveries);
        a[7].add(each.attempt.granted_at);
        a[8].add(each.attempt.accepted_at);
        a[9].add(each.outcome);
        a[10].add_or_null(each.detail);
        add_bytes_or_null(a[11], each.callback_sha256);
        a[12].add_or_null(each.callback_answer);
        a[13].add(each.attempt.cost);
    }
    tx.send(sql::write_attempts, Params().add(std::move(a)));
}

void AttemptStore::amend(Tx& tx, const std::vector<ClosedAttempt>& attempts) const {
    if (attempts.empty()) return;
    std::array<SqlArray, 6> a;
    for (const auto& each : attempts) {
        a[0].add(each.execution);
        a[1].add(each.attempt.id);
        a[2].add(each.outcome);
        add_bytes_or_null(a[3], each.callback_sha256);
        a[4].add_or_null(each.callback_answer);
        a[5].add(each.attempt.cost);
    }
    tx.send(sql::amend_attempts, Params().add(std::move(a)));
}

std::vector<FoundAttempt> AttemptStore::find(
    Tx& tx, const std::vector<std::pair<domain::ExecutionId, domain::AttemptId>>& of) const {
    std::array<SqlArray, 2> a;
    for (const auto& [execution, attempt] : of) {
        a[0].add(execution);
        a[1].add(attempt);
    }
    const auto rows = tx.exec(sql::find_attempts, Params().add(std::move(a)));
    return platform::read_rows(rows, [](RowReader& row) {
        FoundAttempt attempt;
        attempt.execution = row.id<domain::ExecutionId>();
        attempt.id = row.id<domain::AttemptId>();
        attempt.number = row.small();
        attempt.opening = row.small();
        attempt.outcome = row.text();
        attempt.callback_sha256 = row.bytes();
        attempt.callback_answer = row.text();
        if (const auto cost = row.maybe_integer()) attempt.cost = domain::MicroUsd{*cost};
        return attempt;
    });
}

void AttemptStore::log_deliveries(Tx& tx, const std::vector<DeliveryRecord>& deliveries) const {
    if (deliveries.empty()) return;
    std::array<SqlArray, 11> a;
    for (const auto& each : deliveries) {
        a[0].add(each.execution);
        a[1].add(each.attempt);
        a[2].add(each.number);
        a[3].add(each.at);
        a[4].add(each.duration.count());
        a[5].add(each.url);
        a[6].add_or_null(each.address);
        if (each.status) {
            a[7].add(*each.status);
        } else {
            a[7].null();
        }
        a[8].add(each.outcome);
        a[9].add_or_null(each.error);
        a[10].add_or_null(each.answer);
    }
    tx.send(sql::write_deliveries, Params().add(std::move(a)));
}

void AttemptStore::keep_refused(Tx& tx, const std::vector<RefusedCallback>& callbacks) const {
    // One statement may not touch a row twice: copies within a batch go one after the other.
    for (const auto& each : callbacks) {
        std::array<SqlArray, 6> a;
        a[0].add(each.execution);
        a[1].add(each.attempt);
        a[2].add_bytes(each.sha256);
        a[3].add(each.status);
        a[4].add(each.problem);
        a[5].add(each.body);
        tx.send(sql::write_refused, Params().add(std::move(a)));
    }
}

void AttemptStore::remove(Tx& tx, const std::vector<domain::ExecutionId>& executions) const {
    for (const auto& statement : {sql::remove_attempts, sql::remove_deliveries, sql::remove_refused_callbacks})
        tx.send(statement, Params().add(SqlArray::of(executions)));
}

platform::Rows AttemptStore::list_attempts(Tx& tx, const domain::ExecutionId& id) const {
    return tx.exec(sql::list_attempts, Params().add(id));
}
platform::Rows AttemptStore::list_deliveries(Tx& tx, const domain::ExecutionId& id) const {
    return tx.exec(sql::list_deliveries, Params().add(id));
}
platform::Rows AttemptStore::list_refused(Tx& tx, const domain::ExecutionId& id) const {
    return tx.exec(sql::list_refused, Params().add(id));
}

}
