#include "journal/stream_store.h"

#include <algorithm>

#include "domain/id.h"
#include "journal_sql.h"

namespace impresario::journal {

using platform::Params;
using platform::RowReader;
using platform::Tx;

NumberedEvent read_numbered_event(RowReader& row) {
    NumberedEvent event;
    event.number = row.integer();
    event.kind = row.text();
    event.stream = row.id<domain::Id<struct StreamTag>>().value;
    event.seq = row.small();
    event.organization_id = row.text();
    event.workflow_type = row.text();
    event.type = row.text();
    event.at = row.time();
    event.payload = row.text();
    return event;
}

std::int64_t StreamStore::latest(Tx& tx) const {
    const auto rows = tx.exec(sql::latest_number);
    return RowReader(rows, 0).integer();
}

Mark StreamStore::mark(Tx& tx, std::int64_t known) const {
    Mark mark;
    // In this order: the number first (migration 28).
    mark.number = latest(tx);
    if (mark.number <= known) return mark;
    const auto rows = tx.exec(sql::transaction_number);
    mark.transaction = RowReader(rows, 0).integer();
    return mark;
}

std::int64_t StreamStore::oldest_transaction(Tx& tx) const {
    const auto rows = tx.exec(sql::oldest_transaction);
    return RowReader(rows, 0).integer();
}

std::string StreamStore::oldest_writer(Tx& tx) const {
    const auto rows = tx.exec(sql::oldest_writer);
    return rows.empty() ? std::string{} : RowReader(rows, 0).text();
}

NumberedPage StreamStore::page(Tx& tx, std::int64_t after, std::int64_t last, int most) const {
    NumberedPage page;
    page.until = std::min(last, after + most);
    const auto rows = tx.exec(sql::numbered_events, Params().add(after).add(page.until));
    page.events.reserve(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RowReader row(rows, i);
        page.events.push_back(read_numbered_event(row));
    }
    if (page.events.empty() && page.until < last) page.until = skip(tx, page.until, last);
    return page;
}

std::int64_t StreamStore::skip(Tx& tx, std::int64_t after, std::int64_t last) const {
    const auto rows = tx.exec(sql::next_number, Params().add(after).add(last));
    const auto next = RowReader(rows, 0).maybe_integer();
    return next ? *next - 1 : last;
}

std::int64_t StreamStore::last_event(Tx& tx, std::int64_t last) const {
    const auto rows = tx.exec(sql::last_event, Params().add(last));
    return rows.empty() ? 0 : RowReader(rows, 0).integer();
}

std::optional<std::int64_t> StreamStore::first(Tx& tx) const {
    const auto rows = tx.exec(sql::first_number);
    if (rows.empty()) return std::nullopt;
    return RowReader(rows, 0).integer();
}

}
