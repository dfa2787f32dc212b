#include "platform/http_client.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <mutex>

#include "tests/support/peer.h"

namespace impresario::platform {
namespace http_client_test {

using testing::Asked;
using testing::Behaviour;

/// Holds every request until `size` of them are there at once, then answers them together.
class Crowd {
  public:
    explicit Crowd(int size) : size_(size) {}
    bool join() {
        std::unique_lock lock(mutex_);
        const int round = joined_ / size_;
        if (++joined_ % size_ == 0) full_.notify_all();
        return full_.wait_for(lock, std::chrono::seconds{20}, [&] { return joined_ / size_ > round; });
    }

  private:
    int size_;
    int joined_ = 0;
    std::mutex mutex_;
    std::condition_variable full_;
};

// Places that were free when two requests ended at once were never used again: one after the other, until a client with
// 64 connections worked on one.
TEST(HttpClient, UsesAllItsConnectionsHoweverManyRequestsEndAtOnce) {
    constexpr int kConnections = 4;
    constexpr int kRequests = 40 * kConnections;
    Crowd crowd(kConnections);
    testing::Peer peer([&](const Asked&) {
        Behaviour behaviour;
        if (!crowd.join()) behaviour.status = 500;
        return behaviour;
    });
    asio::io_context io(1);
    HttpClientSettings settings;
    settings.connections_per_origin = kConnections;
    settings.connect_deadline = std::chrono::seconds{60};
    settings.whole_deadline = std::chrono::seconds{60};
    settings.egress = EgressPolicy({*Cidr::parse("127.0.0.0/8")});
    HttpClient client(io.get_executor(), settings);
    int answered = 0;
    int done = 0;
    const auto one = [&]() -> Task<void> {
        auto url = parse_url(peer.url());
        auto asked = client.send("POST", *std::move(url), {}, "{}");
        const HttpOutcome outcome = co_await std::move(asked);
        const auto* answer = std::get_if<HttpAnswer>(&outcome);
        if (answer && answer->status == 202) ++answered;
        if (++done == kRequests) io.stop();
    };
    for (int i = 0; i < kRequests; ++i) asio::co_spawn(io, one, asio::detached);
    io.run_for(std::chrono::seconds{100});
    EXPECT_EQ(answered, kRequests);
}

}
}
