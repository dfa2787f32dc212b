#include "api/event_stream.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "journal/event_json.h"
#include "journal/event_store.h"
#include "platform/json_writer.h"
#include "platform/log.h"

namespace impresario::api {

namespace log = platform::log;
using domain::ExecutionId;
using journal::NumberedEvent;
using platform::Task;
using platform::Tx;

namespace {

/// After what a reader comes back, once its connection has broken.
const std::string kGreeting = "retry: 1000\n\n";
constexpr std::chrono::milliseconds kAwayPause{500};
/// So many read at once what has happened before; the database has others to serve.
constexpr int kReaders = 2;
/// About so many bytes of what has happened before are kept for a reader at a time.
constexpr std::size_t kPage = 256 * 1024;
/// Most bytes of one write.
constexpr std::size_t kPiece = 64 * 1024;

std::string of_execution_text(int seq, std::string_view type, domain::TimePoint at, std::string_view payload) {
    platform::JsonWriter json;
    json.open();
    json.field("seq", seq).field("type", type).field("at", at).raw("payload", payload);
    json.close();
    return std::move(json).text();
}

/// A JSON text of ours has no line breaks but within the payload of somebody's plain SQL.
std::string frame(std::string_view cursor, std::string_view type, std::string_view data) {
    std::string text;
    text.reserve(cursor.size() + type.size() + data.size() + 32);
    text += "id: ";
    text += cursor;
    text += "\nevent: ";
    text += type;
    text += "\ndata: ";
    for (const char c : data) text += c == '\n' || c == '\r' ? ' ' : c;
    text += "\n\n";
    return text;
}

std::string prefix(const std::optional<ExecutionId>& execution) {
    // The end of an id is what is random about it.
    return execution ? execution->text().substr(24) : "all";
}

}

platform::HttpResponse come_back() {
    platform::HttpResponse response;
    response.headers = {{"content-type", "text/event-stream"}, {"cache-control", "no-store"}};
    response.body = kGreeting;
    response.close = true;
    return response;
}

Task<std::int64_t> EventStreams::now() const {
    auto reading = database_.read(
        [](Tx& tx) { return journal::StreamStore().last_event(tx, std::numeric_limits<std::int64_t>::max()); });
    co_return co_await std::move(reading);
}

std::string stream_cursor(const std::optional<ExecutionId>& execution, std::int64_t at) {
    return prefix(execution) + "." + std::to_string(at);
}

std::optional<std::int64_t> parse_cursor(const std::optional<ExecutionId>& execution, std::string_view text) {
    const auto begins = prefix(execution) + ".";
    if (!text.starts_with(begins)) return std::nullopt;
    text.remove_prefix(begins.size());
    std::int64_t at = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), at);
    if (error != std::errc{} || end != text.data() + text.size() || at < 0) return std::nullopt;
    return at;
}

bool EventFilter::matches(const NumberedEvent& event) const {
    if (!all_organizations && event.organization_id != organization_id) return false;
    return choice.matches(event.kind, event.type, event.workflow_type);
}

EventStreams::EventStreams(platform::asio::any_io_executor executor, platform::Database& database,
                           EventStreamSettings settings)
    : executor_(executor), database_(database), settings_(settings), tail_(executor, database, {}) {
    tail_.on_event = [this](const NumberedEvent& event) { hand_out(event); };
    tail_.on_moved = [this] {
        // Those that replay have read up to where it was; the others have what they get.
        for (auto* each : open_)
            if (!each->live_) each->moved();
    };
    tail_.on_lost = [this] {
        for (auto* each : open_) each->stop();
    };
}

