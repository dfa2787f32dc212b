// MIME that every reader takes, and headers that nobody else writes.
#include "alerts/email_message.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <sstream>

#include "platform/crypto.h"
#include "platform/json_text.h"
#include "tests/alerts/messages.h"

namespace impresario::alerts {
namespace email_message_test {

using namespace testing;

EmailEnvelope envelope() { return {"hub@example.org", "Impresario", {"ann@example.org", "bob@example.org"}}; }

/// Unfolded headers in order, then the parts' decoded texts.
struct Mail {
    std::vector<std::pair<std::string, std::string>> headers;
    std::vector<std::string> parts;
    std::size_t longest_line = 0;

    std::string header(const std::string& name) const {
        for (const auto& [each, value] : headers)
            if (each == name) return value;
        return "(none)";
    }
};

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::size_t at = 0;
    while (at < text.size()) {
        const auto end = text.find("\r\n", at);
        EXPECT_NE(end, std::string::npos) << "every line ends with CRLF";
        if (end == std::string::npos) break;
        lines.push_back(text.substr(at, end - at));
        EXPECT_EQ(lines.back().find_first_of("\r\n"), std::string::npos) << "and nothing else ends one";
        at = end + 2;
    }
    return lines;
}

Mail read(const std::string& text) {
    Mail mail;
    const auto lines = lines_of(text);
    std::size_t i = 0;
    for (; i < lines.size() && !lines[i].empty(); ++i) {
        if (lines[i][0] == ' ') {
            mail.headers.back().second += lines[i];
            continue;
        }
        const auto colon = lines[i].find(": ");
        EXPECT_NE(colon, std::string::npos) << lines[i];
        mail.headers.emplace_back(lines[i].substr(0, colon), lines[i].substr(colon + 2));
    }
    for (const auto& line : lines) mail.longest_line = std::max(mail.longest_line, line.size());
    for (const char c : text) EXPECT_LT(static_cast<unsigned char>(c), 0x80);
    const auto type = mail.header("Content-Type");
    const auto boundary = "--" + type.substr(type.find('"') + 1, type.rfind('"') - type.find('"') - 1);
    while (i < lines.size() && lines[i] != boundary) ++i;
    while (i < lines.size() && lines[i] == boundary) {
        while (!lines[i].empty()) ++i;
        std::string encoded;
        for (++i; !lines[i].starts_with(boundary); ++i) encoded += lines[i];
        const auto decoded = platform::decode_base64(encoded);
        EXPECT_TRUE(decoded);
        mail.parts.push_back(decoded.value_or(""));
    }
    EXPECT_EQ(lines.back(), boundary + "--");
    return mail;
}

/// The words of a header back to text.
std::string decoded(const std::string& value) {
    std::string text;
    for (std::size_t at = 0; (at = value.find("=?UTF-8?B?", at)) != std::string::npos;) {
        const auto end = value.find("?=", at + 10);
        EXPECT_LE(end + 2 - at, 75U) << "RFC 2047";
        const auto word = *platform::decode_base64(value.substr(at + 10, end - at - 10));
        EXPECT_EQ(platform::storable_text(word), word) << "whole characters in each word";
        text += word;
        at = end;
    }
    return text.empty() ? value : text;
}

TEST(EmailMessage, AWholeOne) {
    const auto mail = read(email_message(message_about({full_alert()}), envelope()));
    EXPECT_EQ(mail.header("From"), "\"Impresario\" <hub@example.org>");
    EXPECT_EQ(mail.header("To"), "ann@example.org, bob@example.org");
    EXPECT_EQ(mail.header("Subject"), "FIRING: Budget day is 93 % used");
    EXPECT_EQ(mail.header("Date"), "Fri, 27 Nov 2026 22:23:11 +0000");
    EXPECT_EQ(mail.header("Message-ID"), "<0123456789abcdef0123456789abcdef@example.org>");
    EXPECT_EQ(mail.header("References"), "<fedcba9876543210fedcba9876543210@example.org>");
    EXPECT_EQ(mail.header("In-Reply-To"), mail.header("References"));
    EXPECT_EQ(mail.header("Auto-Submitted"), "auto-generated");
    EXPECT_EQ(mail.header("Importance"), "high");
    EXPECT_EQ(mail.header("MIME-Version"), "1.0");
    ASSERT_EQ(mail.parts.size(), 2U);
    EXPECT_NE(mail.parts[0].find("Look: impresario budgets show day\r\n"), std::string::npos);
    EXPECT_NE(mail.parts[1].find("<code>impresario budgets show day</code>"), std::string::npos);
    EXPECT_NE(mail.parts[1].find("<a href=\"https://hub.example.org/budgets/day\">"), std::string::npos);
    EXPECT_LE(mail.longest_line, 78U);
}

TEST(EmailMessage, AnIncidentIsAThread) {
    auto first = message_about({full_alert()});
    auto later = message_about({}, {full_alert()}, NotificationKind::resolved);
    later.notification.id = "ffff";
    const auto a = read(email_message(first, envelope()));
    const auto b = read(email_message(later, envelope()));
    EXPECT_EQ(a.header("References"), b.header("References"));
    EXPECT_NE(a.header("Message-ID"), b.header("Message-ID"));
    EXPECT_EQ(b.header("Importance"), "(none)");
}

TEST(EmailMessage, NothingFromAnAlertBecomesAHeader) {
    auto alert = full_alert();
    alert.summary = "x\r\nBcc: eve@example.org\r\n\r\n<script>";
    auto message = message_about({alert});
    auto from = envelope();
    from.from_name = "Hub\"\r\nBcc: eve@example.org\\";
    const auto mail = read(email_message(message, from));
    EXPECT_EQ(mail.header("Bcc"), "(none)");
    EXPECT_EQ(mail.headers.size(), 14U);
    EXPECT_EQ(mail.header("From"), "\"Hub  Bcc: eve@example.org\" <hub@example.org>");
    EXPECT_EQ(mail.parts[1].find("<script>"), std::string::npos);
    message.notification.id = "a\r\nBcc: eve";
    message.notification.incident = "b>\r\nBcc: eve";
    EXPECT_EQ(read(email_message(message, envelope())).header("Bcc"), "(none)");
}

TEST(EmailMessage, HeadersTakeAnyText) {
    EXPECT_EQ(header_text("plain"), "plain");
    for (const std::string text : {"Überlauf", "=?UTF-8?B?eA==?=", " x", "x ", "😀"}) {
        EXPECT_TRUE(header_text(text).starts_with("=?")) << text;
        EXPECT_EQ(decoded(header_text(text)), text);
    }
    std::string many;
    for (int i = 0; i < 50; ++i) many += "é😀 a";
    const auto folded = header_text(many);
    EXPECT_EQ(decoded(folded), many) << "cut between characters only";
    EXPECT_EQ(header_text("\xff"), header_text("\uFFFD"));
}

TEST(EmailMessage, AddressesAreCheckedBeforeAnythingIsWritten) {
    for (const auto* good : {"a@b", "ops+x@example.org", "o'neil@ex-ample.co.uk", "a.b@1.2"})
        EXPECT_TRUE(good_email_address(good)) << good;
    for (const auto* bad : {"", "a", "@b", "a@", "a b@c", "a@b c", "a@b\r\nBcc: x@y", "a,b@c", "<a@b>", "\"a\"@b",
                            "a@b@c,d", ".a@b", "a..b@c", "a@.b", "a@b.", "ä@b", "a@b;c"})
        EXPECT_FALSE(good_email_address(bad)) << bad;
    EXPECT_FALSE(good_email_address(std::string(65, 'a') + "@b"));
    EmailEnvelope wrong{"x", "", {"a@b", "a\nb@c"}};
    const auto faults = faults_of(wrong);
    ASSERT_EQ(faults.size(), 2U);
    EXPECT_EQ(faults[0].pointer, "/from");
    EXPECT_EQ(faults[1].pointer, "/to/1");
    EXPECT_FALSE(faults_of(EmailEnvelope{"a@b", "", {}}).empty());
    EXPECT_THROW(email_message(message_about({full_alert()}), wrong), std::invalid_argument);
}

TEST(EmailMessage, DatesOfAllDays) {
    EXPECT_EQ(email_date(*domain::parse_time("2028-02-29T00:00:00Z")), "Tue, 29 Feb 2028 00:00:00 +0000");
    EXPECT_EQ(email_date(*domain::parse_time("2026-01-04T09:05:07.9Z")), "Sun, 04 Jan 2026 09:05:07 +0000");
    EXPECT_EQ(email_date(domain::kNever), "Fri, 31 Dec 9999 23:59:59 +0000");
}

TEST(EmailMessage, RandomTextsKeepLinesShortAndHeadersWhole) {
    const std::vector<std::string> pieces{"\r\n",
                                          "\n",
                                          "\r",
                                          "Bcc: x@y",
                                          "😀",
                                          "é",
                                          "=?",
                                          "?=",
                                          "<",
                                          "&",
                                          "\xff",
                                          ".",
                                          " ",
                                          std::string(30, 'x'),
                                          std::string(1, '\0'),
                                          "--"};
    for (unsigned seed = 1; seed <= 200; ++seed) {
        std::mt19937 random(seed);
        const auto text = [&] {
            std::string all;
            for (auto left = random() % 60; left > 0; --left) all += pieces[random() % pieces.size()];
            return all;
        };
        auto alert = alert_of("a", text());
        alert.description = text();
        alert.causes = {text()};
        alert.command = text();
        auto from = envelope();
        from.from_name = text();
        const auto mail = read(email_message(message_about({alert}), from));
        ASSERT_EQ(mail.headers.size(), 13U) << seed;
        ASSERT_LE(mail.longest_line, 998U) << seed;
        ASSERT_EQ(mail.parts.size(), 2U) << seed;
        for (const auto& part : mail.parts) ASSERT_EQ(platform::storable_text(part), part) << seed;
    }
}

}
}
