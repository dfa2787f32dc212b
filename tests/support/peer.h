#pragma once
// A scripted sub-workflow that is not built on our kit: it answers what the test says, and remembers what it was asked.

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace impresario::testing {

struct Asked {
    std::string method;
    std::string path;
    std::map<std::string, std::string> headers;  // lower-case names
    std::string body;
    nlohmann::json json;

    std::string execution_id() const { return json.value("execution_id", ""); }
    std::string token() const { return json["authentication"].value("token", ""); }
    std::string callback_url() const { return json.value("callback_url", ""); }
    std::string webhook_id() const { return headers.count("webhook-id") ? headers.at("webhook-id") : ""; }
    int attempt() const { return json.value("attempt", 0); }
};

/// What the peer does with a request.
struct Behaviour {
    int status = 202;
    std::string body = "{\"accepted\":true}";
    std::vector<std::pair<std::string, std::string>> headers;
    /// Bytes sent instead of an HTTP answer.
    std::string garbage;
    /// Closes without a word (a reset where possible).
    bool reset = false;
    /// Never answers while the peer lives.
    bool silent = false;
    /// Before the answer.
    std::chrono::milliseconds delay{0};
    /// Sent one after the other instead of an answer, until there is none or nobody takes them any more.
    std::function<std::optional<std::string>()> pieces;
};

/// Done at once.
inline Behaviour done() { return Behaviour{200, R"({"status":"completed","result_data":1})"}; }

class Peer {
  public:
    using Script = std::function<Behaviour(const Asked&)>;

    explicit Peer(Script script = [](const Asked&) { return Behaviour{}; });
    ~Peer();

    int port() const { return port_; }
    std::string url(const std::string& path = "/run") const {
        return "http://127.0.0.1:" + std::to_string(port_) + path;
    }
    void set_script(Script script);

    /// Requests so far (POST only unless `all`).
    std::vector<Asked> asked(bool all = false) const;
    std::size_t count() const { return asked().size(); }
    /// Waits until `count` POSTs have come; false after `seconds`.
    bool wait_for(std::size_t count, double seconds = 20) const;
    bool wait_until(const std::function<bool(const std::vector<Asked>&)>& condition, double seconds = 20) const;

    /// Answers a trigger's callback.
    static struct Reply call_back(const Asked& asked, const nlohmann::json& body);
    /// What it has to say while it works: `where` is "/output" or "/logs".
    static struct Reply say(const Asked& asked, const std::string& where, const nlohmann::json& body);
    static struct Reply call_back_raw(const Asked& asked, const std::string& body, const std::string& token);

  private:
    void accept_loop();
    void serve(int fd);

    int listener_ = -1;
    int port_ = 0;
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    Script script_;
    std::vector<Asked> asked_;
    std::atomic<bool> stopping_{false};
    std::vector<int> open_;
    std::vector<std::thread> threads_;
    std::thread acceptor_;
};

}