void EventStreams::hand_out(const NumberedEvent& event) {
    EventStream::Text text;
    // Whoever is hung up on leaves the set only later.
    for (auto* each : wide_) {
        if (!each->filter_.matches(event)) continue;
        if (!text)
            text = std::make_shared<const std::string>(
                frame(stream_cursor(std::nullopt, event.number), event.type, journal::event_json(event)));
        each->received(event, text);
    }
    if (event.kind != "execution" || narrow_.empty()) return;
    const auto found = narrow_.find(ExecutionId{event.stream});
    if (found == narrow_.end()) return;
    const ExecutionId execution{event.stream};
    text =
        std::make_shared<const std::string>(frame(stream_cursor(execution, event.seq), event.type,
                                                  of_execution_text(event.seq, event.type, event.at, event.payload)));
    for (auto* each : found->second)
        if (each->filter_.choice.has_type(event.type)) each->received(event, text);
}

void EventStreams::read_done() {
    --reading_;
    if (queued_.empty()) return;
    auto* next = *queued_.begin();
    queued_.erase(next);
    next->wakeup_.signal();
}

void EventStreams::stop() {
    stopped_ = true;
    tail_.stop();
    for (auto* each : open_) each->stop();
}

void EventStreams::check_keys(const ApiKeys& keys) {
    if (open_.empty()) return;
    const auto valid = keys.ids();
    for (auto* each : open_)
        if (!valid.contains(each->key_)) each->stop();
}

EventStream::EventStream(EventStreams& streams, EventFilter filter, domain::ApiKeyId key, std::int64_t after)
    : streams_(streams), filter_(std::move(filter)), key_(key), wakeup_(streams.executor_), last_(after) {
    streams_.open_.insert(this);
    streams_.tail_.want();
}

EventStream::~EventStream() {
    leave();
    streams_.open_.erase(this);
    if (streams_.open_.empty()) streams_.tail_.rest();
}

void EventStream::stop() {
    ended_ = true;
    waiting_.clear();
    waiting_bytes_ = 0;
    wakeup_.signal();
}

/// Nothing is handed to it any more.
void EventStream::leave() {
    stop();
    streams_.queued_.erase(this);
    streams_.wide_.erase(this);
    if (!filter_.execution) return;
    const auto found = streams_.narrow_.find(*filter_.execution);
    if (found == streams_.narrow_.end()) return;
    found->second.erase(this);
    if (found->second.empty()) streams_.narrow_.erase(found);
}

void EventStream::received(const NumberedEvent& event, const Text& text) {
    const std::int64_t at = filter_.execution ? event.seq : event.number;
    if (ended_ || at <= last_) return;
    last_ = at;
    waiting_bytes_ += text->size();
    waiting_.push_back(text);
    if (waiting_bytes_ > streams_.settings_.buffer) {
        if (streams_.on_dropped) streams_.on_dropped();
        log::info("a stream of events was too slow for what happens and was hung up on",
                  {{"key_id", key_}, {"waiting_bytes", waiting_bytes_}, {"resumes_after", "its last event id"}});
        stop();
        if (hang_up) hang_up();
        return;
    }
    wakeup_.signal();
}

std::string EventStream::take() {
    std::string piece;
    while (!waiting_.empty() && piece.size() < kPiece) {
        piece += *waiting_.front();
        waiting_bytes_ -= waiting_.front()->size();
        waiting_.pop_front();
    }
    return piece;
}

std::string EventStream::id(std::int64_t at) const { return "id: " + stream_cursor(filter_.execution, at) + "\n\n"; }

/// Also tells the reader how far it has come by leaving out what it does not want to hear.
std::string EventStream::comment() const {
    if (filter_.execution || !live_) return ":\n\n";
    return ":\n" + id(std::max(last_, streams_.tail_.position()));
}

Task<std::optional<std::string>> EventStream::next() {
    if (!std::exchange(greeted_, true)) co_return kGreeting + id(last_);
    auto spoken = std::chrono::steady_clock::now();
    while (!ended_) {
        if (!live_) {
            std::string text;
            bool away = false;
            try {
                text = co_await replay();
            } catch (const std::exception& e) {
                // Whoever reads keeps its place until the database is back.
                log::debug("a stream of events waits for the database", {{"error", e.what()}});
                away = true;
            }
            if (ended_) break;
            if (!text.empty()) co_return text;
            if (live_) continue;
            if (away || !streams_.tail_.ready()) co_await wakeup_.wait(kAwayPause);
        } else {
            if (!waiting_.empty()) co_return take();
            co_await wakeup_.wait(streams_.settings_.comment);
        }
        if (ended_ || !waiting_.empty()) continue;
        const auto now = std::chrono::steady_clock::now();
        if (now - spoken >= streams_.settings_.comment) co_return comment();
    }
    co_return std::nullopt;
}

