#include "bench/load.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <string_view>

namespace impresario::bench {

using std::chrono::steady_clock;

namespace {

struct Client {
    int fd = -1;
    std::string out;
    std::string in;
    bool busy = false;
    steady_clock::time_point since{};
};

int connect_to(std::uint16_t port) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        close(fd);
        throw std::runtime_error("nobody listens on 127.0.0.1:" + std::to_string(port));
    }
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

void send_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const auto sent = send(fd, text.data(), text.size(), MSG_NOSIGNAL);
        if (sent <= 0) throw std::runtime_error("the hub closed a connection");
        text.remove_prefix(static_cast<std::size_t>(sent));
    }
}

/// Length of the first whole answer in the buffer; 0: there is more to come.
std::size_t answer_length(std::string_view text) {
    const auto head = text.find("\r\n\r\n");
    if (head == std::string_view::npos) return 0;
    const auto at = text.find("content-length: ");
    std::size_t length = 0;
    if (at < head) std::from_chars(text.data() + at + 16, text.data() + head, length);
    return text.size() >= head + 4 + length ? head + 4 + length : 0;
}

class Run {
  public:
    explicit Run(const LoadSettings& settings)
        : settings_(settings), clients_(static_cast<std::size_t>(settings.connections)) {
        epoll_ = epoll_create1(EPOLL_CLOEXEC);
        for (std::size_t i = 0; i < clients_.size(); ++i) {
            clients_[i].fd = connect_to(settings.port);
            epoll_event event{};
            event.events = EPOLLIN;
            event.data.u64 = i;
            epoll_ctl(epoll_, EPOLL_CTL_ADD, clients_[i].fd, &event);
        }
    }
    ~Run() {
        for (const auto& client : clients_) close(client.fd);
        close(epoll_);
    }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    LoadResult run() {
        begun_ = steady_clock::now();
        std::vector<epoll_event> events(64);
        while (result_.answered < settings_.requests) {
            begin_what_is_due();
            const int ready = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), patience());
            for (int i = 0; i < ready; ++i) receive(clients_[events[static_cast<std::size_t>(i)].data.u64]);
        }
        result_.seconds = std::chrono::duration<double>(steady_clock::now() - begun_).count();
        return std::move(result_);
    }

  private:
    steady_clock::time_point due(std::int64_t request) const {
        return begun_ + std::chrono::duration_cast<steady_clock::duration>(
                            std::chrono::duration<double>(static_cast<double>(request) / settings_.rate));
    }
    int patience() const {
        // Without a client that is free there is nothing to send, however late it is; who turned round and round here
        // would take a core from the hub that it measures.
        const bool any_free =
            std::any_of(clients_.begin(), clients_.end(), [](const Client& client) { return !client.busy; });
        if (settings_.rate <= 0 || sent_ >= settings_.requests || !any_free) return 1000;
        const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(due(sent_) - steady_clock::now());
        return static_cast<int>(std::clamp<std::int64_t>(wait.count(), 0, 1000));
    }
    void begin_what_is_due() {
        for (auto& client : clients_) {
            if (sent_ >= settings_.requests) return;
            if (client.busy) continue;
            const auto now = steady_clock::now();
            if (settings_.rate > 0 && due(sent_) > now) return;
            client.busy = true;
            client.since = settings_.rate > 0 ? due(sent_) : now;
            send_all(client.fd, settings_.request(sent_++));
        }
    }
    void receive(Client& client) {
        char bytes[16384];
        const auto got = recv(client.fd, bytes, sizeof bytes, 0);
        if (got <= 0) throw std::runtime_error("the hub closed a connection");
        client.in.append(bytes, static_cast<std::size_t>(got));
        const auto length = answer_length(client.in);
        if (length == 0) return;
        if (client.in.compare(9, 1, "2") != 0) {
            ++result_.failed;
            if (result_.sample_failure.empty()) result_.sample_failure = client.in.substr(0, length);
        }
        client.in.erase(0, length);
        client.busy = false;
        ++result_.answered;
        result_.milliseconds.push_back(
            std::chrono::duration<double, std::milli>(steady_clock::now() - client.since).count());
    }

    const LoadSettings& settings_;
    std::vector<Client> clients_;
    int epoll_ = -1;
    steady_clock::time_point begun_{};
    std::int64_t sent_ = 0;
    LoadResult result_;
};

}

LoadResult run_load(const LoadSettings& settings) { return Run(settings).run(); }

std::string post_request(const std::string& path, const std::string& bearer, const std::string& body) {
    return "POST " + path + " HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer " + bearer +
           "\r\ncontent-type: application/json\r\ncontent-length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

double quantile(std::vector<double> values, double part) {
    if (values.empty()) return std::nan("");
    const auto at = std::min(values.size() - 1, static_cast<std::size_t>(static_cast<double>(values.size()) * part));
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
    return values[at];
}

}
