#include "tests/storm/receiver.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <nlohmann/json.hpp>

namespace impresario::storm {

namespace asio = platform::asio;
using asio::ip::tcp;
using platform::Task;
using std::chrono::milliseconds;
using Json = nlohmann::json;

namespace {

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

platform::HttpClientSettings client_settings() {
    platform::HttpClientSettings settings;
    settings.egress = platform::EgressPolicy({*platform::Cidr::parse("127.0.0.0/8")});
    settings.connections_per_origin = 32;
    return settings;
}

/// The value of a header whose name is given in lower case; the hub writes them so.
std::string header_of(const std::string& head, const std::string& name) {
    const auto at = head.find("\r\n" + name + ": ");
    if (at == std::string::npos) return {};
    const auto begin = at + 4 + name.size();
    return head.substr(begin, head.find("\r\n", begin) - begin);
}

std::string http(int status, const std::string& body, const std::string& more = "") {
    return "HTTP/1.1 " + std::to_string(status) + " Storm\r\ncontent-type: application/json\r\n" + more +
           "content-length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string completed(const std::string& execution) {
    return Json{{"execution_id", execution},
                {"status", "completed"},
                {"result_data", {{"of", execution}}},
                {"metrics", {{"cost_usd", 0.001}}}}
        .dump();
}

std::string failed(const std::string& execution) {
    return Json{{"execution_id", execution},
                {"status", "failed"},
                {"error_data", {{"message", "storm"}, {"retry_recommended", true}}},
                {"metrics", {{"cost_usd", 0.001}}}}
        .dump();
}

}

Receiver::Receiver(asio::any_io_executor executor, std::uint64_t seed)
    : executor_(executor), acceptor_(executor), client_(executor, client_settings()), random_(seed) {
    const tcp::endpoint anywhere{asio::ip::make_address("127.0.0.1"), 0};
    acceptor_.open(anywhere.protocol());
    acceptor_.bind(anywhere);
    acceptor_.listen(1024);
}

std::string Receiver::url() const {
    return "http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()) + "/run";
}

void Receiver::start() { asio::co_spawn(executor_, accept_loop(), asio::detached); }

int Receiver::fault_count() const {
    int count = 0;
    for (const auto& [what, times] : faults_) count += times;
    return count;
}

Task<void> Receiver::accept_loop() {
    for (;;) {
        auto [error, socket] = co_await acceptor_.async_accept(kTuple);
        if (!error) asio::co_spawn(executor_, serve(std::move(socket)), asio::detached);
    }
}

Task<void> Receiver::serve(tcp::socket socket) {
    std::string buffer;
    for (bool going = true; going;) {
        auto reading_head = asio::async_read_until(socket, asio::dynamic_buffer(buffer), "\r\n\r\n", kTuple);
        const auto [head_error, head_size] = co_await std::move(reading_head);
        if (head_error) co_return;
        const std::string head = buffer.substr(0, head_size);
        const std::string length = header_of(head, "content-length");
        const std::size_t whole = head_size + (length.empty() ? 0 : std::stoul(length));
        if (buffer.size() < whole) {
            auto reading_body = asio::async_read(socket, asio::dynamic_buffer(buffer),
                                                 asio::transfer_exactly(whole - buffer.size()), kTuple);
            const auto [body_error, body_size] = co_await std::move(reading_body);
            if (body_error) co_return;
        }
        std::string body = buffer.substr(head_size, whole - head_size);
        buffer.erase(0, whole);
        if (head.starts_with("POST ")) {
            auto answering = answer(socket, note(head, body));
            going = co_await std::move(answering);
        } else {
            auto saying = say(socket, http(404, "{}"));
            going = co_await std::move(saying);
        }
    }
}

Receiver::Trigger Receiver::note(const std::string& head, const std::string& body) {
    const auto json = Json::parse(body);
    Trigger trigger;
    trigger.webhook_id = header_of(head, "webhook-id");
    trigger.execution = json.at("execution_id");
    trigger.callback_url = json.at("callback_url");
    trigger.token = json.at("authentication").at("token");
    auto& asked = asked_[trigger.webhook_id];
    ++asked.requests;
    if (!asked.execution.empty() && asked.execution != trigger.execution)
        complaints_.push_back("webhook id " + trigger.webhook_id + " came for two executions");
    asked.execution = trigger.execution;
    asked.attempt = json.at("attempt");
    return trigger;
}

std::string Receiver::pick_fault() {
    if (calm_) return {};
    struct Share {
        const char* what;
        int of_1000;
    };
    static constexpr Share shares[] = {{"early", 60}, {"twice", 50},         {"late", 40},   {"slow", 40},
                                       {"busy", 30},  {"broken", 20},        {"failed", 30}, {"reset begun", 20},
                                       {"reset", 10}, {"garbage begun", 20}, {"garbage", 8}, {"half an answer", 10}};
    int at = chance(1000);
    for (const auto& [what, of_1000] : shares) {
        if (at < of_1000) {
            ++faults_[what];
            return what;
        }
        at -= of_1000;
    }
    return {};
}

/// What is done with a request, and what is said about it.
Task<bool> Receiver::answer(tcp::socket& socket, Trigger trigger) {
    const std::string fault = pick_fault();
    auto& asked = asked_[trigger.webhook_id];
    const auto quick = milliseconds{chance(30)};
    if (fault == "busy" || fault == "broken" || fault == "reset" || fault == "garbage") {
        // Nothing has begun.
        if (fault == "busy" || fault == "broken") ++asked.refused;
    } else {
        ++asked.begun;
    }
    std::string said = http(202, "{}");
    if (fault.empty() && chance(8) == 0) {
        said = http(200, completed(trigger.execution));
    } else if (fault.empty() || fault == "reset begun" || fault == "garbage begun" || fault == "half an answer") {
        begin(trigger, completed(trigger.execution), quick);
    } else if (fault == "early") {
        // Its answer comes before the 202.
        begin(trigger, completed(trigger.execution), milliseconds{0});
        co_await platform::pause_for(milliseconds{40});
    } else if (fault == "twice") {
        begin(trigger, completed(trigger.execution), quick);
        begin(trigger, completed(trigger.execution), milliseconds{chance(60)});
    } else if (fault == "late") {
        begin(trigger, completed(trigger.execution), milliseconds{1000 + chance(6000)});
    } else if (fault == "slow") {
        co_await platform::pause_for(milliseconds{300 + chance(2000)});
        begin(trigger, completed(trigger.execution), quick);
    } else if (fault == "failed") {
        begin(trigger, failed(trigger.execution), quick);
    } else if (fault == "busy") {
        said = http(chance(2) == 0 ? 429 : 503, "{}", "retry-after: 1\r\n");
    } else if (fault == "broken") {
        said = http(500, "{}");
    }
    if (fault.starts_with("garbage")) said = "SMTP/9.9 banana\r\n\r\n";
    if (fault == "half an answer") said.resize(20);
    if (fault.starts_with("reset")) {
        const linger now{1, 0};
        ::setsockopt(socket.native_handle(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
        co_return false;
    }
    auto saying = say(socket, std::move(said));
    const bool going = co_await std::move(saying);
    co_return going && !fault.starts_with("garbage") && fault != "half an answer";
}

Task<bool> Receiver::say(tcp::socket& socket, std::string bytes) {
    auto writing = asio::async_write(socket, asio::buffer(bytes), kTuple);
    const auto [error, count] = co_await std::move(writing);
    co_return !error;
}

void Receiver::begin(const Trigger& trigger, std::string body, milliseconds after) {
    ++calling_;
    asio::co_spawn(executor_, call_back(trigger, std::move(body), after), asio::detached);
}

Task<void> Receiver::call_back(Trigger trigger, std::string body, milliseconds after) {
    co_await platform::pause_for(after);
    const auto url = *platform::parse_url(trigger.callback_url);
    for (auto wait = milliseconds{100};; wait = std::min(wait * 2, milliseconds{2000})) {
        platform::Headers headers{{"authorization", "Bearer " + trigger.token}, {"content-type", "application/json"}};
        auto sending = client_.send("POST", url, std::move(headers), body);
        const auto outcome = co_await std::move(sending);
        if (const auto* said = std::get_if<platform::HttpAnswer>(&outcome)) {
            // Taken, or over: its attempt had been closed.
            if (said->status / 100 == 2 || said->status == 409) break;
            if (said->status != 503)
                complaints_.push_back("a callback was answered " + std::to_string(said->status) + ": " + said->body);
            if (said->status / 100 == 4) break;
        }
        co_await platform::pause_for(wait);
    }
    --calling_;
}

}
