#pragma once
// The storm's sub-workflow: it takes work, refuses it, is slow, breaks off, answers nonsense, calls back too early,
// twice or late, and never gives up a callback. It remembers what it was asked, for the audit.

#include <boost/asio/ip/tcp.hpp>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "platform/http_client.h"

namespace impresario::storm {

/// What came under one webhook id.
struct Asked {
    std::string execution;
    int attempt = 0;
    int requests = 0;
    /// Refused in words after which the hub may send the same again.
    int refused = 0;
    /// Work was begun; more than once would be paid for twice.
    int begun = 0;
};

/// Network thread only; a copy of what it knows is for everybody.
class Receiver {
  public:
    Receiver(platform::asio::any_io_executor executor, std::uint64_t seed);

    std::string url() const;
    void start();
    /// From now on it does only what it should.
    void calm() { calm_ = true; }

    const std::map<std::string, Asked>& asked() const { return asked_; }
    /// How often it did each thing that it should not.
    const std::map<std::string, int>& faults() const { return faults_; }
    int fault_count() const;
    /// Answers to callbacks that no hub may give.
    const std::vector<std::string>& complaints() const { return complaints_; }
    /// Callbacks that have not been taken yet.
    int calling() const { return calling_; }

  private:
    struct Trigger {
        std::string webhook_id;
        std::string execution;
        std::string callback_url;
        std::string token;
    };

    platform::Task<void> accept_loop();
    platform::Task<void> serve(boost::asio::ip::tcp::socket socket);
    /// False: the connection is over.
    platform::Task<bool> answer(boost::asio::ip::tcp::socket& socket, Trigger trigger);
    platform::Task<bool> say(boost::asio::ip::tcp::socket& socket, std::string bytes);
    std::string pick_fault();
    Trigger note(const std::string& head, const std::string& body);
    void begin(const Trigger& trigger, std::string body, std::chrono::milliseconds after);
    platform::Task<void> call_back(Trigger trigger, std::string body, std::chrono::milliseconds after);
    int chance(int below) { return static_cast<int>(random_() % static_cast<std::uint64_t>(below)); }

    platform::asio::any_io_executor executor_;
    boost::asio::ip::tcp::acceptor acceptor_;
    platform::HttpClient client_;
    std::mt19937_64 random_;
    bool calm_ = false;
    int calling_ = 0;
    std::map<std::string, Asked> asked_;
    std::map<std::string, int> faults_;
    std::vector<std::string> complaints_;
};

}
