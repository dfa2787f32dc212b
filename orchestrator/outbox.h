#pragma once
// Tells subscribers of events, each event at least once, as long as this node leads.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "journal/event_tail.h"
#include "journal/outbox_store.h"
#include "journal/subscriber_store.h"
#include "orchestrator/leader_loop.h"
#include "platform/semaphore.h"
#include "webhooks/signed_post.h"

namespace impresario::orchestrator {

struct OutboxSettings {
    /// How long what has been published or given up is kept, and the requests of it.
    domain::Duration keep = std::chrono::hours{24 * 7};
};

/// The request that tells of an event: Standard Webhooks, with the event under `data`.
webhooks::SignedPost post_of(const std::shared_ptr<const journal::Subscriber>& subscriber,
                             const journal::NumberedEvent& event, platform::Headers trace = {});

/// One per process. Network thread only.
class Outbox final : public LeaderLoop {
  public:
    Outbox(Node& node, Hub& hub, OutboxSettings settings);

    /// Takes nothing up any more, and waits up to that long for requests under way.
    platform::Task<void> stop(std::chrono::steady_clock::duration longest);
    /// Subscribers may have changed: they are read again.
    void reload() {
        loaded_ = false;
        wake();
    }
    /// Those that this node tells, as it last looked.
    const std::vector<Probe::Backlog>& backlogs() const { return backlogs_; }
    /// Feeds itself from the journal until stop().
    platform::Task<void> run_tail() { return tail_.run(); }

  private:
    /// A subscriber that is told, by this node, in this epoch.
    struct Line {
        Line(const platform::asio::any_io_executor& executor, std::int64_t of) : wakeup(executor), epoch(of) {}
        std::shared_ptr<const journal::Subscriber> subscriber;
        platform::Wakeup wakeup;
        std::int64_t epoch = 0;
        /// Until it is gone, disabled, or another node leads.
        bool open = true;
        /// Batches on their way.
        int hands = 0;
        bool claiming = false;
        /// Somebody wants another look than the claim that is under way.
        bool disturbed = false;
        /// Not before that, unless it has as much as can be taken up at once.
        std::chrono::steady_clock::time_point pace{};
        /// There may be something of it in the journal, beyond what `nothing_until` says.
        bool behind = true;
        std::int64_t nothing_until = 0;
        /// Numbers that a claim looks at: more where there is little of its.
        int page = 0;
        /// Of its claims: what goes first takes turns.
        unsigned turn = 0;
        /// What was taken up may not be known here: once no batch is on its way it is taken back.
        bool doubtful = false;
        journal::SubscriberState state;
        std::optional<domain::TimePoint> next_due;
        /// Nothing new is taken up until one of its messages has come to an end, or is due.
        bool full = false;
        /// Somebody has been told that the database refuses what is to be written about it.
        bool troubled = false;
    };
    using LinePtr = std::shared_ptr<Line>;

    bool busy(const Line& line) const { return line.hands > 0 || line.claiming; }
    bool leading(const Line& line) const { return line.open && goes_on() && hub_.epoch() == line.epoch; }
    platform::Task<std::chrono::steady_clock::duration> turn() override;
    void forget() override { loaded_ = false; }
    void stand_down() override;
    platform::Task<void> load();
    platform::Task<void> begin_to_lead();
    platform::Task<void> housekeeping();
    void close(const LinePtr& line);
    void close_all();
    static void put_off(Line& line, const std::exception_ptr& failure);
    void spawn(platform::Task<void> task, const char* what);
    platform::Task<void> serve(LinePtr line);
    platform::Task<void> take_up(LinePtr line);
    platform::Task<void> take_back(LinePtr line);
    std::chrono::steady_clock::duration idle_for(const Line& line) const;
    /// What was taken up at once.
    struct Batch {
        std::vector<journal::Message> messages;
        /// What their executions came with, of those that came with a trace.
        std::map<domain::ExecutionId, std::string> traces;
    };
    platform::Task<void> deliver(LinePtr line, Batch batch);
    platform::Task<void> deliver_batch(LinePtr line, const Batch& batch);
    platform::Headers trace_headers(const Batch& batch, const journal::NumberedEvent& event) const;
    /// What has happened to a batch since it was last written down.
    struct Report {
        std::vector<journal::MessageResult> results;
        std::vector<std::pair<std::string_view, std::string>> events;
        bool disable = false;
    };
    journal::MessageResult settle(Line& line, const journal::Message& message, const webhooks::Posted& posted,
                                  Report& report);
    platform::Task<void> write_down(const LinePtr& line, const Report& report);
    platform::Task<bool> record(LinePtr line, Report report);
    platform::Task<void> look_at_backlogs();
    void hear(const journal::NumberedEvent& event);
    void heard();

    OutboxSettings settings_;
    journal::SubscriberStore subscribers_;
    journal::EventTail tail_;
    std::map<journal::SubscriberId, LinePtr> lines_;
    /// Those that are told no more, as long as something of theirs is under way: nobody tells it beside them.
    std::vector<LinePtr> closing_;
    /// What is done in the database for subscribers leaves room for all that is more urgent.
    platform::Semaphore database_;
    std::vector<Probe::Backlog> backlogs_;
    std::optional<std::int64_t> epoch_;
    std::chrono::steady_clock::time_point loaded_at_{};
    std::chrono::steady_clock::time_point looked_at_{};
    std::chrono::steady_clock::time_point moved_at_{};
    std::chrono::steady_clock::time_point forgot_at_{};
    bool loaded_ = false;
};

}