/// What has happened before. Live from the moment in which nothing is left between that and what is handed out next.
Task<std::string> EventStream::replay() {
    if (!streams_.tail_.ready()) co_return std::string{};
    if (streams_.reading_ >= kReaders) {
        streams_.queued_.insert(this);
        co_await wakeup_.wait(kAwayPause);
        streams_.queued_.erase(this);
        co_return std::string{};
    }
    struct Reading {
        EventStreams& streams;
        ~Reading() { streams.read_done(); }
    } const reading{streams_};
    ++streams_.reading_;
    if (filter_.execution) co_return co_await replay_execution();
    co_return co_await replay_all();
}

Task<std::string> EventStream::replay_execution() {
    const auto position = streams_.tail_.position();
    auto reading = streams_.database_.read(
        [execution = *filter_.execution, after = last_, most = streams_.settings_.page](Tx& tx) {
            return journal::EventStore().stream(tx, execution.value, static_cast<int>(after), most);
        });
    const auto events = co_await std::move(reading);
    std::string text;
    bool all = events.size() < static_cast<std::size_t>(streams_.settings_.page);
    for (const auto& event : events) {
        if (text.size() > kPage) {
            all = false;
            break;
        }
        last_ = event.seq;
        if (!filter_.choice.has_type(event.type)) continue;
        text += frame(stream_cursor(filter_.execution, event.seq), event.type,
                      of_execution_text(event.seq, event.type, event.at, event.payload));
    }
    if (all && streams_.tail_.ready() && streams_.tail_.position() == position && !ended_) {
        streams_.narrow_[*filter_.execution].insert(this);
        live_ = true;
    }
    co_return text;
}

std::string EventStream::resync(const char* why) {
    platform::JsonWriter json;
    json.open();
    json.field("reason", why);
    json.close();
    last_ = streams_.tail_.position();
    return frame(stream_cursor(std::nullopt, last_), "resync", json.text());
}

Task<std::string> EventStream::replay_all() {
    const auto position = streams_.tail_.position();
    std::string text;
    if (!checked_) {
        struct Bounds {
            std::optional<std::int64_t> first;
            std::int64_t latest = 0;
        };
        auto reading = streams_.database_.read([](Tx& tx) {
            const journal::StreamStore store;
            return Bounds{store.first(tx), store.latest(tx)};
        });
        const auto bounds = co_await std::move(reading);
        checked_ = true;
        if (last_ > bounds.latest)
            co_return resync(
                "this cursor is ahead of all events: it is of another database, or of a later state of it");
        // Zero is no event's number: from the first that there is.
        if (last_ > 0 && last_ < position && last_ + 1 < bounds.first.value_or(position + 1))
            co_return resync("what has happened since this cursor is not kept any more");
    }
    if (last_ < position) {
        auto reading = streams_.database_.read([after = last_, position, most = streams_.settings_.page](Tx& tx) {
            return journal::StreamStore().page(tx, after, position, most);
        });
        const auto page = co_await std::move(reading);
        for (const auto& event : page.events) {
            if (text.size() > kPage) co_return text;
            last_ = event.number;
            if (filter_.matches(event))
                text += frame(stream_cursor(std::nullopt, event.number), event.type, journal::event_json(event));
        }
        last_ = std::max(last_, page.until);
    }
    if (last_ >= position && streams_.tail_.ready() && streams_.tail_.position() == position && !ended_) {
        streams_.wide_.insert(this);
        live_ = true;
    }
    co_return text;
}

}
