#pragma once
// Follows the journal for whoever wants to hear: every event of every node, once, by number.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "journal/horizon.h"
#include "journal/stream_store.h"
#include "platform/async.h"
#include "platform/database.h"

namespace impresario::journal {

struct EventTailSettings {
    /// Looks again so often while it is wanted: events come in transactions of every node, and of plain SQL.
    std::chrono::milliseconds poll{100};
    /// While numbers wait for a transaction that is about to end.
    std::chrono::milliseconds settle{20};
    /// Most events of one read, and about as many bytes are handed out at once: then readers have their turn.
    int page = 500;
    std::size_t bytes = 256 * 1024;
};

/// One per process. Costs nothing while nobody wants to hear. Network thread only.
class EventTail {
  public:
    EventTail(platform::asio::any_io_executor executor, platform::Database& database, EventTailSettings settings);

    /// Looks on until stop(); survives what the database does.
    platform::Task<void> run();
    void stop();
    /// Somebody wants to hear from now on: `position` is known soon.
    void want();
    /// Nobody does any more.
    void rest();

    /// Whether `position` is known: every event up to it has been there to read, or was handed to `on_event`.
    bool ready() const { return ready_; }
    std::int64_t position() const { return position_; }
    /// For how long numbers have waited for a transaction that does not end.
    std::chrono::steady_clock::duration held_up() const;

    /// Each event beyond `position`, in order.
    std::function<void(const NumberedEvent&)> on_event;
    /// `position` has become known, or has moved.
    std::function<void()> on_moved;
    /// The numbers go back: this is another database, or an earlier state of it.
    std::function<void()> on_lost;

  private:
    platform::Task<bool> round();

    platform::Database& database_;
    EventTailSettings settings_;
    platform::Wakeup wakeup_;
    Horizon horizon_;
    /// The last event that was handed out, and how far there is none after it.
    std::int64_t position_ = 0;
    std::int64_t looked_ = 0;
    /// Up to there none comes any more, where that is beyond `position_`.
    std::int64_t hole_ = 0;
    /// What was the latest number when it began to be wanted; nullopt: nobody has asked yet.
    std::optional<std::int64_t> begun_at_;
    bool wanted_ = false;
    bool ready_ = false;
    bool stopped_ = false;
    bool away_ = false;
    std::chrono::steady_clock::time_point settled_at_{};
    std::chrono::steady_clock::time_point complained_at_{};
};

}
