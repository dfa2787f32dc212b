#include "alerts/alertmanager_json.h"
#include "alerts/email_message.h"
#include "alerts/pagerduty_message.h"
#include "alerts/slack_message.h"
#include "alerts/webhook_message.h"
#include "fuzz/targets.h"
#include "platform/json_text.h"

namespace impresario::fuzz {

namespace {

void text(const std::string& body) {
    require(static_cast<bool>(platform::check_json(body)), "a message is JSON in UTF-8", body);
}

void mail(const std::string& body) {
    std::size_t line = 0;
    for (std::size_t i = 0; i < body.size(); ++i) {
        const auto byte = static_cast<unsigned char>(body[i]);
        require(byte < 0x7f && (byte >= 0x20 || byte == '\r' || byte == '\n'), "a mail is printable ASCII", body);
        require((byte == '\r') == (i + 1 < body.size() && body[i + 1] == '\n'), "lines end with CR LF", body);
        line = byte == '\n' ? 0 : line + 1;
        require(line <= 999, "lines are short", body);
    }
    require(body.substr(0, body.find("\r\n\r\n")).find("\r\nBcc:") == std::string::npos, "nobody adds a header", body);
}

}

void alerts(std::string_view bytes) {
    using namespace impresario::alerts;
    const domain::TimePoint now{std::chrono::hours{500000}};
    const auto received = parse_alerts(bytes, now);
    if (!received) {
        require(!received.error().empty(), "a fault says what is wrong");
        return;
    }
    Notification notification;
    notification.id = "0123456789abcdef";
    notification.incident = "fedcba9876543210";
    for (const auto& alert : *received) {
        require(alert.ends_at && alert.since <= *alert.ends_at, "what begins ends later");
        require(faults_of(alert.labels, "").empty(), "labels are those of Alertmanager");
        (alert.firing(now) ? notification.firing : notification.resolved).push_back(alert.fingerprint());
    }
    const auto message = message_of(notification, *received, {}, "https://hub.example.org", now);
    text(slack_message(message));
    text(slack_plain_message(message));
    text(webhook_message(message));
    text(pagerduty_message(message, pagerduty_action(message), domain::Secret("k")));
    mail(email_message(message, {"hub@example.org", message.title(), {"ann@example.org"}}));
}

}
