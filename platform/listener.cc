#include "platform/listener.h"

#include "platform/crypto.h"
#include "platform/log.h"

namespace impresario::platform {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

Listener::Listener(asio::any_io_executor executor, DatabaseSettings settings, std::string channel,
                   std::function<void(const std::string&)> received, milliseconds idle_limit)
    : executor_(std::move(executor)),
      settings_(std::move(settings)),
      channel_(std::move(channel)),
      received_(std::move(received)),
      idle_limit_(idle_limit) {
    settings_.application_name += "-listen";
    thread_ = std::thread([this] { run(); });
}

Listener::~Listener() {
    stopping_ = true;
    thread_.join();
}

void Listener::run() {
    const std::string ping_channel = "impresario_ping_" + hex(random_bytes(6));
    while (!stopping_) {
        try {
            Connection connection(settings_, nullptr);
            // Of a process that stands still (or of a machine that is gone) the server ends it (protocol R1).
            connection.autocommit(
                [&](Tx& tx) { tx.run("SET idle_session_timeout = " + std::to_string(idle_limit_.count())); });
            auto heard = steady_clock::now();
            connection.listen(channel_, [this](const std::string& payload) {
                asio::post(executor_, [received = received_, payload] { received(payload); });
            });
            connection.listen(ping_channel, [&](const std::string&) { heard = steady_clock::now(); });
            backend_pid_ = connection.backend_pid();
            hearing_ = true;
            asio::post(executor_, [received = received_] { received(""); });
            auto pinged = steady_clock::now();
            while (!stopping_) {
                connection.wait_for_notifications(milliseconds{250});
                const auto now = steady_clock::now();
                if (now - pinged > seconds{5}) {
                    // What we say to ourselves must come back: silence means that nothing of others would either.
                    if (now - heard > seconds{12})
                        throw DatabaseUnavailable("the listening connection has gone silent");
                    pinged = now;
                    connection.autocommit([&](Tx& tx) { tx.run("NOTIFY " + ping_channel); });
                }
            }
        } catch (const std::exception& e) {
            backend_pid_ = 0;
            if (hearing_.exchange(false)) {
                log::warn("listening connection lost", {{"error", e.what()}, {"next", "polling until it is back"}});
                // At once: others take a session that stays away for the end of the process.
                continue;
            }
            for (int i = 0; i < 5 && !stopping_; ++i) std::this_thread::sleep_for(milliseconds{100});
        }
    }
    backend_pid_ = 0;
}

}
