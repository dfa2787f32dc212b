#include "platform/http_server.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <list>
#include <stdexcept>

#include "platform/failpoint.h"
#include "platform/log.h"
#include "platform/url.h"

namespace impresario::platform {

namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;

namespace {

HttpResponse plain_problem(int status, std::string_view detail) {
    HttpResponse response;
    response.status = status;
    response.close = true;
    response.headers.emplace_back("content-type", "application/problem+json");
    const std::string_view type = status == 413   ? "body-too-large"
                                  : status == 431 ? "headers-too-large"
                                  : status == 408 ? "request-timeout"
                                  : status == 500 ? "internal"
                                                  : "bad-request";
    response.body = R"({"type":"/problems/)" + std::string(type) + R"(","title":")" +
                    std::string(reason_phrase(status)) + R"(","status":)" + std::to_string(status) + R"(,"detail":")" +
                    std::string(detail) + "\"}";
    return response;
}

/// What a broken request is answered with; 0: nothing, the peer has gone.
int status_of(const beast::error_code& error) {
    if (error == http::error::body_limit) return 413;
    if (error == http::error::header_limit) return 431;
    if (error == beast::error::timeout) return 408;
    if (error.category() == make_error_code(http::error::end_of_stream).category() &&
        error != http::error::end_of_stream && error != http::error::partial_message)
        return 400;
    return 0;
}

}

struct HttpServer::Impl : std::enable_shared_from_this<HttpServer::Impl> {
    struct Session {
        explicit Session(tcp::socket socket) : stream(std::move(socket)) {}
        beast::tcp_stream stream;
        /// Between two requests: may be closed without harm.
        bool idle = true;
    };

    Impl(asio::any_io_executor e, HttpServerSettings s, Handler h, BodyLimit l)
        : executor(e), settings(std::move(s)), handler(std::move(h)), body_limit(std::move(l)), acceptor(e), retry(e) {}

    asio::any_io_executor executor;
    HttpServerSettings settings;
    Handler handler;
    BodyLimit body_limit;
    tcp::acceptor acceptor;
    asio::steady_timer retry;
    std::list<std::shared_ptr<Session>> sessions;
    bool stopping = false;

    Task<void> accept_loop() {
        const auto self = shared_from_this();
        while (!stopping) {
            auto accepting =
                failpoint::call("http.server.accept", acceptor.async_accept(asio::as_tuple(asio::use_awaitable)));
            auto [error, socket] = co_await std::move(accepting);
            if (stopping) break;
            if (error) {
                if (error == asio::error::operation_aborted) break;
                // Out of descriptors or a peer that left early: a bad moment, not the end (S11).
                retry.expires_after(std::chrono::milliseconds{20});
                co_await retry.async_wait(asio::as_tuple(asio::use_awaitable));
                continue;
            }
            if (static_cast<int>(sessions.size()) >= settings.connections) {
                beast::error_code ignored;
                socket.close(ignored);
                continue;
            }
            beast::error_code ignored;
            socket.set_option(tcp::no_delay(true), ignored);
            auto session = std::make_shared<Session>(std::move(socket));
            sessions.push_back(session);
            const auto place = std::prev(sessions.end());
            asio::co_spawn(executor, serve(session), [self, place](const std::exception_ptr& failure) {
                self->sessions.erase(place);
                if (!failure) return;
                try {
                    std::rethrow_exception(failure);
                } catch (const std::exception& e) {
                    log::debug("connection ended", {{"error", e.what()}});
                }
            });
        }
    }

