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
constexpr int kPage = 5000;
}

void RetentionStore::lock(Tx& tx) const { tx.exec(sql::lock_retention); }

void RetentionStore::wait(Tx& tx) const { tx.exec(sql::wait_for_retention); }

std::int64_t RetentionStore::told(Tx& tx, const std::string& organization_id) const {
    const auto rows = tx.exec(sql::told_until, Params().add(organization_id));
    return RowReader(rows, 0).integer();
}

void RetentionStore::sum_up(Tx& tx, const std::vector<ExecutionId>& executions) const {
    tx.exec(sql::sum_up_executions, Params().add(SqlArray::of(executions)));
}

std::int64_t RetentionStore::remove_events(Tx& tx, const std::vector<ExecutionId>& executions,
                                           std::int64_t last) const {
    const auto rows = tx.exec(sql::remove_events, Params().add(SqlArray::of(executions)).add(last));
    return RowReader(rows, 0).integer();
}

RetentionStore::OldEvents RetentionStore::old_events(Tx& tx, std::int64_t after, domain::Duration age,
                                                     std::int64_t told) const {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(age).count();
    const auto rows = tx.exec(sql::old_events, Params().add(after).add(kPage).add(seconds).add(told));
    OldEvents old;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RowReader row(rows, i);
        const auto number = row.integer();
        if (!row.flag()) return old;
        old.until = number;
        if (row.flag()) old.numbers.push_back(number);
    }
    return old;
}

std::int64_t RetentionStore::forget_events(Tx& tx, const std::vector<std::int64_t>& numbers) const {
    SqlArray array;
    for (const auto number : numbers) array.add(number);
    const auto rows = tx.exec(sql::forget_events, Params().add(std::move(array)));
    return RowReader(rows, 0).integer();
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
