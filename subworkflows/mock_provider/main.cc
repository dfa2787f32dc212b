// Serves a mock provider on 127.0.0.1 until SIGTERM or SIGINT. See README.md.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "platform/clock.h"
#include "platform/http_server.h"
#include "platform/json_writer.h"
#include "platform/log.h"
#include "subworkflows/mock_provider/mock_provider.h"

namespace {

using namespace impresario;
using platform::HttpRequest;
using platform::HttpResponse;
using subworkflows::mock_provider::MockProvider;
using subworkflows::mock_provider::Terms;
namespace asio = platform::asio;

HttpResponse json_answer(int status, platform::JsonWriter json) {
    HttpResponse response;
    response.status = status;
    response.headers.emplace_back("content-type", "application/json");
    response.body = std::move(json).text();
    return response;
}

HttpResponse answer(MockProvider& provider, const HttpRequest& request, domain::TimePoint now) {
    platform::JsonWriter json;
    json.open();
    json.field("provider", provider.terms().name);
    if (request.method == "GET") {
        json.field("answered", provider.answered()).field("refused", provider.refused());
        json.close();
        return json_answer(200, std::move(json));
    }
    const auto bill = provider.ask(request.body, now);
    if (!bill) {
        // Whole seconds, as providers say it.
        const auto wait =
            std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(provider.retry_after(now)).count());
        json.field("error", "too many requests");
        json.close();
        auto response = json_answer(429, std::move(json));
        response.headers.emplace_back("retry-after", std::to_string(wait));
        return response;
    }
    json.field("text", "What it all means, in short.");
    json.open("usage", '{').field("tokens", bill->tokens).field("cost_usd", domain::decimal(bill->cost));
    json.field("remaining", bill->remaining).field("reset_at", domain::rfc3339(bill->reset_at)).close();
    json.close();
    return json_answer(200, std::move(json));
}

platform::Task<HttpResponse> serve(MockProvider& provider, platform::SystemClock& clock, HttpRequest request) {
    co_return answer(provider, request, clock.now());
}

platform::Task<void> stop_on_signal(asio::signal_set& signals, platform::HttpServer& server) {
    co_await signals.async_wait(asio::use_awaitable);
    server.stop();
}

}

int main(int argc, char** argv) {
    Terms terms;
    platform::HttpServerSettings settings;
    settings.port = 8091;
    double window = 60;
    double moves = 0;
    std::string price = "0.0005";
    CLI::App app{"A mock provider: POST a prompt, get an answer and a bill, or 429 with Retry-After.", "mock_provider"};
    app.add_option("--name", terms.name, "Its name");
    app.add_option("--port", settings.port, "Port on 127.0.0.1; 0 takes a free one");
    app.add_option("--limit", terms.limit, "Calls that it takes within a window")->check(CLI::Range(1, 1000000));
    app.add_option("--window", window, "The window, in seconds")->check(CLI::Range(0.1, 86400.0));
    app.add_option("--moves", moves, "Every so many seconds the limit falls to two thirds, or rises again; 0: never")
        ->check(CLI::Range(0.0, 86400.0));
    app.add_option("--usd-per-1000-tokens", price, "What it bills");
    CLI11_PARSE(app, argc, argv);
    const auto parsed = domain::parse_money(price);
    if (!parsed) {
        std::fprintf(stderr, "mock_provider: --usd-per-1000-tokens %s\n", std::string(explain(parsed.error())).c_str());
        return 2;
    }
    terms.per_thousand_tokens = parsed->amount;
    terms.window = domain::Duration{static_cast<std::int64_t>(window * 1e6)};
    terms.moves = domain::Duration{static_cast<std::int64_t>(moves * 1e6)};

    platform::log::start(platform::log::Level::info, platform::log::Format::text, terms.name);
    asio::io_context io{1};
    asio::signal_set signals(io, SIGTERM, SIGINT);
    platform::SystemClock clock;
    MockProvider provider(terms);
    platform::HttpServer server(io.get_executor(), settings,
                                [&](HttpRequest request) { return serve(provider, clock, std::move(request)); });
    try {
        server.start();
    } catch (const std::exception& e) {
        platform::log::error("the provider cannot listen", {{"error", e.what()}});
        return 1;
    }
    platform::log::info("listening", {{"provider", terms.name}, {"port", server.port()}});
    asio::co_spawn(io, stop_on_signal(signals, server), asio::detached);
    io.run();
    platform::log::info("stopped", {{"answered", provider.answered()}, {"refused", provider.refused()}});
    return 0;
}