    Task<void> serve(std::shared_ptr<Session> session) {
        const auto self = shared_from_this();
        auto& stream = session->stream;
        beast::error_code remote_error;
        const auto remote = stream.socket().remote_endpoint(remote_error);
        const std::string remote_address = remote_error ? "" : remote.address().to_string();
        beast::flat_buffer buffer;
        buffer.max_size(settings.header_limit + 64 * 1024);
        bool first = true;

        while (!stopping) {
            // An idle connection may wait; once a byte has come, the whole header is due within its deadline.
            if (buffer.size() == 0) {
                session->idle = true;
                stream.expires_after(first ? settings.header_deadline : settings.idle_deadline);
                auto [error, count] =
                    co_await stream.async_read_some(buffer.prepare(4096), asio::as_tuple(asio::use_awaitable));
                if (error) break;
                buffer.commit(count);
            }
            first = false;
            session->idle = false;

            http::request_parser<http::string_body> parser;
            parser.header_limit(static_cast<std::uint32_t>(settings.header_limit));
            parser.body_limit(boost::none);
            stream.expires_after(settings.header_deadline);
            auto reading =
                failpoint::call("http.server.read",
                                http::async_read_header(stream, buffer, parser, asio::as_tuple(asio::use_awaitable)));
            auto [header_error, header_count] = co_await std::move(reading);
            if (header_error) {
                co_await refuse(*session, header_error);
                break;
            }

            const auto& message = parser.get();
            const std::string_view target{message.target().data(), message.target().size()};
            const auto question = target.find('?');
            HttpRequest request;
            request.method = std::string(message.method_string());
            request.path = std::string(target.substr(0, question));
            request.query =
                question == std::string_view::npos ? std::string{} : std::string(target.substr(question + 1));
            request.remote_address = remote_address;
            if (message.version() != 11 && message.version() != 10) {
                co_await answer(*session, plain_problem(400, "only HTTP/1.1 is spoken here"), false);
                break;
            }
            auto fault = target_fault(target);
            if (fault.empty()) fault = host_fault(message[http::field::host]);
            if (fault.empty() && message.count(http::field::host) > 1) fault = "there is more than one Host";
            if (!fault.empty()) {
                co_await answer(*session, plain_problem(400, fault), false);
                break;
            }
            const std::size_t limit = body_limit ? body_limit(request.method, request.path) : settings.body_limit;
            parser.body_limit(limit);
            if (const auto length = parser.content_length(); length && *length > limit) {
                co_await answer(*session, plain_problem(413, "the body is larger than this route takes"), false);
                break;
            }
            if (beast::iequals(message[http::field::expect], "100-continue")) {
                static constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
                stream.expires_after(settings.write_deadline);
                auto [error, count] =
                    co_await asio::async_write(stream, asio::buffer(go_on), asio::as_tuple(asio::use_awaitable));
                if (error) break;
            }
            if (!parser.is_done()) {
                stream.expires_after(settings.body_deadline);
                auto reading_body =
                    failpoint::call("http.server.read_body",
                                    http::async_read(stream, buffer, parser, asio::as_tuple(asio::use_awaitable)));
                auto [body_error, body_count] = co_await std::move(reading_body);
                if (body_error) {
                    co_await refuse(*session, body_error);
                    break;
                }
            }
            const bool keep_alive = parser.get().keep_alive();
            const bool head = parser.get().method() == http::verb::head;
            for (const auto& field : parser.get())
                request.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
            request.body = std::move(parser.get().body());

            stream.expires_never();
            HttpResponse response;
            try {
                response = co_await handler(std::move(request));
            } catch (const std::exception& e) {
                log::error("handler failed", {{"error", e.what()}});
                response = plain_problem(500, "something went wrong here; it is in the log");
                response.close = false;
            }
            if (!keep_alive || stopping) response.close = true;
            const bool close = response.close;
            const bool written = co_await answer(*session, std::move(response), head);
            if (!written || close) break;
        }
        beast::error_code ignored;
        stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
    }

    Task<void> refuse(Session& session, beast::error_code error) {
        const int status = status_of(error);
        if (status == 0) co_return;
        co_await answer(session, plain_problem(status, error.message()), false);
    }

    /// Written by hand: one buffer, one send.
    Task<bool> answer(Session& session, HttpResponse response, bool head) {
        std::string text;
        text.reserve(256 + response.body.size());
        text += "HTTP/1.1 " + std::to_string(response.status) + " ";
        text += reason_phrase(response.status);
        text += "\r\n";
        for (const auto& [key, value] : response.headers) {
            text += key;
            text += ": ";
            for (const char c : value)
                if (c != '\r' && c != '\n') text += c;
            text += "\r\n";
        }
        if (response.status != 204) text += "content-length: " + std::to_string(response.body.size()) + "\r\n";
        if (response.close) text += "connection: close\r\n";
        text += "\r\n";
        if (!head && response.status != 204) text += response.body;
        session.stream.expires_after(settings.write_deadline);
        auto writing = failpoint::call("http.server.write", asio::async_write(session.stream, asio::buffer(text),
                                                                              asio::as_tuple(asio::use_awaitable)));
        auto [error, count] = co_await std::move(writing);
        if (error) co_return false;
        if (response.close) {
            // What is still under way towards us must not turn our answer into a reset: take it for a moment, then
            // close.
            beast::error_code ignored;
            session.stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
            session.stream.expires_after(std::chrono::milliseconds{500});
            std::array<char, 4096> rest{};
            for (int i = 0; i < 256; ++i) {
                auto [gone, got] =
                    co_await session.stream.async_read_some(asio::buffer(rest), asio::as_tuple(asio::use_awaitable));
                if (gone) break;
            }
        }
        co_return true;
    }
};

HttpServer::HttpServer(asio::any_io_executor executor, HttpServerSettings settings, Handler handler,
                       BodyLimit body_limit)
    : impl_(std::make_shared<Impl>(std::move(executor), std::move(settings), std::move(handler),
                                   std::move(body_limit))) {}

HttpServer::~HttpServer() { stop(); }

void HttpServer::start() {
    auto& s = *impl_;
    const auto where = s.settings.address + ":" + std::to_string(s.settings.port);
    try {
        const tcp::endpoint endpoint{asio::ip::make_address(s.settings.address), s.settings.port};
        s.acceptor.open(endpoint.protocol());
        s.acceptor.set_option(tcp::acceptor::reuse_address(true));
        s.acceptor.bind(endpoint);
        s.acceptor.listen(4096);
    } catch (const boost::system::system_error& e) {
        throw std::runtime_error("cannot listen on " + where + ": " + e.code().message());
    }
    asio::co_spawn(s.executor, s.accept_loop(), asio::detached);
}

std::uint16_t HttpServer::port() const { return impl_->acceptor.local_endpoint().port(); }

void HttpServer::stop() {
    if (std::exchange(impl_->stopping, true)) return;
    beast::error_code ignored;
    impl_->acceptor.close(ignored);
    impl_->retry.cancel();
    for (const auto& session : impl_->sessions)
        if (session->idle) session->stream.socket().close(ignored);
}

int HttpServer::connections() const { return static_cast<int>(impl_->sessions.size()); }

}
