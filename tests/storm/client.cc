#include "tests/storm/client.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace impresario::storm {

namespace asio = platform::asio;
using platform::Task;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Json = nlohmann::json;

namespace {

constexpr int kWorkers = 24;

platform::HttpClientSettings client_settings() {
    platform::HttpClientSettings settings;
    settings.egress = platform::EgressPolicy({*platform::Cidr::parse("127.0.0.0/8")});
    return settings;
}

/// Who enqueues no more without a word would be waited for.
void end_if_failed(const std::exception_ptr& failure) {
    if (failure) std::rethrow_exception(failure);
}

/// Most of it is free, some shares a narrow lane, some a concurrency key.
std::string order_of(int number) {
    const char* type = number % 5 == 3 ? "narrow" : number % 5 == 4 ? "keyed" : "wide";
    return Json{{"workflow_type", type},
                {"input", {{"number", number}, {"k", number % 40}}},
                {"priority", number % 7 == 0 ? 90 : 50}}
        .dump();
}

}

Client::Client(asio::any_io_executor executor, std::vector<int> ports, std::string key)
    : executor_(executor), client_(executor, client_settings()), ports_(std::move(ports)), key_(std::move(key)) {}

void Client::enqueue(int count, double per_second) {
    wanted_ += count;
    per_second_ = per_second;
    paced_from_ = next_;
    begun_ = steady_clock::now();
    for (; workers_ < kWorkers; ++workers_) asio::co_spawn(executor_, work(), end_if_failed);
}

Task<void> Client::work() {
    while (next_ < wanted_) {
        const int number = next_++;
        const auto its_time = begun_ + std::chrono::duration_cast<steady_clock::duration>(
                                           std::chrono::duration<double>((number - paced_from_) / per_second_));
        co_await platform::pause_for(std::max(its_time - steady_clock::now(), steady_clock::duration{0}));
        co_await enqueue_one(number);
    }
    --workers_;
}

Task<void> Client::enqueue_one(int number) {
    const std::string key = "storm-" + std::to_string(number);
    for (auto wait = milliseconds{50};; wait = std::min(wait * 2, milliseconds{1000})) {
        auto asking = ask("POST", "/v1/executions", order_of(number), key);
        const auto outcome = co_await std::move(asking);
        if (const auto* said = std::get_if<platform::HttpAnswer>(&outcome)) {
            const auto created = Json::parse(said->body, nullptr, false);
            if (said->status == 201 && created.is_object() && created.contains("execution_id")) {
                executions_[key] = created["execution_id"];
                ++acknowledged_;
                co_return;
            }
            // A 201 that broke off is asked for again.
            if (said->status != 503 && !said->cut)
                complaints_.push_back("an enqueue was answered " + std::to_string(said->status) + ": " + said->body);
        }
        ++repeated_;
        co_await platform::pause_for(wait);
    }
}

Task<std::string> Client::insist(std::string method, std::string target, std::string body) {
    const auto until = steady_clock::now() + std::chrono::minutes{1};
    for (;;) {
        auto asking = ask(method, target, body, "");
        const auto outcome = co_await std::move(asking);
        const auto* said = std::get_if<platform::HttpAnswer>(&outcome);
        if (said && said->status / 100 == 2) co_return said->body;
        if (steady_clock::now() > until)
            throw std::runtime_error(method + " " + target +
                                     " was not answered well: " + (said ? said->body : "no answer"));
        co_await platform::pause_for(milliseconds{200});
    }
}

/// Of the nodes in turn.
Task<platform::HttpOutcome> Client::ask(std::string method, std::string target, std::string body,
                                        std::string idempotency_key) {
    const int port = ports_[turn_++ % ports_.size()];
    platform::Headers headers{{"authorization", "Bearer " + key_}, {"content-type", "application/json"}};
    if (!idempotency_key.empty()) headers.emplace_back("idempotency-key", std::move(idempotency_key));
    auto url = *platform::parse_url("http://127.0.0.1:" + std::to_string(port) + target);
    auto sending = client_.send(std::move(method), std::move(url), std::move(headers), std::move(body));
    co_return co_await std::move(sending);
}

}
