#include "priority_queue/dead_letter_store.h"

#include "priority_queue_sql.h"

namespace impresario::priority_queue {

using platform::Params;
using platform::RowReader;
using platform::SqlArray;
using platform::Tx;

void DeadLetterStore::add(Tx& tx, const std::vector<DeadLetter>& letters) const {
    if (letters.empty()) return;
    std::array<SqlArray, 9> a;
    for (const auto& each : letters) {
        a[0].add(each.execution);
        a[1].add(each.opening);
        a[2].add(each.lane.organization_id);
        a[3].add(each.lane.workflow_type);
        a[4].add(each.reason);
        a[5].add_or_null(each.error);
        a[6].add(each.fingerprint);
        a[7].add(each.node);
        a[8].add(each.attempts);
    }
    tx.send(sql::add_dead_letters, Params().add(std::move(a)));
}

void DeadLetterStore::resolve(Tx& tx, const Resolution& resolution) const {
    tx.send(sql::resolve_dead_letter, Params()
                                          .add(resolution.execution)
                                          .add(resolution.opening)
                                          .add(resolution.how)
                                          .add(resolution.by)
                                          .add(resolution.keep_input));
}

namespace {
DeadLetterRow read_letter(const platform::Rows& rows, std::size_t i) {
    RowReader row(rows, i);
    DeadLetterRow letter;
    letter.letter.execution = row.id<domain::ExecutionId>();
    letter.letter.opening = row.small();
    letter.letter.lane.organization_id = row.text();
    letter.letter.lane.workflow_type = row.text();
    letter.letter.reason = row.text();
    letter.letter.error = row.text();
    letter.letter.fingerprint = row.text();
    letter.letter.node = row.maybe_id<domain::NodeId>();
    letter.letter.attempts = row.small();
    letter.at = row.time();
    letter.resolution = row.text();
    letter.resolved_at = row.maybe_time();
    letter.resolved_by = row.text();
    letter.input = row.text();
    letter.original_input = row.text();
    return letter;
}
}

std::vector<DeadLetterRow> DeadLetterStore::list(Tx& tx, const DeadLetterFilter& filter) const {
    Params params;
    params.add(filter.organization_id)
        .add(filter.resolved)
        .add_or_null(filter.workflow_type)
        .add_or_null(filter.reason)
        .add_or_null(filter.fingerprint)
        .add(filter.since)
        .add(filter.before_at)
        .add(filter.before_id)
        .add(filter.most);
    const auto rows = tx.exec(sql::list_dead_letters, params);
    std::vector<DeadLetterRow> letters;
    for (std::size_t i = 0; i < rows.size(); ++i) letters.push_back(read_letter(rows, i));
    return letters;
}

std::optional<DeadLetterRow> DeadLetterStore::find(Tx& tx, const std::string& organization_id,
                                                   const domain::ExecutionId& id) const {
    const auto rows = tx.exec(sql::find_dead_letter, Params().add(organization_id).add(id));
    if (rows.empty()) return std::nullopt;
    return read_letter(rows, 0);
}

}
