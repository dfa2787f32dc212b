#pragma once
// NOTIFY as a hint: one connection that listens, notices when it has gone silent, and is replaced.

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "platform/async.h"
#include "platform/database.h"

namespace impresario::platform {

/// Its own thread and its own connection (not behind a transaction-mode pooler). Calls `received(payload)` on the
/// network thread, and `received("")` after every reconnect, because what was said meanwhile is lost.
class Listener {
  public:
    /// `idle_limit`: the server ends a session that has been silent for so long; it says something every 5 s.
    Listener(asio::any_io_executor executor, DatabaseSettings settings, std::string channel,
             std::function<void(const std::string&)> received,
             std::chrono::milliseconds idle_limit = std::chrono::seconds{15});
    ~Listener();

    /// Whether a notification of its own came back lately.
    bool hearing() const { return hearing_.load(); }
    /// The listening session's backend, 0 when there is none.
    int backend_pid() const { return backend_pid_.load(); }

  private:
    void run();

    asio::any_io_executor executor_;
    DatabaseSettings settings_;
    std::string channel_;
    std::function<void(const std::string&)> received_;
    std::chrono::milliseconds idle_limit_;
    std::atomic<bool> stopping_{false};
    std::atomic<bool> hearing_{false};
    std::atomic<int> backend_pid_{0};
    std::thread thread_;
};

}
