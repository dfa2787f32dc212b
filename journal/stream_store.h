#pragma once
// Events by their numbers: what streams and subscribers follow.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "domain/time.h"
#include "journal/horizon.h"
#include "platform/sql.h"

namespace impresario::journal {

struct NumberedEvent {
    /// In the order in which events are written, with gaps where a transaction was rolled back.
    std::int64_t number = 0;
    /// "execution", "lane", "budget" …: what kind of thing `stream` is, and which one.
    std::string kind;
    std::array<std::uint8_t, 16> stream{};
    int seq = 0;
    std::string organization_id;
    /// Of an execution or a lane; else empty.
    std::string workflow_type;
    std::string type;
    domain::TimePoint at;
    /// JSON object text.
    std::string payload;
};

/// By number, and up to where all that there are are in it.
struct NumberedPage {
    std::vector<NumberedEvent> events;
    std::int64_t until = 0;
};

/// From a row's columns in the order of the members.
NumberedEvent read_numbered_event(platform::RowReader& row);

/// Stateless; any thread.
class StreamStore {
  public:
    /// The latest number, with a transaction's that is higher than those of all who have taken one, if it is beyond
    /// `known`; else with none (0). Not in the transaction of oldest_transaction: it would wait for itself.
    Mark mark(platform::Tx& tx, std::int64_t known) const;
    /// The latest number that anybody has taken, committed or not.
    std::int64_t latest(platform::Tx& tx) const;
    /// Every transaction below it has ended.
    std::int64_t oldest_transaction(platform::Tx& tx) const;
    /// Whose transaction has been under way for the longest, for people; empty: nobody's that can be seen.
    std::string oldest_writer(platform::Tx& tx) const;
    /// The next of them after `after`, of at most `most` numbers, up to `last`.
    NumberedPage page(platform::Tx& tx, std::int64_t after, std::int64_t last, int most) const;
    /// Where a page ends that has no events: before the next that there is, or at `last`.
    std::int64_t skip(platform::Tx& tx, std::int64_t after, std::int64_t last) const;
    /// The highest number of an event up to `last`, gone or not; 0: there was none. Unlike `latest` it outlives whatever happens to
    /// the server: a number that was taken and not committed may be given out again after a crash.
    std::int64_t last_event(platform::Tx& tx, std::int64_t last) const;
    /// From there on all that there was is kept; nullopt: there has been no event.
    std::optional<std::int64_t> first(platform::Tx& tx) const;
};

}
