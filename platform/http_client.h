#pragma once
// Our HTTP/1.1 client: pooled keep-alive connections, deadlines, TLS with verification, no redirects, and an egress
// policy that is asked about the address we really connect to.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "platform/async.h"
#include "platform/egress_policy.h"
#include "platform/http.h"
#include "platform/url.h"

namespace impresario::platform {

struct HttpClientSettings {
    std::chrono::milliseconds connect_deadline{5000};
    /// From the first byte sent to the last byte of the answer.
    std::chrono::milliseconds whole_deadline{20000};
    /// Open connections to one origin; further requests wait for one within their connect deadline.
    int connections_per_origin = 64;
    /// An idle connection is not reused later than this; Node closes its own after 5 s.
    std::chrono::milliseconds idle_limit{4000};
    std::size_t header_limit = 16 * 1024;
    /// An answer's body beyond this is cut off and its connection closed.
    std::size_t body_limit = 16 * 1024 * 1024;
    /// PEM file of certificates to trust beside the system's; for tests and private authorities.
    std::string extra_trust;
    EgressPolicy egress;
};

/// The request certainly did not arrive whole: nothing can have begun there.
struct NotSent {
    enum class Why { denied, resolve, connect, tls, write };
    Why why = Why::connect;
    std::string detail;
    std::string address;
};

/// It left, and no answer came: it may have begun there, and may be costing money.
struct NoAnswer {
    std::string detail;
    std::string address;
};

struct HttpAnswer {
    int status = 0;
    Headers headers;
    std::string body;
    /// The body was longer than the limit.
    bool cut = false;
    /// From beginning to connect, where that was needed, until the answer's head was there.
    std::chrono::milliseconds first_byte{0};
    std::string address;
    std::string_view header(std::string_view name) const { return platform::header(headers, name); }
};

using HttpOutcome = std::variant<HttpAnswer, NotSent, NoAnswer>;

/// Takes a 2xx answer's body as it comes; false: that is enough, and the connection ends.
using TakePiece = std::function<bool(std::string_view)>;

/// Network thread only.
class HttpClient {
  public:
    HttpClient(asio::any_io_executor executor, HttpClientSettings settings);
    ~HttpClient();

    /// Sends one request and waits for its answer. Never throws for what a network does. Content-Length and Host are
    /// added; the other headers go as given.
    Task<HttpOutcome> send(std::string method, Url url, Headers headers, std::string body);
    /// The same with other deadlines than the settings'.
    Task<HttpOutcome> send(std::string method, Url url, Headers headers, std::string body,
                           std::chrono::milliseconds whole_deadline);
    /// The same, unless that moment has come before the first byte can leave: a process that stood still must not send
    /// what others have given up meanwhile.
    Task<HttpOutcome> send_before(std::chrono::steady_clock::time_point moment, std::string method, Url url,
                                  Headers headers, std::string body);

    /// Sends a GET and takes its answer piece by piece, for as long as something comes at least every `silence`. The
    /// answer's body is empty but for a status that is not 2xx.
    Task<HttpOutcome> follow(Url url, Headers headers, std::chrono::milliseconds silence, TakePiece take);

    /// Why nothing would be sent there, as its name resolves now; empty: it would, or the name is not known (yet).
    Task<std::string> refusal(Url url);

    /// Closes idle connections and lets none be kept.
    void stop();

  private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}
