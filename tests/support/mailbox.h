#pragma once
// npm's smtp-server as a mail server with one account, certificate included (tests/clients/mailbox.mjs). For suites
// with the fixture `clients`.

#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>

#include "platform/crypto.h"
#include "platform/process.h"
#include "platform/smtp_client.h"
#include "tests/support/certificate.h"
#include "tests/support/hub.h"
#include "tests/support/temporary_directory.h"

namespace impresario::testing {

class Mailbox {
  public:
    explicit Mailbox(const std::string& tls = "starttls", const Json& more = Json::object(),
                     const std::string& name = "DNS:localhost,IP:127.0.0.1")
        : scheme_(tls == "implicit" ? "smtps" : "smtp"), directory_(temporary_directory("mailbox")) {
        make_certificate(directory_, name);
        Json options = {{"port", port_},    {"control", control_},    {"tls", tls},
                        {"user", "ada"},    {"password", password()}, {"key", directory_ + "/key.pem"},
                        {"cert", trusted()}};
        options.update(more);
        platform::ProcessSettings settings;
        settings.command = {"node", std::string(IMPRESARIO_CLIENTS) + "/mailbox.mjs", options.dump()};
        settings.log_file = directory_ + "/log";
        process_ = std::make_unique<platform::Process>(std::move(settings));
        if (!eventually([&] { return std::filesystem::file_size(directory_ + "/log") > 0; }) || came().is_discarded())
            throw std::runtime_error("no mail server: " + log());
    }
    ~Mailbox() {
        process_.reset();
        std::filesystem::remove_all(directory_);
    }
    int port() const { return port_; }
    std::string trusted() const { return directory_ + "/cert.pem"; }
    Json came() const { return request(control_, "GET", "/").json(); }
    /// The latest.
    std::string message() const {
        const auto all = came()["messages"];
        return all.empty() ? "no message" : message(all.size() - 1);
    }
    std::string message(std::size_t at) const {
        return platform::decode_base64(came()["messages"].at(at)["base64"].get<std::string>()).value();
    }
    /// Of its one account, ada.
    static std::string password() { return "corréct horse: battery\"staple"; }
    std::string log() const {
        std::ifstream file(directory_ + "/log");
        return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    }
    platform::SmtpSettings settings() const {
        platform::SmtpSettings made;
        made.url = scheme_ + "://127.0.0.1:" + std::to_string(port_);
        made.username = "ada";
        made.password = domain::Secret(password());
        made.extra_trust = trusted();
        made.timeout = std::chrono::seconds{20};
        return made;
    }

  private:
    std::string scheme_;
    std::string directory_;
    int port_ = free_port();
    int control_ = free_port();
    std::unique_ptr<platform::Process> process_;
};

}
