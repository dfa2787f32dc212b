#include "platform/http_client.h"

#include <openssl/ssl.h>
#include <sys/socket.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <charconv>
#include <list>
#include <map>

#include "platform/failpoint.h"
#include "platform/log.h"

namespace impresario::platform {

namespace beast = boost::beast;
namespace http = beast::http;
namespace ssl = asio::ssl;
using tcp = asio::ip::tcp;
using std::chrono::steady_clock;

namespace {
constexpr int kMostInterim = 20;
}

namespace {
/// Where a body goes that is taken as it comes.
struct Sink {
    std::chrono::milliseconds silence;
    TakePiece take;
};
}

struct HttpClient::Impl : std::enable_shared_from_this<HttpClient::Impl> {
    struct Wire {
        virtual ~Wire() = default;
        virtual beast::tcp_stream& lowest() = 0;
    };
    struct Plain final : Wire {
        explicit Plain(asio::any_io_executor e) : stream(e) {}
        beast::tcp_stream& lowest() override { return stream; }
        beast::tcp_stream stream;
    };
    struct Tls final : Wire {
        Tls(asio::any_io_executor e, ssl::context& context) : stream(e, context) {}
        beast::tcp_stream& lowest() override { return beast::get_lowest_layer(stream); }
        beast::ssl_stream<beast::tcp_stream> stream;
    };
    struct Kept {
        std::unique_ptr<Wire> wire;
        std::string address;
        steady_clock::time_point until;
    };
    struct Waiter {
        Waiter(std::list<Waiter*>& q, const asio::any_io_executor& executor, steady_clock::time_point until)
            : queue(q), timer(executor, until) {
            queue.push_back(this);
        }
        ~Waiter() {
            if (!given) std::erase(queue, this);
        }
        Waiter(const Waiter&) = delete;
        Waiter& operator=(const Waiter&) = delete;
        std::list<Waiter*>& queue;
        asio::steady_timer timer;
        bool given = false;
    };
    struct Origin {
        std::list<Kept> idle;
        int open = 0;
        /// First come, first served; what is in here has not been given a place yet.
        std::list<Waiter*> waiting;
    };

    Impl(asio::any_io_executor e, HttpClientSettings s)
        : executor(std::move(e)), settings(std::move(s)), context(ssl::context::tls_client), tidying(executor) {
        context.set_default_verify_paths();
        if (!settings.extra_trust.empty()) context.load_verify_file(settings.extra_trust);
        context.set_verify_mode(ssl::verify_peer);
        SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
    }

    asio::any_io_executor executor;
    HttpClientSettings settings;
    ssl::context context;
    std::map<std::string, Origin> origins;
    asio::steady_timer tidying;
    bool tidying_planned = false;
    bool stopping = false;

    /// Nobody may come back to an origin: its connections are closed in time, and it is forgotten.
    void plan_tidying() {
        if (std::exchange(tidying_planned, true)) return;
        tidying.expires_after(std::chrono::seconds{1});
        tidying.async_wait([self = weak_from_this()](boost::system::error_code error) {
            const auto impl = error ? nullptr : self.lock();
            if (impl) impl->tidy();
        });
    }

    void tidy() {
        tidying_planned = false;
        const auto now = steady_clock::now();
        for (auto at = origins.begin(); at != origins.end();) {
            auto& origin = at->second;
            origin.idle.remove_if([&](Kept& kept) { return kept.until <= now || !still_open(kept.wire->lowest()); });
            const bool unused = origin.idle.empty() && origin.waiting.empty() && origin.open == 0;
            at = unused ? origins.erase(at) : std::next(at);
        }
        if (!origins.empty()) plan_tidying();
    }

    /// When a request ends its place goes to the one that has waited longest, by name: a mere wake-up would be lost
    /// when two end before the first one woken has run, and the places would never be used again.
    struct Place {
        Origin* origin;
        ~Place() {
            if (origin->waiting.empty()) {
                --origin->open;
                return;
            }
            Waiter* next = origin->waiting.front();
            origin->waiting.pop_front();
            next->given = true;
            next->timer.cancel();
        }
    };

