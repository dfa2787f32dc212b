// Bytes on a connection to a hub whose database is away: the server's parser and limits, routing, keys, parameters and
// bodies, as far as they go without a database.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <charconv>

#include "api/api.h"
#include "fuzz/targets.h"
#include "platform/json_text.h"
#include "platform/log.h"

namespace impresario::fuzz {

namespace asio = platform::asio;

namespace {

constexpr const char* kHubKey = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
/// corpus/http and http.dict use it.
constexpr std::string_view kApiKey = "imp_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

platform::DatabaseSettings nowhere() {
    platform::DatabaseSettings settings;
    settings.url = domain::Secret("host=/nonexistent");
    settings.connections = 1;
    return settings;
}

platform::HttpServerSettings any_port() {
    platform::HttpServerSettings settings;
    settings.port = 0;
    settings.header_limit = 2048;
    return settings;
}

std::shared_ptr<const api::ApiKeys> one_key() {
    api::Caller admin;
    admin.organization_id = "default";
    admin.name = "fuzz";
    admin.role = api::Role::admin;
    return std::make_shared<const api::ApiKeys>(
        std::map<std::string, api::Caller>{{std::string(platform::view(platform::sha256(kApiKey))), admin}});
}

/// One for the whole life of the process: it is asked as a hub is, by one client after the other.
struct AHub {
    asio::io_context io{1};
    platform::KeyRing keys{{domain::Secret(kHubKey)}};
    platform::DatabaseClock clock;
    platform::SeededDice dice{1};
    platform::IdSource ids;
    platform::Metrics metrics;
    platform::Database database{io.get_executor(), nowhere(), &clock};
    platform::HttpClient client{io.get_executor(), {}};
    orchestrator::Probe probe{metrics};
    orchestrator::Node node{{io.get_executor(), database, clock, dice, ids, keys, client, probe}, {}};
    orchestrator::Hub hub{node, {}};
    api::Api api{node, hub, metrics, {}};
    platform::HttpServer server{io.get_executor(), any_port(),
                                [this](platform::HttpRequest request) { return api.handle(std::move(request)); },
                                [this](std::string_view method, std::string_view path) {
                                    return std::min<std::size_t>(api.body_limit(method, path), 4096);
                                }};

    std::uint32_t connections = 0;

    AHub() {
        // What goes wrong inside, a 500, is shown by `require` with its answer.
        platform::log::start(platform::log::Level::error, platform::log::Format::text, "fuzz");
        api.set_keys(one_key());
        server.start();
    }

    std::string answer_to(std::string_view bytes) {
        const int peer = ::socket(AF_INET, SOCK_STREAM, 0);
        // A port rests for a minute after its connection; with an address for each there are enough of them.
        sockaddr_in own{};
        own.sin_family = AF_INET;
        own.sin_addr.s_addr = htonl(INADDR_LOOPBACK + (++connections & 0xffff));
        require(::bind(peer, reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0, "there are addresses");
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(server.port());
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        require(::connect(peer, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0, "it listens");
        ::fcntl(peer, F_SETFL, O_NONBLOCK);
        std::string answer;
        std::array<char, 4096> piece{};
        bool told_all = false;
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{20};
        for (;;) {
            if (!bytes.empty()) {
                const auto sent = ::send(peer, bytes.data(), bytes.size(), MSG_NOSIGNAL);
                if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
                // It need not listen to the end.
                if (sent < 0 && errno != EAGAIN) bytes = {};
            }
            if (bytes.empty() && !std::exchange(told_all, true)) ::shutdown(peer, SHUT_WR);
            const auto got = ::recv(peer, piece.data(), piece.size(), 0);
            if (got > 0) answer.append(piece.data(), static_cast<std::size_t>(got));
            if (got == 0 || (got < 0 && errno != EAGAIN)) break;
            require(std::chrono::steady_clock::now() < until, "a connection comes to its end");
            io.run_one_for(std::chrono::milliseconds{50});
        }
        ::close(peer);
        return answer;
    }
};

/// Takes one answer off the front of `rest`.
void check_answer(std::string_view& rest, bool has_body) {
    require(rest.starts_with("HTTP/1.1 "), "an answer begins with its status", rest);
    int status = 0;
    std::from_chars(rest.data() + 9, rest.data() + std::min<std::size_t>(rest.size(), 12), status);
    require(status >= 100 && status < 600 && status != 500, "no request makes the hub fail", rest);
    const auto end = rest.find("\r\n\r\n");
    require(end != std::string_view::npos, "an answer's head ends", rest);
    const auto head = rest.substr(0, end);
    rest.remove_prefix(end + 4);
    std::size_t length = 0;
    if (const auto at = head.find("content-length: "); at != std::string_view::npos)
        std::from_chars(head.data() + at + 16, head.data() + head.size(), length);
    if (!has_body) return;
    require(rest.size() >= length, "a body is whole", head);
    const auto body = rest.substr(0, length);
    rest.remove_prefix(length);
    if (head.find("json") != std::string_view::npos)
        require(platform::check_json(body).has_value(), "an answer in JSON is JSON", body);
}

}

void http(std::string_view bytes) {
    static auto& hub = *new AHub;
    const auto answer = hub.answer_to(bytes);
    // The answers to HEAD have no bodies; which of several that are is not looked at.
    const bool bodies = bytes.find("HEAD") == std::string_view::npos;
    for (std::string_view rest = answer; !rest.empty() && (bodies || rest.data() == answer.data());)
        check_answer(rest, bodies);
}

}
