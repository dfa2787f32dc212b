#pragma once
// What is on its way to subscribers. The journal is the queue: a message has a row from when it is taken up.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "journal/stream_store.h"
#include "journal/subscriber.h"
#include "platform/sql.h"

namespace impresario::journal {

enum class MessageState { pending, in_flight, published, failed };
std::string_view name(MessageState state);
std::optional<MessageState> parse_message_state(std::string_view text);

/// How often it was sent, and refused, and since when.
struct MessageTries {
    int deliveries = 0;
    int failures = 0;
    std::optional<domain::TimePoint> failing_since;
};

/// An event that is to be sent now.
struct Message {
    NumberedEvent event;
    MessageTries tries;
};

struct MessageDelivery {
    std::int64_t event = 0;
    int number = 1;
    domain::TimePoint at{};
    domain::Duration duration{0};
    std::string url;
    std::string address;
    std::optional<int> status;
    std::string outcome;
    std::string error;
    /// The first 4 KiB of the answer, storable, secrets removed.
    std::string answer;
};

/// What has become of a message that was in flight.
struct MessageResult {
    std::int64_t event = 0;
    MessageState state = MessageState::pending;
    MessageTries tries;
    /// Pending: not before that.
    std::optional<domain::TimePoint> due;
    std::string error;
    std::optional<MessageDelivery> delivery;
};

struct Claim {
    /// The subscriber is not as it was known: nothing was taken up.
    bool stale = false;
    std::vector<Message> messages;
    SubscriberState state;
    /// There may be more of it in the journal, or more to be told once more.
    bool more = false;
    /// So much of it is open, or waits for its turn, that nothing new is taken up.
    bool full = false;
    /// When the first of those that wait is due.
    std::optional<domain::TimePoint> next_due;
};

struct ClaimRequest {
    /// Most messages.
    int most = 50;
    /// Numbers up to it are settled.
    std::int64_t last = 0;
    /// Numbers of the journal that are looked at.
    int page = 1000;
    /// Nothing of its is known to be in the journal up to there.
    std::int64_t nothing_until = 0;
    /// What is to be told once more goes before what is new.
    bool replays_first = false;
    /// What has not been taken up yet goes before what waits: who tries whether a subscriber hears again does not try
    /// with nothing but what it has refused before. Not in order.
    bool new_first = false;
};

/// What is told once more: of the events after a number and up to another those that were given up, or those that it
/// has chosen and `choice` too, of a time.
struct Replay {
    std::int64_t after = 0;
    std::int64_t last = 0;
    bool failed = false;
    EventChoice choice;
    std::optional<domain::TimePoint> since;
    std::optional<domain::TimePoint> until;
    std::string by;
};

struct MessageRow {
    NumberedEvent event;
    MessageState state = MessageState::pending;
    MessageTries tries;
    std::optional<domain::TimePoint> due;
    std::string error;
    domain::TimePoint created{};
    std::optional<domain::TimePoint> ended;
};

struct DeliveryRow {
    std::int64_t id = 0;
    std::string webhook_id;
    std::string type;
    MessageDelivery delivery;
};

/// Borrows a transaction. Stateless; any thread. What moves messages is called by the scheduler alone, behind its
/// fence.
class OutboxStore {
  public:
    /// What was in flight when somebody else led is sent again.
    void take_over(platform::Tx& tx) const;
    /// The same for one subscriber, of whose messages nothing is under way here.
    void take_back(platform::Tx& tx, const SubscriberId& id) const;
    Claim claim(platform::Tx& tx, const Subscriber& subscriber, const ClaimRequest& request) const;
    /// As it stands, locked.
    std::optional<SubscriberState> lock_state(platform::Tx& tx, const SubscriberId& id) const;
    /// `state` but for its position, which claims move, and what is counted: that goes by the results. False: all of it
    /// was recorded before.
    bool record(platform::Tx& tx, const SubscriberId& id, const std::vector<MessageResult>& results,
                const SubscriberState& state) const;
    struct Moved {
        SubscriberId id;
        std::int64_t position = 0;
        /// Of the definition that says so.
        int version = 0;
    };
    /// Nothing of theirs is in the journal up to those numbers.
    void move_on(platform::Tx& tx, const std::vector<Moved>& moved) const;
    /// Ended messages and requests that are older than that, and those of subscribers that are gone, so many at most.
    /// True: there may be more.
    bool forget(platform::Tx& tx, domain::Duration age) const;

    struct Backlog {
        std::int64_t pending = 0;
        std::int64_t in_flight = 0;
        std::int64_t failed = 0;
        /// When the first event that it has not taken happened; nullopt: it has taken all.
        std::optional<domain::TimePoint> oldest;
        std::int64_t replays = 0;
    };
    Backlog backlog(platform::Tx& tx, const Subscriber& subscriber, const SubscriberState& state) const;

    /// The latest first, those before that number; without a state: of all.
    std::vector<MessageRow> messages(platform::Tx& tx, const SubscriberId& id, std::optional<MessageState> state,
                                     std::optional<std::int64_t> before, int most) const;
    std::vector<DeliveryRow> deliveries(platform::Tx& tx, const SubscriberId& id, std::optional<std::int64_t> before,
                                        int most) const;

    /// When the first event happened that it has not taken, or, where that is far behind, one before it; nullopt: it
    /// has taken all.
    std::optional<domain::TimePoint> oldest(platform::Tx& tx, const Subscriber& subscriber,
                                            std::int64_t position) const;

    void replay(platform::Tx& tx, const SubscriberId& id, const Replay& replay) const;
    /// Those that were given up. Returns how many there are.
    std::int64_t replay_failed(platform::Tx& tx, const SubscriberId& id, const std::string& by) const;
    /// One event, whatever the subscriber has chosen, if it has come past it; else it is told of it anyway, or has not
    /// chosen it. nullopt: there is no such event for it; else how many messages that makes.
    std::optional<std::int64_t> replay_one(platform::Tx& tx, const Subscriber& subscriber,
                                           const std::array<std::uint8_t, 16>& stream, int seq) const;
    /// A number before all events that are not older than `at`, and not far before them: numbers are in the order of
    /// times but for transactions that take long.
    std::int64_t number_before(platform::Tx& tx, domain::TimePoint at) const;
};

}
