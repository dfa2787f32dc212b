#include "alerts/slack_message.h"

#include <algorithm>

#include "platform/ascii.h"
#include "platform/json_writer.h"

namespace impresario::alerts {

using platform::JsonWriter;

namespace {

constexpr std::size_t kHeader = 150;
constexpr std::size_t kSection = 3000;
constexpr std::size_t kText = 2800;
constexpr std::size_t kSummary = 300;
constexpr std::string_view kEllipsis = "…";
/// Stands between @ and the word, and cannot be seen.
constexpr std::string_view kNoMention = "@\xE2\x80\x8B";

bool calls_everybody(std::string_view after_at) {
    for (const std::string_view word : {"channel", "here", "everyone", "group", "all"}) {
        const bool same =
            after_at.size() >= word.size() && std::equal(word.begin(), word.end(), after_at.begin(),
                                                         [](char a, char b) { return a == platform::lower(b); });
        if (same) return true;
    }
    return false;
}

std::size_t length_of_character(char first) {
    const auto byte = static_cast<unsigned char>(first);
    return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/// In a code span nothing is markup but its end.
std::string code(std::string_view text, std::size_t most) {
    std::string inside = one_line(text);
    std::replace(inside.begin(), inside.end(), '`', '\'');
    return "`" + slack_escaped(inside, most) + "`";
}

std::string line_text(const Line& line, std::size_t most) {
    const std::string label = line.label.empty() ? "" : "*" + line.label + ":* ";
    switch (line.form) {
        case Line::Form::code:
            return label + code(line.text, most);
        case Line::Form::link:
            // absolute_link() lets through nothing that would end it.
            return label + "<" + slack_escaped(line.text, 2 * kSection) + ">";
        case Line::Form::text:
            break;
    }
    return label + slack_escaped(line.text, most);
}

/// What does not fit is left out by the line; links are never cut.
std::string alert_section(const Message& message, const Alert& alert) {
    std::string text = "*" + slack_escaped(one_line(alert.summary), kSummary) + "*";
    for (const auto& line : lines_of(message, alert)) {
        const auto more = "\n" + line_text(line, kSection / 2);
        if (text.size() + more.size() <= kSection) text += more;
    }
    return text;
}

void section(JsonWriter& json, std::string_view type, const std::string& mrkdwn) {
    JsonWriter text;
    text.open().field("type", "mrkdwn").field("text", mrkdwn).field("verbatim", true).close();
    json.open('{').field("type", type);
    if (type == "context")
        json.raw("elements", "[" + text.text() + "]");
    else
        json.raw("text", text.text());
    json.close();
}

std::string resolved_section(const Message& message) {
    std::string text = "*Resolved*";
    for (std::size_t i = 0; i < message.resolved.size() && i < kMostShown; ++i)
        text += "\n• " + slack_escaped(one_line(message.resolved[i].summary), kSection / kMostShown - 10);
    return text;
}

std::size_t beyond(const std::vector<Alert>& alerts) {
    return alerts.size() > kMostShown ? alerts.size() - kMostShown : 0;
}

/// The more there are the less is said of each.
std::string short_text(const Message& message) {
    std::string text = slack_escaped(message.title(), kSummary);
    const auto shown = [](const std::vector<Alert>& alerts) { return std::min(alerts.size(), kMostShown); };
    const auto each = kText / std::max<std::size_t>(shown(message.firing) + shown(message.resolved), 1);
    const auto add = [&](const std::vector<Alert>& alerts, const char* heading) {
        for (std::size_t i = 0; i < shown(alerts); ++i) {
            std::string said = heading + one_line(alerts[i].summary);
            for (const auto& line : lines_of(message, alerts[i]))
                said += "\n" + (line.label.empty() ? "" : line.label + ": ") + line.text;
            text += "\n" + slack_escaped(said, each);
        }
    };
    add(message.firing, "• ");
    add(message.resolved, "• Resolved: ");
    const auto left_out = left_out_text(message, beyond(message.firing) + beyond(message.resolved));
    return left_out.empty() ? text : text + "\n" + slack_escaped(left_out, kSection);
}

}

std::string slack_escaped(std::string_view text, std::size_t most) {
    std::string escaped;
    // Where it still would have been short enough to add the ellipsis.
    std::size_t cut = 0;
    for (std::size_t at = 0; at < text.size();) {
        const auto length = std::min(length_of_character(text[at]), text.size() - at);
        std::string piece(text.substr(at, length));
        at += length;
        const auto control = static_cast<unsigned char>(piece[0]) < 0x20 || piece[0] == 0x7f;
        if (piece == "&") piece = "&amp;";
        if (piece == "<") piece = "&lt;";
        if (piece == ">") piece = "&gt;";
        if (piece == "@" && calls_everybody(text.substr(at))) piece = kNoMention;
        if (control && piece != "\n") piece = piece == "\t" ? " " : "";
        if (escaped.size() + piece.size() > most)
            return most < kEllipsis.size() ? std::string() : escaped.substr(0, cut) + std::string(kEllipsis);
        escaped += piece;
        if (escaped.size() + kEllipsis.size() <= most) cut = escaped.size();
    }
    return escaped;
}

std::string slack_message(const Message& message) {
    JsonWriter json;
    json.open().field("text", short_text(message)).open("blocks", '[');
    JsonWriter header;
    header.open().field("type", "plain_text").field("text", slack_escaped(message.title(), kHeader)).close();
    json.open('{').field("type", "header").raw("text", header.text()).close();
    for (std::size_t i = 0; i < message.firing.size() && i < kMostShown; ++i)
        section(json, "section", alert_section(message, message.firing[i]));
    if (!message.resolved.empty()) section(json, "section", resolved_section(message));
    const auto left_out = left_out_text(message, beyond(message.firing) + beyond(message.resolved));
    section(json, "context",
            slack_escaped(left_out.empty() ? "Incident " + message.notification.incident : left_out, kSection));
    json.close(']').close();
    return std::move(json).text();
}

std::string slack_plain_message(const Message& message) {
    JsonWriter json;
    json.open().field("text", short_text(message)).close();
    return std::move(json).text();
}

}
