#include "platform/http_server.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <stdexcept>

#include "platform/body_stream.h"
#include "platform/failpoint.h"
#include "platform/http_framing.h"
#include "platform/http_places.h"
#include "platform/http_text.h"
#include "platform/log.h"
#include "platform/url.h"

namespace impresario::platform {

namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

/// Between two lines of the log about connections without a place.
constexpr auto kFullNote = std::chrono::seconds{10};

/// What a broken request is answered with; 0: nothing, the peer has gone or was too slow (then its socket is closed).
int status_of(const beast::error_code& error) {
    if (error == http::error::body_limit) return 413;
    if (error == http::error::header_limit) return 431;
    if (error.category() == make_error_code(http::error::end_of_stream).category() &&
        error != http::error::end_of_stream && error != http::error::partial_message)
        return 400;
    return 0;
}

}

namespace {
struct Session final : Place {
    explicit Session(tcp::socket socket) : stream(std::move(socket)) {}
    void hang_up() override {
        beast::error_code ignored;
        stream.socket().close(ignored);
    }
    beast::tcp_stream stream;
};
}

struct HttpServer::Impl : std::enable_shared_from_this<HttpServer::Impl> {
    Impl(asio::any_io_executor e, HttpServerSettings s, Handler h, BodyLimit l)
        : executor(e), settings(std::move(s)), handler(std::move(h)), body_limit(std::move(l)), acceptor(e), retry(e) {}

    asio::any_io_executor executor;
    HttpServerSettings settings;
    Handler handler;
    BodyLimit body_limit;
    tcp::acceptor acceptor;
    asio::steady_timer retry;
    Places places{static_cast<std::size_t>(settings.connections)};
    std::size_t bodies = 0;
    steady_clock::time_point full_noted{};
    bool stopping = false;

    /// Says so and is done, without waiting for anybody.
    void turn_away(tcp::socket socket) {
        static const std::string text = [] {
            const auto response = plain_problem(503, "every connection here is in use; try again");
            return response_text(response, false);
        }();
        if (const auto now = steady_clock::now(); now - full_noted > kFullNote) {
            full_noted = now;
            log::warn("every connection is in use", {{"connections", places.taken()},
                                                     {"next", "raise http.connections and the limit of open files"}});
        }
        beast::error_code ignored;
        socket.non_blocking(true, ignored);
        socket.write_some(asio::buffer(text), ignored);
        socket.shutdown(tcp::socket::shutdown_send, ignored);
        // What is not read makes a close into a reset, and the answer would be lost.
        std::array<char, 4096> rest{};
        socket.read_some(asio::buffer(rest), ignored);
    }

    /// What a body takes, until its request has been answered.
    struct BodyRoom {
        explicit BodyRoom(std::size_t& all) : all_(all) {}
        ~BodyRoom() { is(0); }
        BodyRoom(const BodyRoom&) = delete;
        BodyRoom& operator=(const BodyRoom&) = delete;
        void is(std::size_t size) { all_ += size - std::exchange(size_, size); }

