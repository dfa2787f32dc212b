#pragma once
// Our HTTP/1.1 server: limits on everything that comes in, and one coroutine per connection.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "platform/async.h"
#include "platform/http.h"

namespace impresario::platform {

struct HttpServerSettings {
    std::string address = "127.0.0.1";
    /// 0 takes any free port.
    std::uint16_t port = 8080;
    std::size_t header_limit = 16 * 1024;
    /// Largest body where the handler names no other.
    std::size_t body_limit = 1024 * 1024;
    /// Bytes of all bodies under way together; beyond it 503. Whose they are is known only after the body.
    std::size_t bodies_limit = std::size_t{512} * 1024 * 1024;
    std::chrono::milliseconds header_deadline{10000};
    std::chrono::milliseconds body_deadline{30000};
    std::chrono::milliseconds write_deadline{30000};
    std::chrono::milliseconds idle_deadline{75000};
    /// When they are all in use, connections that ask nothing make room, and whoever finds no place is told so.
    int connections = 10000;
};

/// Serves until stop(). Network thread only.
class HttpServer {
  public:
    using Handler = std::function<Task<HttpResponse>(HttpRequest)>;
    /// Largest body for a method and path; asked before the body is read.
    using BodyLimit = std::function<std::size_t(std::string_view method, std::string_view path)>;

    HttpServer(asio::any_io_executor executor, HttpServerSettings settings, Handler handler, BodyLimit body_limit = {});
    ~HttpServer();

    /// Binds and listens; throws std::runtime_error that names address and reason. Accepting begins.
    void start();
    std::uint16_t port() const;
    /// Takes no new connections, closes idle ones, lets answers under way finish.
    void stop();
    int connections() const;

  private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}
