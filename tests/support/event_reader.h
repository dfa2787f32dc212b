#pragma once
// Follows a stream of events as a browser would, over plain sockets: deliberately not the product's own client.

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/database.h"
#include "tests/support/http.h"

namespace impresario::testing {

struct ReadEvent {
    std::string id;
    std::string type;
    Json data;
};

/// How often each event came, by "stream/seq".
std::map<std::string, int> counted(const std::vector<ReadEvent>& events);
/// The same of what the journal has of executions beyond a number: each once.
std::map<std::string, int> journal_of_executions(const TestDatabase& database, long after);

/// Reads in a thread of its own from construction on, and comes back with the last id when its connection breaks.
class EventReader {
  public:
    /// `ports`: asked in turn, so that it finds the node that lives. `after`: the first Last-Event-ID.
    EventReader(std::vector<int> ports, std::string target, std::string key, std::string after = "");
    ~EventReader();

    std::vector<ReadEvent> events() const;
    /// Waits until that holds of everything that has come; false after `seconds`.
    bool await(const std::function<bool(const std::vector<ReadEvent>&)>& condition, double seconds = 20) const;
    bool await_count(std::size_t count, double seconds = 20) const;
    /// The last id that came, also without an event.
    std::string last_id() const;
    /// Whether its connection has said anything.
    bool await_open(double seconds = 20) const;
    int connections() const { return connections_.load(); }
    int comments() const { return comments_.load(); }
    /// The head of the latest answer.
    std::string head() const;

  private:
    void run();
    void take(const std::string& line);

    std::vector<int> ports_;
    std::string target_;
    std::string key_;
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    std::vector<ReadEvent> events_;
    std::string last_id_;
    std::string head_;
    std::string id_;
    std::string data_;
    std::string type_;
    std::atomic<int> connections_{0};
    std::atomic<int> comments_{0};
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

}
