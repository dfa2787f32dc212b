#include "tests/support/event_reader.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>

#include "tests/support/crowd.h"
#include "tests/support/program.h"

namespace impresario::testing {

using std::chrono::milliseconds;

std::map<std::string, int> counted(const std::vector<ReadEvent>& events) {
    std::map<std::string, int> seen;
    for (const auto& event : events)
        ++seen[event.data.value("stream_id", "") + "/" + std::to_string(event.data.value("seq", 0))];
    return seen;
}

std::map<std::string, int> journal_of_executions(const TestDatabase& database, long after) {
    std::map<std::string, int> all;
    database.transact([&](platform::Tx& tx) {
        const auto rows = tx.run("select stream_id || '/' || seq from events where kind = 'execution' and event_id > " +
                                 std::to_string(after));
        for (std::size_t i = 0; i < rows.size(); ++i) all[std::string(rows.text(i, 0))] = 1;
    });
    return all;
}

EventReader::EventReader(std::vector<int> ports, std::string target, std::string key, std::string after)
    : ports_(std::move(ports)), target_(std::move(target)), key_(std::move(key)), last_id_(std::move(after)) {
    thread_ = std::thread([this] { run(); });
}

EventReader::~EventReader() {
    stopping_ = true;
    thread_.join();
}

void EventReader::take(const std::string& line) {
    if (line.starts_with(":")) ++comments_;
    if (line.starts_with("id: ")) id_ = line.substr(4);
    if (line.starts_with("event: ")) type_ = line.substr(7);
    if (line.starts_with("data: ")) data_ = line.substr(6);
    if (!line.empty()) return;
    {
        // What was broken off has not come.
        const std::lock_guard lock(mutex_);
        if (!id_.empty()) last_id_ = id_;
        if (!data_.empty()) events_.push_back({last_id_, type_, Json::parse(data_, nullptr, false)});
    }
    id_.clear();
    data_.clear();
    type_.clear();
    changed_.notify_all();
}

void EventReader::run() {
    for (std::size_t turn = 0; !stopping_; ++turn) {
        Line line(ports_[turn % ports_.size()]);
        std::string ask = "GET " + target_ + " HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: text/event-stream\r\n";
        if (!key_.empty()) ask += "authorization: Bearer " + key_ + "\r\n";
        if (const auto last = last_id(); !last.empty()) ask += "last-event-id: " + last + "\r\n";
        std::size_t read = 0;
        bool headed = false;
        bool open = line.connected() && line.send(ask + "\r\n");
        if (open) ++connections_;
        while (open && !stopping_) {
            open = !line.wait_closed(0.02);
            const std::string& got = line.received();
            if (!headed) {
                const auto end = got.find("\r\n\r\n");
                if (end == std::string::npos) continue;
                headed = true;
                read = end + 4;
                const std::lock_guard lock(mutex_);
                head_ = got.substr(0, end);
            }
            if (!head().starts_with("HTTP/1.1 200")) break;
            for (auto end = got.find('\n', read); end != std::string::npos; end = got.find('\n', read)) {
                take(got.substr(read, end - read));
                read = end + 1;
            }
        }
        changed_.notify_all();
        data_.clear();
        type_.clear();
        id_.clear();
        if (!stopping_) std::this_thread::sleep_for(milliseconds{20});
    }
}

std::vector<ReadEvent> EventReader::events() const {
    const std::lock_guard lock(mutex_);
    return events_;
}

std::string EventReader::last_id() const {
    const std::lock_guard lock(mutex_);
    return last_id_;
}

std::string EventReader::head() const {
    const std::lock_guard lock(mutex_);
    return head_;
}

bool EventReader::await(const std::function<bool(const std::vector<ReadEvent>&)>& condition, double seconds) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::duration<double>(seconds * patience()),
                             [&] { return condition(events_); });
}

bool EventReader::await_count(std::size_t count, double seconds) const {
    return await([count](const auto& events) { return events.size() >= count; }, seconds);
}

bool EventReader::await_open(double seconds) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::duration<double>(seconds * patience()), [&] { return !head_.empty(); });
}

}
