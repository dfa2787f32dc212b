#include "tests/support/crowd.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "platform/open_files.h"

namespace impresario::testing {

Line::Line(int port, int receive_buffer) {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (receive_buffer > 0) setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    if (connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        hang_up();
        return;
    }
    const int on = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Line::~Line() { hang_up(); }

void Line::hang_up() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
}

bool Line::send(const std::string& bytes) const {
    std::size_t sent = 0;
    while (sent < bytes.size()) {
        const auto count = ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        if (count <= 0) return false;
        sent += static_cast<std::size_t>(count);
    }
    return true;
}

bool Line::read_for(double seconds, bool until_closed) {
    if (fd_ < 0) return true;
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    for (;;) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
        pollfd waiting{fd_, POLLIN, 0};
        if (poll(&waiting, 1, static_cast<int>(std::max<long>(left, 0))) <= 0) return false;
        char bytes[65536];
        const auto count = recv(fd_, bytes, sizeof bytes, 0);
        if (count <= 0) return true;
        got_.append(bytes, static_cast<std::size_t>(count));
        if (!until_closed) return false;
    }
}

const std::string& Line::received() {
    read_for(0, true);
    return got_;
}

bool Line::wait_closed(double seconds) { return read_for(seconds, true); }

bool Line::wait_status(int status, double seconds) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    const std::string wanted = "HTTP/1.1 " + std::to_string(status) + " ";
    for (;;) {
        if (got_.find(wanted) != std::string::npos) return true;
        const std::chrono::duration<double> left = until - std::chrono::steady_clock::now();
        if (left.count() <= 0) return false;
        if (read_for(left.count(), false) && got_.find(wanted) == std::string::npos) return false;
    }
}

int raise_connections(int wanted) {
    // The hub inherits the same limit, and keeps 1000 back.
    const auto most = static_cast<long>(platform::raise_open_file_limit()) - 1500;
    return static_cast<int>(std::clamp<long>(most, 100, wanted));
}

std::vector<Line> crowd(int port, int count) {
    std::vector<Line> lines;
    lines.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) lines.emplace_back(port);
    return lines;
}

int rounds(int short_run, int long_run) { return std::getenv("IMPRESARIO_CASES_LONG") ? long_run : short_run; }

}
