#pragma once
// Server-sent events: the journal from where a reader left off, then as it grows.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/auth.h"
#include "journal/event_choice.h"
#include "journal/event_tail.h"
#include "platform/body_stream.h"
#include "platform/http.h"

namespace impresario::api {

struct EventStreamSettings {
    /// A stream on which nothing has happened says so after this.
    std::chrono::milliseconds comment{15000};
    /// What waits for a reader beyond this is not kept: it is hung up on, and resumes.
    std::size_t buffer = 1024 * 1024;
    /// Open at once on this node.
    int most = 2000;
    /// Most events of one read of what has happened before.
    int page = 500;
};

/// Which events a stream is about.
struct EventFilter {
    std::string organization_id;
    /// Those of all organizations.
    bool all_organizations = false;
    /// Of this execution alone.
    std::optional<domain::ExecutionId> execution;
    journal::EventChoice choice;

    bool matches(const journal::NumberedEvent& event) const;
};

class EventStreams;

/// One reader. Held by whoever writes to it; the node's streams know it as long as it lives.
class EventStream final : public platform::BodyStream {
  public:
    /// `after`: the cursor that it begins after; for an execution's stream a seq, else a number.
    EventStream(EventStreams& streams, EventFilter filter, domain::ApiKeyId key, std::int64_t after);
    ~EventStream() override;

    platform::Task<std::optional<std::string>> next() override;
    void stop() override;

  private:
    friend EventStreams;
    using Text = std::shared_ptr<const std::string>;

    void received(const journal::NumberedEvent& event, const Text& text);
    void moved() { wakeup_.signal(); }
    /// Waits for its turn to read, and reads.
    platform::Task<std::string> replay();
    void leave();
    platform::Task<std::string> replay_execution();
    platform::Task<std::string> replay_all();
    std::string take();
    std::string comment() const;
    std::string id(std::int64_t number) const;
    std::string resync(const char* why);

    EventStreams& streams_;
    EventFilter filter_;
    domain::ApiKeyId key_;
    platform::Wakeup wakeup_;
    std::deque<Text> waiting_;
    std::size_t waiting_bytes_ = 0;
    /// The cursor of the latest event that was written or waits.
    std::int64_t last_ = 0;
    bool greeted_ = false;
    bool checked_ = false;
    bool live_ = false;
    bool ended_ = false;
};

/// Those of one node, and what feeds them all. Network thread only.
class EventStreams {
  public:
    EventStreams(platform::asio::any_io_executor executor, platform::Database& database, EventStreamSettings settings);

    /// Feeds them until stop().
    platform::Task<void> run() { return tail_.run(); }
    /// Ends them all, and takes no more.
    void stop();
    /// Ends those whose key is not valid any more.
    void check_keys(const ApiKeys& keys);

    /// The cursor of this moment: what begins from now on has a higher one. Throws what the database throws.
    platform::Task<std::int64_t> now() const;
    bool full() const { return stopped_ || open_.size() >= static_cast<std::size_t>(settings_.most); }
    std::size_t open() const { return open_.size(); }
    /// For how long events have waited for a transaction that does not end.
    std::chrono::steady_clock::duration held_up() const { return tail_.held_up(); }
    /// A reader was too slow.
    std::function<void()> on_dropped;

  private:
    friend EventStream;
    void hand_out(const journal::NumberedEvent& event);
    void read_done();

    platform::asio::any_io_executor executor_;
    platform::Database& database_;
    EventStreamSettings settings_;
    journal::EventTail tail_;
    std::set<EventStream*> open_;
    /// The live ones: of everything, and of one execution each.
    std::set<EventStream*> wide_;
    std::unordered_map<domain::ExecutionId, std::set<EventStream*>> narrow_;
    /// Those that wait to read what has happened before: all come back at once when a node or the database does.
    std::set<EventStream*> queued_;
    int reading_ = 0;
    bool stopped_ = false;
};

/// Whether this asks for a stream, and not for a page.
bool wants_stream(const platform::HttpRequest& request);

/// A stream that ends at once, for who asks a node that cannot serve it yet, or not any more: a browser comes back
/// after that, and never after a status that is not 200.
platform::HttpResponse come_back();

/// "all.17", or of an execution "3f0a9c5b7d21.4": where a reader left off.
std::string stream_cursor(const std::optional<domain::ExecutionId>& execution, std::int64_t at);
/// Reads one of that stream; nullopt: it is of another stream, or none at all.
std::optional<std::int64_t> parse_cursor(const std::optional<domain::ExecutionId>& execution, std::string_view text);

}
