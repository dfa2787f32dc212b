#include "alerts/email_message.h"

namespace impresario::alerts {

namespace {

std::string html_line(const Line& line) {
    const auto text = html_escaped(line.text);
    const auto label = line.label.empty() ? "" : "<b>" + line.label + ":</b> ";
    switch (line.form) {
        case Line::Form::code:
            return "<p>" + label + "<code>" + text + "</code></p>\n";
        case Line::Form::link:
            return "<p>" + label + "<a href=\"" + text + "\">" + text + "</a></p>\n";
        case Line::Form::text:
            break;
    }
    return "<p>" + label + text + "</p>\n";
}

std::string html_text(const Message& message) {
    std::string html = "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"></head><body>\n<h2>" +
                       html_escaped(message.title()) + "</h2>\n";
    std::size_t left_out = 0;
    const auto add = [&](const std::vector<Alert>& alerts, const char* heading) {
        std::size_t shown = 0;
        for (const auto& alert : alerts) {
            std::string part = "<h3>" + std::string(heading) + html_escaped(alert.summary) + "</h3>\n";
            for (const auto& line : lines_of(message, alert)) part += html_line(line);
            if (shown == kMostShown || html.size() + part.size() > kLongestEmail) {
                ++left_out;
                continue;
            }
            ++shown;
            html += part;
        }
    };
    add(message.firing, "");
    add(message.resolved, "Resolved: ");
    if (left_out > 0) html += "<p>" + html_escaped(left_out_text(message, left_out)) + "</p>\n";
    return html + "</body></html>\n";
}

}

std::string email_message(const Message& message, const EmailEnvelope& envelope) {
    const auto& notification = message.notification;
    EmailContent content;
    content.id = notification.id;
    content.thread = notification.incident;
    content.subject = message.title();
    content.at = message.at;
    content.headers = {{"X-Impresario-Incident", notification.incident},
                       {"X-Impresario-Kind", std::string(alerts::name(notification.kind))}};
    if (message.severity() == Severity::critical && !message.over()) content.headers.emplace_back("Importance", "high");
    content.text = plain_text(message, kLongestEmail);
    content.html = html_text(message);
    return email_of(content, envelope);
}

}
