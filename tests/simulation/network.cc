// platform::HttpClient in a simulated world: every request goes to a simulated peer. The program is linked with this in
// place of the real one.

#include "platform/http_client.h"

#include "simulation/peers.h"
#include "simulation/process.h"
#include "simulation/world.h"

namespace impresario::platform {

struct HttpClient::Impl {
    simulation::Process& process;
};

HttpClient::HttpClient(asio::any_io_executor, HttpClientSettings)
    : impl_(new Impl{*simulation::World::current().building}) {}

HttpClient::~HttpClient() = default;

void HttpClient::stop() {}

Task<HttpOutcome> HttpClient::send(std::string method, Url url, Headers headers, std::string body) {
    auto asked_outcome = asio::async_initiate<const asio::use_awaitable_t<>&, void(HttpOutcome)>(
        [&process = impl_->process](auto handler, std::string verb, Url to, Headers with, std::string what) {
            const auto resume = std::make_shared<decltype(handler)>(std::move(handler));
            process.world().peers().request(process, std::move(verb), std::move(to), std::move(with), std::move(what),
                                            [resume, &process](HttpOutcome outcome) {
                                                process.post([resume, outcome = std::move(outcome)]() mutable {
                                                    std::move (*resume)(std::move(outcome));
                                                });
                                            });
        },
        asio::use_awaitable, std::move(method), std::move(url), std::move(headers), std::move(body));
    HttpOutcome outcome = co_await std::move(asked_outcome);
    co_return outcome;
}

Task<HttpOutcome> HttpClient::send(std::string method, Url url, Headers headers, std::string body,
                                   std::chrono::milliseconds) {
    auto sending = send(std::move(method), std::move(url), std::move(headers), std::move(body));
    HttpOutcome outcome = co_await std::move(sending);
    co_return outcome;
}

Task<HttpOutcome> HttpClient::send_before(std::chrono::steady_clock::time_point moment, std::string method, Url url,
                                          Headers headers, std::string body) {
    if (std::chrono::steady_clock::now() >= moment)
        co_return NotSent{NotSent::Why::connect, "its time was over before it could be sent", ""};
    auto sending = send(std::move(method), std::move(url), std::move(headers), std::move(body));
    HttpOutcome outcome = co_await std::move(sending);
    co_return outcome;
}

}
