#pragma once
// The storm's client: enqueues so many executions with idempotency keys, asks again until each is acknowledged, and
// keeps what it was told.

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "platform/http_client.h"

namespace impresario::storm {

/// Network thread only, but for the counts.
class Client {
  public:
    Client(platform::asio::any_io_executor executor, std::vector<int> ports, std::string key);

    /// Enqueues `count` more, `per_second` of them at most.
    void enqueue(int count, double per_second);
    /// A request that has to succeed, through whichever node answers; throws after a minute.
    platform::Task<std::string> insist(std::string method, std::string target, std::string body);

    int wanted() const { return wanted_.load(); }
    int acknowledged() const { return acknowledged_.load(); }
    int repeated() const { return repeated_.load(); }
    /// Execution ids by idempotency key.
    const std::map<std::string, std::string>& executions() const { return executions_; }
    /// Answers that no hub may give.
    const std::vector<std::string>& complaints() const { return complaints_; }

  private:
    platform::Task<void> work();
    platform::Task<void> enqueue_one(int number);
    platform::Task<platform::HttpOutcome> ask(std::string method, std::string target, std::string body,
                                              std::string idempotency_key);

    platform::asio::any_io_executor executor_;
    platform::HttpClient client_;
    std::vector<int> ports_;
    std::string key_;
    std::size_t turn_ = 0;
    int next_ = 0;
    int workers_ = 0;
    double per_second_ = 1;
    int paced_from_ = 0;
    std::chrono::steady_clock::time_point begun_{};
    std::atomic<int> wanted_{0};
    std::atomic<int> acknowledged_{0};
    std::atomic<int> repeated_{0};
    std::map<std::string, std::string> executions_;
    std::vector<std::string> complaints_;
};

}
