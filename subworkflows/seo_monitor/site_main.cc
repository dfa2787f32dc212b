// Serves the sample site on 127.0.0.1 until SIGTERM or SIGINT.
#include <charconv>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "platform/http_server.h"
#include "platform/log.h"
#include "subworkflows/seo_monitor/site.h"

namespace {

namespace platform = impresario::platform;
namespace asio = platform::asio;
namespace seo = impresario::subworkflows::seo_monitor;

platform::Task<platform::HttpResponse> answer(platform::HttpRequest request, std::string origin) {
    auto made = seo::site_answer(request.method, request.path, origin);
    if (made.delay.count() > 0) co_await platform::pause_for(made.delay);
    co_return std::move(made.response);
}

platform::Task<void> stop_on_signal(asio::signal_set& signals, platform::HttpServer& server) {
    co_await signals.async_wait(asio::use_awaitable);
    // Answers under way are finished; the loop ends when nothing is left to do.
    server.stop();
}

/// -1: what was given is no port.
int port_of(int argc, char** argv) {
    int port = 8090;
    if (argc == 1) return port;
    const char* value = nullptr;
    if (argc == 3 && std::strcmp(argv[1], "--port") == 0) value = argv[2];
    if (argc == 2 && std::strncmp(argv[1], "--port=", 7) == 0) value = argv[1] + 7;
    if (!value) return -1;
    const auto* end = value + std::strlen(value);
    const auto read = std::from_chars(value, end, port);
    return read.ec == std::errc{} && read.ptr == end && port >= 0 && port <= 65535 ? port : -1;
}

}

int main(int argc, char** argv) {
    platform::HttpServerSettings settings;
    const int port = port_of(argc, argv);
    if (port < 0) {
        std::fprintf(stderr,
                     "usage: seo_sample_site [--port N]\nServes the sample site on 127.0.0.1; 0 takes a free port.\n");
        return 2;
    }
    settings.port = static_cast<std::uint16_t>(port);
    platform::log::start(platform::log::Level::info, platform::log::Format::text, "seo-sample-site");
    asio::io_context io{1};
    asio::signal_set signals(io, SIGTERM, SIGINT);
    std::string origin;
    platform::HttpServer server(io.get_executor(), settings, [&origin](platform::HttpRequest request) {
        return answer(std::move(request), origin);
    });
    try {
        server.start();
    } catch (const std::exception& e) {
        platform::log::error("the site cannot listen", {{"error", e.what()}});
        return 1;
    }
    origin = "http://127.0.0.1:" + std::to_string(server.port());
    platform::log::info("listening", {{"site", origin}});
    asio::co_spawn(io, stop_on_signal(signals, server), asio::detached);
    io.run();
    platform::log::info("stopped");
    return 0;
}
