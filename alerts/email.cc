#include "alerts/email.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <stdexcept>

#include "alerts/message.h"
#include "platform/crypto.h"
#include "platform/json_text.h"

namespace impresario::alerts {

namespace {

constexpr std::size_t kMostRecipients = 50;
constexpr std::size_t kLongestAddress = 254;
/// So much text makes an encoded word of at most 75 characters, and fits beside a header's name.
constexpr std::size_t kWord = 42;
constexpr std::size_t kLine = 76;

bool printable(char c) { return c >= 0x20 && c < 0x7f; }

std::string base64_lines(std::string_view text) {
    const auto encoded = platform::base64(text);
    std::string lines;
    for (std::size_t at = 0; at < encoded.size(); at += kLine) lines += encoded.substr(at, kLine) + "\r\n";
    return lines;
}

std::string with_crlf(std::string_view text) {
    std::string lines;
    for (const char c : text) {
        if (c == '\r') continue;
        lines += c == '\n' ? std::string("\r\n") : std::string(1, c);
    }
    return lines;
}

std::string part(const std::string& boundary, const char* type, std::string_view text) {
    return "--" + boundary + "\r\nContent-Type: " + type +
           "; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n" + base64_lines(with_crlf(text));
}

std::string host_of(std::string_view address) { return std::string(address.substr(address.rfind('@') + 1)); }

/// Ids are hex digits; whatever else would come is left out.
std::string id_text(std::string_view id) {
    std::string text;
    for (const char c : id.substr(0, 64))
        if (std::isalnum(static_cast<unsigned char>(c)) || c == '-') text += c;
    return text;
}

}

std::string html_escaped(std::string_view text) {
    std::string escaped;
    for (const char c : text) {
        switch (c) {
            case '&':
                escaped += "&amp;";
                break;
            case '<':
                escaped += "&lt;";
                break;
            case '>':
                escaped += "&gt;";
                break;
            case '"':
                escaped += "&quot;";
                break;
            case '\n':
                escaped += "<br>\n";
                break;
            default:
                if (static_cast<unsigned char>(c) >= 0x20 || c == '\t') escaped += c;
        }
    }
    return escaped;
}

bool good_email_address(std::string_view address) {
    const auto at = address.rfind('@');
    if (address.size() > kLongestAddress || at == std::string_view::npos || at == 0 || at > 64) return false;
    const auto dots_right = [](std::string_view text) {
        return !text.empty() && text.front() != '.' && text.back() != '.' && text.find("..") == std::string_view::npos;
    };
    const auto word = [](char c, std::string_view more) {
        return std::isalnum(static_cast<unsigned char>(c)) || more.find(c) != std::string_view::npos;
    };
    const auto user = address.substr(0, at);
    const auto host = address.substr(at + 1);
    return dots_right(user) && dots_right(host) &&
           std::all_of(user.begin(), user.end(), [&](char c) { return word(c, ".!#$%&'*+-/=?^_`{|}~"); }) &&
           std::all_of(host.begin(), host.end(), [&](char c) { return word(c, ".-"); });
}

domain::DefinitionFaults faults_of(const EmailEnvelope& envelope) {
    constexpr const char* rule = "must be an address as in ops@example.org";
    domain::DefinitionFaults faults;
    if (!good_email_address(envelope.from)) faults.push_back({"/from", rule});
    if (envelope.to.empty() || envelope.to.size() > kMostRecipients)
        faults.push_back({"/to", "must be 1 to " + std::to_string(kMostRecipients) + " addresses"});
    for (std::size_t i = 0; i < envelope.to.size(); ++i)
        if (!good_email_address(envelope.to[i])) faults.push_back({"/to/" + std::to_string(i), rule});
    return faults;
}

std::string header_text(std::string_view text) {
    const std::string line = one_line(platform::storable_text(text));
    const bool safe = line.size() <= 60 && std::all_of(line.begin(), line.end(), printable) &&
                      line.find("=?") == std::string::npos && !line.starts_with(' ') && !line.ends_with(' ');
    if (safe) return line;
    std::string words;
    for (std::string_view rest = line; !rest.empty();) {
        const auto word = platform::utf8_prefix(rest, kWord);
        words += (words.empty() ? "" : "\r\n ") + ("=?UTF-8?B?" + platform::base64(word) + "?=");
        rest.remove_prefix(word.size());
    }
    return words;
}

std::string email_date(domain::TimePoint at) {
    constexpr std::array<const char*, 7> days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    constexpr std::array<const char*, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                 "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    at = std::clamp(at, domain::kFirstTime, domain::kLastTime);
    const auto day = std::chrono::floor<std::chrono::days>(at);
    const std::chrono::year_month_day date{day};
    const std::chrono::hh_mm_ss time{std::chrono::floor<std::chrono::seconds>(at - day)};
    char text[64];
    std::snprintf(text, sizeof text, "%s, %02u %s %04d %02d:%02d:%02d +0000",
                  days[std::chrono::weekday{day}.c_encoding()], static_cast<unsigned>(date.day()),
                  months[static_cast<unsigned>(date.month()) - 1], static_cast<int>(date.year()),
                  static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                  static_cast<int>(time.seconds().count()));
    return text;
}

std::string email_of(const EmailContent& content, const EmailEnvelope& envelope) {
    for (const auto& fault : faults_of(envelope)) throw std::invalid_argument(fault.pointer + " " + fault.what);
    const auto host = host_of(envelope.from);
    const auto thread = "<" + id_text(content.thread) + "@" + host + ">";
    // A dot and an underscore never stand in base64.
    const auto boundary = "=_impresario." + id_text(content.id);
    std::string text;
    const auto header = [&](const char* name, const std::string& value) {
        text += std::string(name) + ": " + value + "\r\n";
    };
    std::string recipients;
    for (const auto& each : envelope.to) recipients += (recipients.empty() ? "" : ",\r\n ") + each;
    // A name that is no encoded word stands in quotes.
    auto name = header_text(envelope.from_name);
    if (!name.starts_with("=?")) {
        std::erase_if(name, [](char c) { return c == '"' || c == '\\'; });
        name = "\"" + name + "\"";
    }
    header("From", name + "\r\n <" + envelope.from + ">");
    header("To", recipients);
    header("Subject", header_text(content.subject));
    header("Date", email_date(content.at));
    header("Message-ID", "<" + id_text(content.id) + "@" + host + ">");
    header("In-Reply-To", thread);
    header("References", thread);
    header("Auto-Submitted", "auto-generated");
    header("X-Auto-Response-Suppress", "All");
    for (const auto& [other, value] : content.headers) header(other, header_text(value));
    header("MIME-Version", "1.0");
    header("Content-Type", "multipart/alternative;\r\n boundary=\"" + boundary + "\"");
    text += "\r\n" + part(boundary, "text/plain", content.text) + part(boundary, "text/html", content.html) + "--" +
            boundary + "--\r\n";
    return text;
}

}
