#include "tests/support/http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace impresario::testing {

namespace {
int connect_to(int port) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        close(fd);
        return -1;
    }
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

bool send_all(int fd, const std::string& bytes) {
    std::size_t sent = 0;
    while (sent < bytes.size()) {
        const auto count = send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        if (count <= 0) return false;
        sent += static_cast<std::size_t>(count);
    }
    return true;
}
}

std::string raw_exchange(int port, const std::string& bytes, double seconds,
                         const std::function<bool(const std::string&)>& enough) {
    const int fd = connect_to(port);
    if (fd < 0) return {};
    send_all(fd, bytes);
    std::string got;
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    for (;;) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
        if (left <= 0) break;
        pollfd wait{fd, POLLIN, 0};
        if (poll(&wait, 1, static_cast<int>(left)) <= 0) break;
        char buffer[65536];
        const auto count = recv(fd, buffer, sizeof buffer, 0);
        if (count <= 0) break;
        got.append(buffer, static_cast<std::size_t>(count));
        if (enough && enough(got)) break;
    }
    close(fd);
    return got;
}

Reply request(int port, const std::string& method, const std::string& target,
              const std::vector<std::pair<std::string, std::string>>& headers, const std::string& body) {
    std::string text = method + " " + target + " HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n";
    for (const auto& [key, value] : headers) text += key + ": " + value + "\r\n";
    if (!body.empty() || method != "GET") text += "content-length: " + std::to_string(body.size()) + "\r\n";
    text += "\r\n" + body;
    const std::string answer = raw_exchange(port, text, 70);
    Reply reply;
    const auto end = answer.find("\r\n\r\n");
    if (!answer.starts_with("HTTP/1.1 ") || end == std::string::npos) {
        reply.body = answer.empty() ? "no answer" : answer;
        return reply;
    }
    reply.status = std::atoi(answer.c_str() + 9);
    std::size_t at = answer.find("\r\n") + 2;
    while (at < end) {
        const auto line_end = answer.find("\r\n", at);
        const auto colon = answer.find(':', at);
        std::string key = answer.substr(at, colon - at);
        std::transform(key.begin(), key.end(), key.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        std::string value = answer.substr(colon + 1, line_end - colon - 1);
        value.erase(0, value.find_first_not_of(' '));
        reply.headers[key] = value;
        at = line_end + 2;
    }
    reply.body = answer.substr(end + 4);
    return reply;
}

}