      private:
        std::size_t& all_;
        std::size_t size_ = 0;
    };

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
                retry.expires_after(milliseconds{20});
                co_await retry.async_wait(asio::as_tuple(asio::use_awaitable));
                continue;
            }
            if (!places.make_room()) {
                turn_away(std::move(socket));
                continue;
            }
            beast::error_code ignored;
            socket.set_option(tcp::no_delay(true), ignored);
            const auto session = std::make_shared<Session>(std::move(socket));
            places.add(session);
            asio::co_spawn(executor, serve(session), [self, session](const std::exception_ptr& failure) {
                self->places.remove(*session);
                if (!failure) return;
                try {
                    std::rethrow_exception(failure);
                } catch (const std::exception& e) {
                    log::debug("connection ended", {{"error", e.what()}});
                }
            });
        }
    }

    /// Reads until a whole head is in the buffer; false when it is refused or does not come in time.
    Task<bool> read_head(Session& session, beast::flat_buffer& buffer) {
        session.stream.expires_after(settings.header_deadline);
        for (;;) {
            std::string_view bytes{static_cast<const char*>(buffer.data().data()), buffer.size()};
            // Some clients end a body with a line that does not belong to it (RFC 9112, 2.2).
            for (; bytes.starts_with("\r\n"); bytes.remove_prefix(2)) buffer.consume(2);
            const auto length = head_length(bytes);
            if ((length > 0 ? length : bytes.size()) > settings.header_limit) {
                co_await answer(session, plain_problem(431, "the headers are larger than is taken here"), false);
                co_return false;
            }
            if (length > 0) {
                const auto fault = framing_fault(bytes.substr(0, length));
                if (fault.empty()) co_return true;
                co_await answer(session, plain_problem(400, fault), false);
                co_return false;
            }
            const bool more = co_await read_more(session, buffer);
            if (!more) co_return false;
        }
    }

    /// Takes in what comes next; false when nothing does.
    Task<bool> read_more(Session& session, beast::flat_buffer& buffer) {
        auto reading =
            failpoint::call("http.server.read",
                            session.stream.async_read_some(buffer.prepare(4096), asio::as_tuple(asio::use_awaitable)));
        auto [error, count] = co_await std::move(reading);
        if (!error) buffer.commit(count);
        co_return !error;
    }

    Task<void> serve(std::shared_ptr<Session> session) {
        const auto self = shared_from_this();
        auto& stream = session->stream;
        beast::error_code remote_error;
        const auto remote = stream.socket().remote_endpoint(remote_error);
        const std::string remote_address = remote_error ? "" : remote.address().to_string();
        beast::flat_buffer buffer;
        buffer.max_size(settings.header_limit + 64 * 1024);

        while (!stopping) {
            // An idle connection may wait; once a byte has come, the whole header is due within its deadline.
            if (buffer.size() == 0) {
                places.rests(*session);
                stream.expires_after(places.has_asked(*session) ? settings.idle_deadline : settings.header_deadline);
                const bool more = co_await read_more(*session, buffer);
                if (!more) break;
            }
            places.asks(*session);
            const bool whole = co_await read_head(*session, buffer);
            if (!whole) break;

            http::request_parser<http::string_body> parser;
            parser.header_limit(static_cast<std::uint32_t>(settings.header_limit));
            parser.body_limit(boost::none);
            auto [header_error, header_count] =
                co_await http::async_read_header(stream, buffer, parser, asio::as_tuple(asio::use_awaitable));
            if (header_error) {
                co_await refuse(*session, header_error);
                break;
            }

            const auto& message = parser.get();
            const auto target = origin_form({message.target().data(), message.target().size()});
            const auto question = target.find('?');
            HttpRequest request;
            request.method = std::string(message.method_string());
            request.path = question == 0 ? "/" : std::string(target.substr(0, question));
            request.query =
                question == std::string_view::npos ? std::string{} : std::string(target.substr(question + 1));
            request.remote_address = remote_address;
            if (message.version() != 11 && message.version() != 10) {
                co_await answer(*session, plain_problem(400, "only HTTP/1.1 is spoken here"), false);
                break;
            }
            auto fault = target_fault(target);
            if (fault.empty()) fault = host_fault(message[http::field::host]);
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
            const bool keep_alive = message.keep_alive();
            const bool head = message.method() == http::verb::head;
            // Before the body: what comes after it, as a trailer, is no header.
            for (const auto& field : message)
                request.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
            const auto expected = message.version() == 11 ? request.header("expect") : std::string_view{};
            if (header_is(expected, "100-continue")) {
                static constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
                stream.expires_after(settings.write_deadline);
                auto [error, count] =
                    co_await asio::async_write(stream, asio::buffer(go_on), asio::as_tuple(asio::use_awaitable));
                if (error) break;
            } else if (!expected.empty()) {
                co_await answer(*session, plain_problem(417, "nothing but 100-continue may be expected here"), false);
                break;
            }
            BodyRoom room(bodies);
            beast::error_code body_error;
            parser.eager(true);
            stream.expires_after(settings.body_deadline);
            while (!parser.is_done() && !body_error && bodies <= settings.bodies_limit) {
                auto reading_body =
                    failpoint::call("http.server.read_body",
                                    http::async_read_some(stream, buffer, parser, asio::as_tuple(asio::use_awaitable)));
                auto [error, count] = co_await std::move(reading_body);
                body_error = error;
                room.is(parser.get().body().size());
            }
            if (body_error) {
                co_await refuse(*session, body_error);
                break;
            }
            if (bodies > settings.bodies_limit) {
                co_await answer(*session, plain_problem(503, "too many large bodies at once; try again"), false);
                break;
            }
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
            if (response.stream) {
                co_await pour(session, std::move(response), head);
                break;
            }
            if (!keep_alive || stopping) response.close = true;
            const bool close = response.close;
            const bool written = co_await answer(*session, std::move(response), head);
            if (!written || close) break;
        }
        beast::error_code ignored;
        stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
    }

    /// Writes what comes, until it ends or its reader goes.
    Task<void> pour(std::shared_ptr<Session> session, HttpResponse response, bool head) {
        const auto body = response.stream;
        auto text = response_text(response, true);
        const auto done = std::make_shared<bool>(false);
        if (!head) {
            body->hang_up = [weak = std::weak_ptr<Session>(session)] {
                if (const auto there = weak.lock()) there->hang_up();
            };
            asio::co_spawn(executor, watch(session, body, done), asio::detached);
        }
        for (;;) {
            session->stream.expires_after(settings.write_deadline);
            auto writing = failpoint::call("http.server.pour", asio::async_write(session->stream, asio::buffer(text),
                                                                                 asio::as_tuple(asio::use_awaitable)));
            auto [error, count] = co_await std::move(writing);
            if (error || head || stopping) break;
            session->stream.expires_never();
            auto piece = co_await body->next();
            if (!piece) break;
            text = std::move(*piece);
        }
        body->stop();
        *done = true;
        beast::error_code ignored;
        session->stream.socket().cancel(ignored);
    }

    /// Sees the reader go while nothing is written. What it sends meanwhile is of no interest.
    Task<void> watch(std::shared_ptr<Session> session, std::shared_ptr<BodyStream> body, std::shared_ptr<bool> done) {
        auto& socket = session->stream.socket();
        std::array<char, 1024> rest{};
        beast::error_code error;
        while (!error) {
            auto [failure] = co_await socket.async_wait(tcp::socket::wait_read, asio::as_tuple(asio::use_awaitable));
            if (failure || *done || !socket.is_open()) co_return;
            socket.non_blocking(true, error);
            if (!error) socket.read_some(asio::buffer(rest), error);
            if (error == asio::error::would_block) error = {};
        }
        body->stop();
        session->hang_up();
    }

    Task<void> refuse(Session& session, beast::error_code error) {
        const int status = status_of(error);
        if (status == 0) co_return;
        co_await answer(session, plain_problem(status, error.message()), false);
    }

    /// Written by hand: one buffer, one send.
    Task<bool> answer(Session& session, HttpResponse response, bool head) {
        const std::string text = response_text(response, head);
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
            session.stream.expires_after(milliseconds{500});
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
    impl_->places.close_resting();
}

int HttpServer::connections() const { return static_cast<int>(impl_->places.taken()); }

}