    static bool still_open(beast::tcp_stream& stream) {
        char byte = 0;
        const auto got = ::recv(stream.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
        // Data on an idle connection is as bad as its end: nobody asked for it.
        return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    }

    Kept take_idle(Origin& origin) {
        while (!origin.idle.empty()) {
            Kept kept = std::move(origin.idle.back());
            origin.idle.pop_back();
            if (kept.until > steady_clock::now() && still_open(kept.wire->lowest())) return kept;
        }
        return {};
    }

    using Endpoints = std::vector<tcp::endpoint>;

    static steady_clock::duration in_time(steady_clock::time_point deadline) {
        return std::max(deadline - steady_clock::now(), steady_clock::duration{1});
    }

    Task<std::variant<Endpoints, NotSent>> resolve(const Url& url, steady_clock::time_point deadline) {
        Endpoints endpoints;
        boost::system::error_code literal;
        const auto address = asio::ip::make_address(url.host, literal);
        if (!literal) {
            endpoints.emplace_back(address, url.port);
            co_return endpoints;
        }
        tcp::resolver resolver(executor);
        asio::steady_timer timer(executor, in_time(deadline));
        timer.async_wait([&resolver](boost::system::error_code e) {
            if (!e) resolver.cancel();
        });
        auto [error, found] =
            co_await resolver.async_resolve(url.host, std::to_string(url.port), asio::as_tuple(asio::use_awaitable));
        timer.cancel();
        if (error)
            co_return NotSent{NotSent::Why::resolve, "the name " + url.host + " was not resolved: " + error.message(),
                              ""};
        for (const auto& entry : found) endpoints.push_back(entry.endpoint());
        co_return endpoints;
    }

    /// nullopt: it may be connected to.
    std::optional<NotSent> denied(const tcp::endpoint& endpoint) const {
        const std::string text = endpoint.address().to_string();
        if (settings.egress.allows(text)) return std::nullopt;
        return NotSent{NotSent::Why::denied, EgressPolicy::denial(text), text};
    }

    Task<std::variant<Kept, NotSent>> connect(const Url& url, steady_clock::time_point deadline) {
        auto resolving = resolve(url, deadline);
        const auto resolved = co_await std::move(resolving);
        if (const auto* failure = std::get_if<NotSent>(&resolved)) co_return *failure;
        const auto& endpoints = std::get<Endpoints>(resolved);

        NotSent failure{NotSent::Why::connect, "no address to connect to", ""};
        for (const auto& endpoint : endpoints) {
            const std::string text = endpoint.address().to_string();
            if (auto refused = denied(endpoint)) {
                failure = *std::move(refused);
                continue;
            }
            std::unique_ptr<Wire> wire;
            if (url.tls()) {
                wire = std::make_unique<Tls>(executor, context);
            } else {
                wire = std::make_unique<Plain>(executor);
            }
            auto& lowest = wire->lowest();
            lowest.expires_after(in_time(deadline));
            auto connecting = failpoint::call("http.client.connect",
                                              lowest.async_connect(endpoint, asio::as_tuple(asio::use_awaitable)));
            auto [error] = co_await std::move(connecting);
            if (error) {
                failure = NotSent{NotSent::Why::connect,
                                  error == beast::error::timeout ? "connecting took too long" : error.message(), text};
                continue;
            }
            boost::system::error_code ignored;
            lowest.socket().set_option(tcp::no_delay(true), ignored);
            if (url.tls()) {
                auto& tls = static_cast<Tls&>(*wire).stream;
                SSL_set_tlsext_host_name(tls.native_handle(), url.host.c_str());
                tls.set_verify_callback(ssl::host_name_verification(url.host));
                auto [tls_error] =
                    co_await tls.async_handshake(ssl::stream_base::client, asio::as_tuple(asio::use_awaitable));
                if (tls_error) {
                    const bool late = tls_error == beast::error::timeout;
                    failure = NotSent{late ? NotSent::Why::connect : NotSent::Why::tls,
                                      late ? "the TLS handshake took too long" : tls_error.message(), text};
                    continue;
                }
            }
            co_return Kept{std::move(wire), text, {}};
        }
        co_return failure;
    }

    template <class Stream>
    Task<std::pair<HttpOutcome, bool>> exchange(Stream& stream, const std::string& text, std::string address, bool head,
                                                steady_clock::time_point begun, const Sink* sink) {
        std::size_t written = 0;
        {
            auto writing = failpoint::call("http.client.write", asio::async_write(stream, asio::buffer(text),
                                                                                  asio::as_tuple(asio::use_awaitable)));
            auto [error, count] = co_await std::move(writing);
            written = count;
            if (error) {
                // A body that is not whole is not acted on: its length was announced.
                if (written < text.size())
                    co_return std::pair<HttpOutcome, bool>(
                        NotSent{NotSent::Why::write, "the connection broke while sending: " + error.message(), address},
                        false);
                co_return std::pair<HttpOutcome, bool>(NoAnswer{error.message(), address}, false);
            }
        }
        beast::flat_buffer buffer;
        buffer.max_size(settings.header_limit + 64 * 1024);
        std::optional<http::response_parser<http::string_body>> holder;
        boost::system::error_code error;
        bool cut = false;
        // 100 Continue and its like are not the answer; who says nothing else, however fast, is not listened to.
        int interim = 0;
        do {
            holder.emplace();
            holder->header_limit(static_cast<std::uint32_t>(settings.header_limit));
            // An announced length beyond the limit must not hide the status: it is looked at below.
            holder->body_limit(boost::none);
            if (head) holder->skip(true);
            auto reading =
                failpoint::call("http.client.read",
                                http::async_read_header(stream, buffer, *holder, asio::as_tuple(asio::use_awaitable)));
            auto [header_error, count] = co_await std::move(reading);
            error = header_error;
        } while (!error && holder->get().result_int() / 100 == 1 && holder->get().result_int() != 101 &&
                 ++interim <= kMostInterim);
        if (interim > kMostInterim)
            co_return std::pair<HttpOutcome, bool>(NoAnswer{"nothing but interim answers (1xx)", address}, false);
        const auto first_byte = std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - begun);
        auto& parser = *holder;
        if (sink && !error && parser.get().result_int() / 100 == 2) {
            parser.body_limit(boost::none);
            co_await pour(stream, buffer, parser, *sink);
            HttpAnswer answer;
            answer.status = static_cast<int>(parser.get().result_int());
            answer.cut = !parser.is_done();
            answer.first_byte = first_byte;
            answer.address = std::move(address);
            co_return std::pair<HttpOutcome, bool>(std::move(answer), false);
        }
        cut = !error && !head && parser.content_length().value_or(0) > settings.body_limit;
        if (!error && !cut && !parser.is_done()) {
            parser.body_limit(settings.body_limit);
            auto reading = failpoint::call(
                "http.client.read_body", http::async_read(stream, buffer, parser, asio::as_tuple(asio::use_awaitable)));
            auto [body_error, count] = co_await std::move(reading);
            error = body_error;
            // The status has been said; what of its body did not come changes nothing about what happened there.
            if (error == http::error::body_limit || (error && parser.is_header_done())) {
                cut = true;
                error = {};
            }
        }
        if (error) {
            const std::string why = error == beast::error::timeout        ? "no answer in time"
                                    : error == http::error::end_of_stream ? "closed without an answer"
                                                                          : error.message();
            co_return std::pair<HttpOutcome, bool>(NoAnswer{why, address}, false);
        }
        auto message = parser.release();
        HttpAnswer answer;
        answer.status = static_cast<int>(message.result_int());
        for (const auto& field : message)
            answer.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
        const bool keep = message.keep_alive() && !cut && buffer.size() == 0;
        answer.body = std::move(message.body());
        answer.cut = cut;
        answer.first_byte = first_byte;
        answer.address = std::move(address);
        co_return std::pair<HttpOutcome, bool>(std::move(answer), keep);
    }

