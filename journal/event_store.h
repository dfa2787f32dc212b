#pragma once
// The journal: appends events in the transaction of the change they tell of, reads streams and the change feed.

#include <cstdint>
#include <string>
#include <vector>

#include "domain/event.h"
#include "domain/id.h"
#include "domain/time.h"
#include "journal/horizon.h"
#include "platform/sql.h"

namespace impresario::journal {

struct StoredEvent {
    int seq = 0;
    std::string type;
    domain::TimePoint at;
    std::string payload;
};

struct FeedEvent {
    std::string kind;
    std::array<std::uint8_t, 16> stream{};
    std::string type;
    std::string payload;
};

/// The oldest transaction that a feed's position does not see the end of.
inline std::int64_t oldest_in(const std::string& position) { return std::stoll(position); }

/// Where a feed begins: the snapshot, and the number below which every transaction had begun to write.
struct FeedStart {
    std::string position;
    std::string begun;
    /// The last event there was before that, and the same transaction. Its number is never given out again, whatever
    /// happens to the server; one that was only taken might be (StreamStore::last_event).
    Mark mark;
};

struct Feed {
    std::vector<FeedEvent> events;
    /// Where the next read begins: the snapshot of this one, as text.
    std::string position;
    /// There were more than were asked for: the reader has fallen too far behind and must rebuild from the tables.
    bool overflow = false;
};

/// Stateless; any thread.
class EventStore {
  public:
    void append(platform::Tx& tx, const std::vector<domain::Event>& events, const domain::NodeId& writer) const;
    std::vector<StoredEvent> stream(platform::Tx& tx, const std::array<std::uint8_t, 16>& id, int after,
                                    int most) const;

    /// A feed that begins now.
    FeedStart begin_feed(platform::Tx& tx) const;
    /// At most `most` events since `position`, without those that `reader` has begun to write since its feed `begun`.
    /// All of them have numbers beyond `settled`, which is settled at `position`.
    Feed feed(platform::Tx& tx, const std::string& position, const std::string& begun, const domain::NodeId& reader,
              int most, std::int64_t settled = 0) const;
};

}
