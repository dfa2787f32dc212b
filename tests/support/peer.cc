#include "tests/support/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "tests/support/http.h"
#include "tests/support/program.h"

namespace impresario::testing {

namespace {
bool send_all(int fd, const std::string& bytes) {
    for (std::size_t sent = 0; sent < bytes.size();) {
        const auto count = send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        if (count <= 0) return false;
        sent += static_cast<std::size_t>(count);
    }
    return true;
}
}

Peer::Peer(Script script) : script_(std::move(script)) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || listen(listener_, 512) != 0)
        throw std::runtime_error("peer cannot listen");
    socklen_t size = sizeof address;
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_loop(); });
}

Peer::~Peer() {
    stopping_ = true;
    shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    close(listener_);
    {
        std::lock_guard lock(mutex_);
        for (const int fd : open_) shutdown(fd, SHUT_RDWR);
    }
    changed_.notify_all();
    for (auto& thread : threads_) thread.join();
}

void Peer::set_script(Script script) {
    std::lock_guard lock(mutex_);
    script_ = std::move(script);
}

void Peer::accept_loop() {
    while (!stopping_) {
        const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (fd < 0) return;
        const int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        std::lock_guard lock(mutex_);
        open_.push_back(fd);
        threads_.emplace_back([this, fd] { serve(fd); });
    }
}

void Peer::serve(int fd) {
    std::string buffer;
    const auto read_more = [&] {
        char bytes[65536];
        const auto count = recv(fd, bytes, sizeof bytes, 0);
        if (count <= 0) return false;
        buffer.append(bytes, static_cast<std::size_t>(count));
        return true;
    };
    bool going = true;
    while (going && !stopping_) {
        std::size_t end = 0;
        while ((end = buffer.find("\r\n\r\n")) == std::string::npos && going) going = read_more();
        if (!going) break;
        Asked asked;
        const auto line_end = buffer.find("\r\n");
        const std::string line = buffer.substr(0, line_end);
        const auto first = line.find(' ');
        const auto second = line.find(' ', first + 1);
        asked.method = line.substr(0, first);
        asked.path = line.substr(first + 1, second - first - 1);
        std::size_t at = line_end + 2;
        while (at < end) {
            const auto next = buffer.find("\r\n", at);
            const auto colon = buffer.find(':', at);
            std::string key = buffer.substr(at, colon - at);
            std::transform(key.begin(), key.end(), key.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
            std::string value = buffer.substr(colon + 1, next - colon - 1);
            value.erase(0, value.find_first_not_of(' '));
            asked.headers[key] = value;
            at = next + 2;
        }
        const std::size_t length =
            asked.headers.count("content-length") ? std::stoul(asked.headers["content-length"]) : 0;
        while (buffer.size() < end + 4 + length && going) going = read_more();
        if (!going) break;
        asked.body = buffer.substr(end + 4, length);
        buffer.erase(0, end + 4 + length);
        asked.json = nlohmann::json::parse(asked.body, nullptr, false);
        Script script;
        {
            std::lock_guard lock(mutex_);
            asked_.push_back(asked);
            script = script_;
        }
        changed_.notify_all();
        const Behaviour behaviour = script(asked);
        if (behaviour.delay.count() > 0) {
            std::unique_lock lock(mutex_);
            changed_.wait_for(lock, behaviour.delay, [&] { return stopping_.load(); });
        }
        if (behaviour.silent) {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return stopping_.load(); });
            break;
        }
        if (behaviour.reset) {
            const linger now{1, 0};
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
            break;
        }
        std::string answer = behaviour.garbage;
        if (answer.empty()) {
            answer = "HTTP/1.1 " + std::to_string(behaviour.status) +
                     " Scripted\r\ncontent-type: application/json\r\ncontent-length: " +
                     std::to_string(behaviour.body.size()) + "\r\n";
            for (const auto& [key, value] : behaviour.headers) answer += key + ": " + value + "\r\n";
            answer += "\r\n" + behaviour.body;
        } else {
            going = false;
        }
        if (behaviour.pieces) {
            for (auto piece = behaviour.pieces(); piece && !stopping_ && send_all(fd, *piece);)
                piece = behaviour.pieces();
            break;
        }
        going = send_all(fd, answer) && going;
    }
    std::lock_guard lock(mutex_);
    std::erase(open_, fd);
    close(fd);
}

std::vector<Asked> Peer::asked(bool all) const {
    std::lock_guard lock(mutex_);
    std::vector<Asked> found;
    for (const auto& each : asked_)
        if (all || each.method == "POST") found.push_back(each);
    return found;
}

bool Peer::wait_until(const std::function<bool(const std::vector<Asked>&)>& condition, double seconds) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::duration<double>(seconds * patience()),
                             [&] { return condition(asked_); });
}

bool Peer::wait_for(std::size_t count, double seconds) const {
    return wait_until(
        [&](const std::vector<Asked>& asked) {
            return std::count_if(asked.begin(), asked.end(), [](const Asked& each) { return each.method == "POST"; }) >=
                   static_cast<std::ptrdiff_t>(count);
        },
        seconds);
}

namespace {
Reply post(const std::string& url, const std::string& body, const std::string& token) {
    const auto host = url.find("//") + 2;
    const auto colon = url.find(':', host);
    const auto slash = url.find('/', host);
    return request(std::stoi(url.substr(colon + 1, slash - colon - 1)), "POST", url.substr(slash),
                   {{"authorization", "Bearer " + token}, {"content-type", "application/json"}}, body);
}
}

Reply Peer::call_back_raw(const Asked& asked, const std::string& body, const std::string& token) {
    return post(asked.callback_url(), body, token);
}

Reply Peer::say(const Asked& asked, const std::string& where, const nlohmann::json& body) {
    return post(asked.callback_url() + where, body.dump(), asked.token());
}

Reply Peer::call_back(const Asked& asked, const nlohmann::json& body) {
    return call_back_raw(asked, body.dump(), asked.token());
}

}
