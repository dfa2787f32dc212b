#pragma once
// Sends e-mail to one server at a time by SMTP: encrypted, with the server's certificate checked, and only to addresses
// that the egress policy allows. libcurl speaks the protocol.

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "domain/secret.h"
#include "platform/async.h"
#include "platform/egress_policy.h"
#include "platform/smtp_outcome.h"

namespace impresario::platform {

struct SmtpSettings {
    /// smtp://host[:587], where STARTTLS is demanded, or smtps://host[:465], which is TLS from its first byte.
    std::string url;
    /// With neither user name nor password nobody logs in.
    std::string username;
    domain::Secret password;
    /// Where smtp:// offers no STARTTLS, message, user name and password go unencrypted all the same.
    bool allow_plaintext = false;
    /// PEM file of certificates to trust beside the system's.
    std::string extra_trust;
    /// From send() to its outcome, the wait for others' messages included: more than 0 and less than 60 s. What is
    /// under way then ends within about a second.
    std::chrono::milliseconds timeout{30000};
};

struct SmtpFault {
    /// The member of SmtpSettings.
    std::string field;
    /// To follow its name: "must begin with smtp:// or smtps://".
    std::string what;
};

/// Everything that is wrong with the settings; empty: they can be used. Reads no file.
std::vector<SmtpFault> smtp_faults(const SmtpSettings& settings);

/// What is wrong with an e-mail address as an envelope holds it ("ada@example.com"), to follow its name; empty when it
/// is good. Only visible ASCII characters can be sent to every server.
std::string_view mail_address_fault(std::string_view address);

/// Any thread.
class SmtpClient {
  public:
    explicit SmtpClient(EgressPolicy egress);
    /// Stops, and waits for what is under way. To be destroyed before the executors of those who wait.
    ~SmtpClient();
    SmtpClient(const SmtpClient&) = delete;
    SmtpClient& operator=(const SmtpClient&) = delete;

    /// Sends one message (RFC 5322, every line ending in CRLF) to all recipients in one transaction and resumes the
    /// caller on his executor. Two are sent at a time and 62 may wait; one more has failed at once. What is wrong with
    /// the arguments is refused before anything is connected to. Never throws for what a network does.
    Task<SmtpOutcome> send(SmtpSettings settings, std::string from, std::vector<std::string> recipients,
                           std::string message);

    /// Ends what is under way within about a second, by what is known of it, and sends nothing any more.
    void stop();

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}
