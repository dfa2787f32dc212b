#include "journal/retention_store.h"

#include "journal_sql.h"

namespace impresario::journal {

using domain::ExecutionId;
using platform::Params;
using platform::RowReader;
using platform::SqlArray;
using platform::Tx;

namespace {
/// Events of one look.
constexpr int kPage = 2000;

SqlArray ids(const std::vector<ExecutionId>& executions) {
    SqlArray array;
    for (const auto& id : executions) array.add(id);
    return array;
}
}

std::int64_t RetentionStore::told(Tx& tx) const {
    const auto rows = tx.exec(sql::told_until);
    return RowReader(rows, 0).integer();
}

void RetentionStore::sum_up(Tx& tx, const std::vector<ExecutionId>& executions) const {
    tx.exec(sql::sum_up_executions, Params().add(ids(executions)));
}

std::int64_t RetentionStore::remove_events(Tx& tx, const std::vector<ExecutionId>& executions) const {
    const auto rows = tx.exec(sql::remove_events, Params().add(ids(executions)));
    return RowReader(rows, 0).integer();
}

RetentionStore::Forgotten RetentionStore::forget_events(Tx& tx, std::int64_t after, domain::Duration age,
                                                        std::int64_t told) const {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(age).count();
    const auto rows = tx.exec(sql::forget_events, Params().add(after).add(kPage).add(seconds).add(told));
    RowReader row(rows, 0);
    Forgotten forgotten;
    forgotten.events = row.integer();
    forgotten.until = row.maybe_integer();
    return forgotten;
}

void RetentionStore::note_pass(Tx& tx, double seconds) const {
    tx.exec(sql::note_retention_pass, Params().add(std::to_string(seconds)));
}

RetentionStore::Standing RetentionStore::standing(Tx& tx) const {
    const auto rows = tx.exec(sql::retention_standing);
    Standing standing;
    if (rows.empty()) return standing;
    RowReader row(rows, 0);
    standing.executions = row.integer();
    standing.events = row.integer();
    standing.last_pass = row.maybe_time();
    standing.last_pass_seconds = row.null() ? 0 : row.real();
    return standing;
}

}
