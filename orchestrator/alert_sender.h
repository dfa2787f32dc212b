#pragma once
// How messages leave for the receivers of alerts and reports: one POST, or one mail, and what became of it.

#include <string>

#include "alerts/message.h"
#include "alerts/notifier_plan.h"
#include "alerts/settings.h"
#include "platform/async.h"
#include "platform/clock.h"
#include "platform/http_client.h"
#include "platform/smtp_client.h"

namespace impresario::orchestrator {

/// Network thread only. What it is given outlives it.
class AlertSender {
  public:
    /// Receivers are the operator's own choice: `client` may reach private addresses.
    AlertSender(platform::HttpClient& client, platform::SmtpClient& smtp, platform::Clock& clock,
                const alerts::Settings& settings);

    /// Never throws for what a network or a receiver does. Answers within 25 s; nothing leaves after `not_after`.
    platform::Task<alerts::DeliveryResult> send(alerts::Message message,
                                                std::chrono::steady_clock::time_point not_after);
    /// The body as it is, signed where it is a webhook's: to one of kind slack or webhook. `id`: of the message.
    platform::Task<alerts::DeliveryResult> post(const alerts::Receiver& receiver, std::string id, std::string body,
                                                std::chrono::steady_clock::time_point not_after);
    /// To one of kind email; `mail` as alerts::email_of makes it.
    platform::Task<alerts::DeliveryResult> mail(const alerts::Receiver& receiver, std::string mail);
    /// nullptr: there is none of that name.
    const alerts::Receiver* find(const std::string& name) const;

  private:
    struct Request {
        std::string url;
        platform::Headers headers;
        std::string body;
    };
    Request signed_request(const alerts::Receiver& receiver, const std::string& id, std::string body) const;
    Request request_of(const alerts::Receiver& receiver, const alerts::Message& message) const;
    struct Answer {
        /// 0: there is none.
        int status = 0;
        alerts::DeliveryResult result;
    };
    platform::Task<Answer> post(const alerts::Receiver& receiver, Request request,
                                std::chrono::steady_clock::time_point not_after);

    platform::HttpClient& client_;
    platform::SmtpClient& smtp_;
    platform::Clock& clock_;
    const alerts::Settings& settings_;
};

}
