#include "tests/support/sql_proxy.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "tests/support/temporary_directory.h"

namespace impresario::testing {

namespace {

int socket_at(const std::string& path, bool listening) {
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    const auto* at = reinterpret_cast<sockaddr*>(&address);
    const bool good =
        listening ? bind(fd, at, sizeof address) == 0 && listen(fd, 64) == 0 : connect(fd, at, sizeof address) == 0;
    if (good) return fd;
    close(fd);
    return -1;
}

bool send_all(int fd, const std::string& bytes) {
    for (std::size_t sent = 0; sent < bytes.size();) {
        const auto n = send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        if (n <= 0) return false;
        sent += static_cast<std::size_t>(n);
    }
    return true;
}

std::string receive(int fd) {
    std::string bytes(65536, '\0');
    const auto n = recv(fd, bytes.data(), bytes.size(), 0);
    bytes.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return bytes;
}

}

SqlProxy::SqlProxy(const TestDatabase& database) : database_name_(database.name()) {
    directory_ = temporary_directory("proxy");
    server_path_ = database.sockets() + "/.s.PGSQL.5432";
    listener_ = socket_at(directory_ + "/.s.PGSQL.5432", true);
    if (listener_ < 0) throw std::runtime_error("the proxy cannot listen");
    accepting_ = std::thread([this] { accept_loop(); });
}

SqlProxy::~SqlProxy() {
    stopping_ = true;
    accepting_.join();
    for (auto& each : serving_) each.join();
    close(listener_);
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
}

std::string SqlProxy::url() const { return "host=" + directory_ + " user=impresario dbname=" + database_name_; }

void SqlProxy::lose_commit_of(const std::string& statement) {
    const std::lock_guard lock(mutex_);
    statement_ = statement;
}

void SqlProxy::accept_loop() {
    while (!stopping_) {
        pollfd waiting{listener_, POLLIN, 0};
        if (poll(&waiting, 1, 50) <= 0) continue;
        const int client = accept(listener_, nullptr, nullptr);
        if (client >= 0) serving_.emplace_back([this, client] { serve(client); });
    }
}

void SqlProxy::serve(int client) {
    const int server = socket_at(server_path_, false);
    // Whether the transaction under way has run the statement. What goes out together is small: one piece.
    bool ran = false;
    while (!stopping_ && server >= 0) {
        if (held_) {
            poll(nullptr, 0, 20);
            continue;
        }
        pollfd either[] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
        if (poll(either, 2, 50) <= 0) continue;
        if (either[0].revents != 0) {
            const auto bytes = receive(client);
            if (bytes.empty() || !send_all(server, bytes)) break;
            if (bytes.find("begin_") != std::string::npos) ran = false;
            const std::lock_guard lock(mutex_);
            if (!statement_.empty() && bytes.find(statement_) != std::string::npos) ran = true;
            if (ran && !statement_.empty() && bytes.find("commit_") != std::string::npos) {
                receive(server);
                statement_.clear();
                ++lost_;
                break;
            }
        }
        if (either[1].revents != 0) {
            const auto bytes = receive(server);
            if (bytes.empty() || !send_all(client, bytes)) break;
        }
    }
    if (server >= 0) close(server);
    close(client);
}

}
