#include "journal/event_store.h"

#include <limits>

#include "journal_sql.h"
#include "platform/read_rows.h"

namespace impresario::journal {

using platform::Params;
using platform::RowReader;
using platform::SqlArray;
using platform::Tx;

namespace {
/// A stream's id is a UUID of whatever kind.
using StreamId = domain::Id<struct StreamTag>;
}

void EventStore::append(Tx& tx, const std::vector<domain::Event>& events, const domain::NodeId& writer) const {
    if (events.empty()) return;
    SqlArray kinds;
    SqlArray streams;
    SqlArray seqs;
    SqlArray organizations;
    SqlArray types;
    SqlArray payloads;
    for (const auto& event : events) {
        kinds.add(event.kind);
        streams.add(StreamId{event.stream});
        seqs.add(event.seq);
        organizations.add(event.organization_id);
        types.add(event.type);
        payloads.add(event.payload);
    }
    tx.send(sql::append_events, Params()
                                    .add(std::move(kinds))
                                    .add(std::move(streams))
                                    .add(std::move(seqs))
                                    .add(std::move(organizations))
                                    .add(std::move(types))
                                    .add(std::move(payloads))
                                    .add(writer));
}

std::vector<StoredEvent> EventStore::stream(Tx& tx, const std::array<std::uint8_t, 16>& id, int after, int most) const {
    const auto rows = tx.exec(sql::stream_events, Params().add(StreamId{id}).add(after).add(most));
    return platform::read_rows(rows, [](RowReader& row) {
        StoredEvent event;
        event.seq = row.small();
        event.type = row.text();
        event.at = row.time();
        event.payload = row.text();
        return event;
    });
}

FeedStart EventStore::begin_feed(Tx& tx) const {
    FeedStart start;
    // In this order: the number first (migration 28).
    const auto last = tx.exec(sql::last_event, Params().add(std::numeric_limits<std::int64_t>::max()));
    start.mark.number = RowReader(last, 0).integer();
    const auto rows = tx.exec(sql::begin_feed);
    RowReader row(rows, 0);
    start.position = row.text();
    start.begun = row.text();
    start.mark.transaction = std::stoll(start.begun);
    return start;
}

Feed EventStore::feed(Tx& tx, const std::string& position, const std::string& begun, const domain::NodeId& reader,
                      int most, std::int64_t settled) const {
    const auto rows =
        tx.exec(sql::feed_events, Params().add(position).add(reader).add(most + 1).add(begun).add(settled));
    Feed feed;
    feed.position = RowReader(rows, 0).text();
    feed.overflow = rows.size() > static_cast<std::size_t>(most);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows.null(i, 1)) continue;
        RowReader row(rows, i);
        row.skip();
        row.skip();
        FeedEvent event;
        event.kind = row.text();
        event.stream = row.id<StreamId>().value;
        event.type = row.text();
        event.payload = row.text();
        feed.events.push_back(std::move(event));
    }
    return feed;
}

}