    template <class Stream>
    Task<void> pour(Stream& stream, beast::flat_buffer& buffer, http::response_parser<http::string_body>& parser,
                    const Sink& sink) {
        while (!parser.is_done()) {
            beast::get_lowest_layer(stream).expires_after(sink.silence);
            auto reading =
                failpoint::call("http.client.follow",
                                http::async_read_some(stream, buffer, parser, asio::as_tuple(asio::use_awaitable)));
            auto [error, count] = co_await std::move(reading);
            auto& piece = parser.get().body();
            if (!piece.empty() && !sink.take(piece)) co_return;
            piece.clear();
            if (error) co_return;
        }
    }

    steady_clock::duration idle_for(const HttpAnswer& answer) const {
        steady_clock::duration limit = settings.idle_limit;
        const auto hint = answer.header("keep-alive");
        const auto at = hint.find("timeout=");
        if (at != std::string_view::npos) {
            int seconds = 0;
            std::from_chars(hint.data() + at + 8, hint.data() + hint.size(), seconds);
            if (seconds > 0)
                limit = std::min<steady_clock::duration>(std::chrono::seconds{seconds} - std::chrono::milliseconds{500},
                                                         std::chrono::seconds{60});
        }
        return limit;
    }

    Task<HttpOutcome> send(std::string method, Url url, Headers headers, std::string body,
                           std::chrono::milliseconds whole,
                           steady_clock::time_point not_after = steady_clock::time_point::max(),
                           const Sink* sink = nullptr) {
        const auto self = shared_from_this();
        Origin& origin = origins[url.origin()];
        if (!stopping) plan_tidying();
        const auto connect_by = steady_clock::now() + settings.connect_deadline;
        if (origin.open < settings.connections_per_origin) {
            ++origin.open;
        } else {
            Waiter waiter(origin.waiting, executor, connect_by);
            co_await waiter.timer.async_wait(asio::as_tuple(asio::use_awaitable));
            if (!waiter.given)
                co_return NotSent{NotSent::Why::connect, "all connections to " + url.origin() + " are in use", ""};
        }
        const Place place{&origin};

        const auto begun = steady_clock::now();
        Kept kept = take_idle(origin);
        if (!kept.wire) {
            auto connected = co_await connect(url, connect_by);
            if (auto* failure = std::get_if<NotSent>(&connected)) co_return std::move(*failure);
            kept = std::move(std::get<Kept>(connected));
        }

        std::string text;
        text.reserve(512 + body.size());
        text += method;
        text += ' ';
        text += url.target;
        text += " HTTP/1.1\r\nhost: ";
        text += url.authority();
        text += "\r\n";
        // What comes is read as it comes: nothing here unpacks, so that nothing can grow when it is unpacked.
        if (header(headers, "accept-encoding").empty()) text += "accept-encoding: identity\r\n";
        for (const auto& [key, value] : headers) {
            text += key;
            text += ": ";
            for (const char c : value)
                if (c != '\r' && c != '\n') text += c;
            text += "\r\n";
        }
        if (!body.empty() || method == "POST" || method == "PUT")
            text += "content-length: " + std::to_string(body.size()) + "\r\n";
        text += "\r\n";
        text += body;

        if (steady_clock::now() >= not_after)
            co_return NotSent{NotSent::Why::connect, "its time was over before it could be sent", kept.address};
        auto& lowest = kept.wire->lowest();
        lowest.expires_after(whole);
        const bool head = method == "HEAD";
        HttpOutcome outcome;
        bool keep = false;
        if (url.tls()) {
            auto done = co_await exchange(static_cast<Tls&>(*kept.wire).stream, text, kept.address, head, begun, sink);
            outcome = std::move(done.first);
            keep = done.second;
        } else {
            auto done =
                co_await exchange(static_cast<Plain&>(*kept.wire).stream, text, kept.address, head, begun, sink);
            outcome = std::move(done.first);
            keep = done.second;
        }
        if (keep && !stopping) {
            lowest.expires_never();
            kept.until = steady_clock::now() + idle_for(std::get<HttpAnswer>(outcome));
            origin.idle.push_back(std::move(kept));
            while (static_cast<int>(origin.idle.size()) > settings.connections_per_origin) origin.idle.pop_front();
        }
        co_return outcome;
    }
};

HttpClient::HttpClient(asio::any_io_executor executor, HttpClientSettings settings)
    : impl_(std::make_shared<Impl>(std::move(executor), std::move(settings))) {}

HttpClient::~HttpClient() { stop(); }

Task<HttpOutcome> HttpClient::send(std::string method, Url url, Headers headers, std::string body) {
    return impl_->send(std::move(method), std::move(url), std::move(headers), std::move(body),
                       impl_->settings.whole_deadline);
}

Task<HttpOutcome> HttpClient::send(std::string method, Url url, Headers headers, std::string body,
                                   std::chrono::milliseconds whole_deadline) {
    return impl_->send(std::move(method), std::move(url), std::move(headers), std::move(body), whole_deadline);
}

Task<HttpOutcome> HttpClient::send_before(steady_clock::time_point moment, std::string method, Url url, Headers headers,
                                          std::string body) {
    return impl_->send(std::move(method), std::move(url), std::move(headers), std::move(body),
                       impl_->settings.whole_deadline, moment);
}

Task<std::string> HttpClient::refusal(Url url) {
    auto resolving = impl_->resolve(url, steady_clock::now() + impl_->settings.connect_deadline);
    const auto resolved = co_await std::move(resolving);
    const auto* endpoints = std::get_if<Impl::Endpoints>(&resolved);
    std::string why;
    if (!endpoints) co_return why;
    for (const auto& endpoint : *endpoints) {
        const auto refused = impl_->denied(endpoint);
        if (!refused) co_return std::string{};
        why = refused->detail;
    }
    co_return why;
}

Task<HttpOutcome> HttpClient::follow(Url url, Headers headers, std::chrono::milliseconds silence, TakePiece take) {
    const Sink sink{silence, std::move(take)};
    auto sending = impl_->send("GET", std::move(url), std::move(headers), {}, impl_->settings.whole_deadline,
                               steady_clock::time_point::max(), &sink);
    co_return co_await std::move(sending);
}

void HttpClient::stop() {
    impl_->stopping = true;
    impl_->tidying.cancel();
    for (auto& [name, origin] : impl_->origins) origin.idle.clear();
}

}
