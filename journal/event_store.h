#pragma once
// The journal: appends events in the transaction of the change they tell of, reads streams and the change feed.

#include <cstdint>
#include <string>
#include <vector>

#include "domain/event.h"
#include "domain/id.h"
#include "domain/time.h"
#include "platform/sql.h"

namespace impresario::journal {

struct StoredEvent {
    int seq = 0;
    std::string type;
    domain::TimePoint at;
    std::string payload;
};

struct FeedEvent {
    std::int64_t event_id = 0;
    std::string kind;
    std::array<std::uint8_t, 16> stream{};
    std::string type;
    std::string payload;
};

struct Feed {
    std::vector<FeedEvent> events;
    /// Where the next read begins: the oldest transaction that this one could not see.
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

    /// Where a feed that begins now begins.
    std::string position(platform::Tx& tx) const;
    Feed feed(platform::Tx& tx, const std::string& position, const domain::NodeId& reader, int most) const;
};

}
