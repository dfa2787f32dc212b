// E-mail to a server that we did not write: npm's smtp-server (tests/clients/mailbox.mjs).
#include "platform/smtp_client.h"

#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>
#include <filesystem>
#include <fstream>

#include "platform/crypto.h"
#include "tests/support/hub.h"
#include "tests/support/mailbox.h"
#include "tests/support/temporary_directory.h"

namespace impresario::platform {
namespace smtp_client_test {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::eventually;
using testing::free_port;
using ::testing::HasSubstr;
using testing::Json;
using testing::Mailbox;
using testing::make_certificate;
using tcp = asio::ip::tcp;

const std::string kPassword = testing::Mailbox::password();
const std::string kMessage = "Subject: test\r\n\r\nHello\r\n";

EgressPolicy loopback() { return EgressPolicy({*Cidr::parse("127.0.0.0/8")}); }

/// One that accepts connections, and says nothing.
class Mute {
  public:
    Mute() : acceptor_(io_, {asio::ip::address_v4::loopback(), 0}) {}
    SmtpSettings settings() const {
        SmtpSettings made;
        made.url = "smtp://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
        made.timeout = 30s;
        return made;
    }

  private:
    asio::io_context io_;
    tcp::acceptor acceptor_;
};

class SmtpClientTest : public ::testing::Test {
  protected:
    /// Begins to send; the outcome comes while io_ runs.
    void start(SmtpSettings settings, std::vector<std::string> to = {"grace@example.com"},
               std::string message = kMessage, std::string from = "hub@example.com") {
        asio::co_spawn(io_, one(std::move(settings), std::move(from), std::move(to), std::move(message)),
                       asio::detached);
    }
    SmtpOutcome send(SmtpSettings settings, std::vector<std::string> to = {"grace@example.com"},
                     std::string message = kMessage, std::string from = "hub@example.com") {
        start(std::move(settings), std::move(to), std::move(message), std::move(from));
        io_.restart();
        io_.run();
        return outcomes_.back();
    }
    Task<void> one(SmtpSettings settings, std::string from, std::vector<std::string> to, std::string message) {
        auto sending = client_->send(std::move(settings), std::move(from), std::move(to), std::move(message));
        auto outcome = co_await std::move(sending);
        EXPECT_TRUE(io_.get_executor().running_in_this_thread());
        outcomes_.push_back(std::move(outcome));
    }

    asio::io_context io_{1};
    std::unique_ptr<SmtpClient> client_ = std::make_unique<SmtpClient>(loopback());
    std::vector<SmtpOutcome> outcomes_;
};

template <class Kind>
std::string why(const SmtpOutcome& outcome) {
    if (const auto* kind = std::get_if<Kind>(&outcome)) return kind->why;
    return "another outcome: " + std::visit(
                                     [](const auto& other) -> std::string {
                                         if constexpr (requires { other.why; }) return other.why;
                                         return "delivered";
                                     },
                                     outcome);
}

bool delivered(const SmtpOutcome& outcome) {
    if (std::holds_alternative<SmtpDelivered>(outcome)) return true;
    ADD_FAILURE() << why<SmtpUnknown>(outcome) << " (of index " << outcome.index() << ")";
    return false;
}

/// Lines of all kinds up to a size: of dots, beginning with dots, with UTF-8.
std::string long_message(std::size_t size) {
    std::string text = "Subject: long\r\n\r\n";
    for (int i = 0; text.size() < size; ++i) {
        text += std::string(static_cast<std::size_t>(i % 4), '.');
        if (i % 3) text += " naïve 日本語 😀 " + std::to_string(i);
        if (i % 101 == 0) text += std::string(900, '.');
        text += "\r\n";
    }
    return text;
}

TEST_F(SmtpClientTest, DeliversByStarttlsByteForByte) {
    Mailbox mailbox;
    const std::string message = "Subject: dots\r\n\r\n.\r\n..\r\n.x\r\nnaïve 日本語 😀\r\n\r\n.\r\n";
    const auto outcome = send(mailbox.settings(), {"grace@example.com", "alan@example.com"}, message);
    ASSERT_TRUE(delivered(outcome)) << mailbox.log();
    EXPECT_EQ(mailbox.message(), message);
    EXPECT_THAT(std::get<SmtpDelivered>(outcome).said, HasSubstr("250 kept as number 4711"));
    EXPECT_TRUE(std::get<SmtpDelivered>(outcome).refused.empty());
    const auto came = mailbox.came();
    EXPECT_EQ(came["messages"][0]["from"], "hub@example.com");
    EXPECT_EQ(came["messages"][0]["to"], (Json{"grace@example.com", "alan@example.com"}));
    EXPECT_EQ(came["messages"][0]["tls"], true);
    EXPECT_EQ(came["logins"][0]["password"], kPassword);
    EXPECT_EQ(came["logins"][0]["tls"], true);
    EXPECT_THAT(came["clear"].get<std::string>(), HasSubstr("STARTTLS"));
    EXPECT_EQ(came["clear"].get<std::string>().find("AUTH"), std::string::npos);

    const auto longer = long_message(1024 * 1024);
    ASSERT_TRUE(delivered(send(mailbox.settings(), {"grace@example.com"}, longer)));
    EXPECT_TRUE(mailbox.message() == longer) << mailbox.message().size() << " of " << longer.size() << " bytes";
}

// libcurl 7.88 counts the dots that the protocol adds, where it is told a message's length, and stops when it is
// reached.
TEST_F(SmtpClientTest, NothingIsCutOffWhereDotsAreAdded) {
    Mailbox mailbox;
    constexpr std::size_t kPiece = 64 * 1024;
    constexpr std::size_t kDots = 100;
    std::string message = "Subject: dots\r\n\r\n";
    for (std::size_t i = 0; i < kDots; ++i) message += ".\r\n";
    message += std::string(kPiece + kDots - message.size() - 2, 'a') + "\r\n";
    ASSERT_TRUE(delivered(send(mailbox.settings(), {"grace@example.com"}, message)));
    EXPECT_TRUE(mailbox.message() == message) << mailbox.message().size() << " of " << message.size() << " bytes";
}

TEST_F(SmtpClientTest, DeliversByImplicitTls) {
    Mailbox mailbox("implicit");
    ASSERT_TRUE(delivered(send(mailbox.settings())));
    EXPECT_EQ(mailbox.message(), kMessage);
    EXPECT_EQ(mailbox.came()["logins"][0]["tls"], true);
}

TEST_F(SmtpClientTest, NothingSecretGoesUnencryptedUnlessThatIsAllowed) {
    Mailbox mailbox("none");
    auto settings = mailbox.settings();
    EXPECT_THAT(why<SmtpRefused>(send(settings)), HasSubstr("offers no STARTTLS"));
    const auto came = mailbox.came();
    EXPECT_THAT(came["clear"].get<std::string>(), HasSubstr("EHLO"));
    EXPECT_EQ(came["clear"].get<std::string>().find("AUTH"), std::string::npos) << came["clear"];
    EXPECT_EQ(came["clear"].get<std::string>().find("MAIL"), std::string::npos) << came["clear"];
    EXPECT_TRUE(came["logins"].empty());

    settings.allow_plaintext = true;
    ASSERT_TRUE(delivered(send(settings)));
    EXPECT_EQ(mailbox.came()["logins"][0]["password"], kPassword);
    EXPECT_THAT(mailbox.came()["clear"].get<std::string>(), HasSubstr("AUTH"));
}

TEST_F(SmtpClientTest, WhatIsAllowedUnencryptedIsEncryptedWhereThatIsOffered) {
    Mailbox mailbox;
    auto settings = mailbox.settings();
    settings.allow_plaintext = true;
    ASSERT_TRUE(delivered(send(settings)));
    EXPECT_EQ(mailbox.came()["logins"][0]["tls"], true);
}

TEST_F(SmtpClientTest, AWrongPasswordIsRefusedAndInNoText) {
    Mailbox mailbox;
    auto settings = mailbox.settings();
    settings.password = domain::Secret("wróng-password");
    const auto text = why<SmtpRefused>(send(settings));
    EXPECT_EQ(text,
              "the server refused the user name or password: 535 5.7.8 [redacted] is not the password of ada: "
              "[redacted]");
    EXPECT_EQ(mailbox.came()["logins"][0]["password"], "wróng-password") << "the server did see it";
    EXPECT_TRUE(mailbox.came()["messages"].empty());
}

TEST_F(SmtpClientTest, LogsInByWhatTheServerOffers) {
    Mailbox mailbox("starttls", {{"methods", {"LOGIN"}}});
    ASSERT_TRUE(delivered(send(mailbox.settings())));
    EXPECT_EQ(mailbox.came()["logins"][0]["method"], "LOGIN");
    Mailbox strange("starttls", {{"methods", {"XOAUTH2"}}});
    EXPECT_EQ(why<SmtpRefused>(send(strange.settings())), "the server offers no way to log in that is known here");
    EXPECT_TRUE(strange.came()["logins"].empty());
}

TEST_F(SmtpClientTest, ACertificateIsCheckedAndSoIsItsName) {
    Mailbox mailbox;
    auto settings = mailbox.settings();
    settings.extra_trust.clear();
    EXPECT_THAT(why<SmtpFailed>(send(settings)), HasSubstr("certificate"));
    Mailbox other("implicit", Json::object(), "DNS:somebody.example");
    EXPECT_THAT(why<SmtpFailed>(send(other.settings())), HasSubstr("certificate subject name"));
    for (const auto* each : {&mailbox, &other}) EXPECT_TRUE(each->came()["logins"].empty());
}

TEST_F(SmtpClientTest, WhatAServerRefusesForNowHasFailedAndForGoodIsRefused) {
    Mailbox mailbox;
    const auto to = [&](const std::string& name) { return send(mailbox.settings(), {name + "@example.com"}); };
    EXPECT_EQ(why<SmtpFailed>(to("later")),
              "the server refused all recipients for now: later@example.com (450 4.2.1 greylisted)");
    EXPECT_EQ(why<SmtpRefused>(to("unknown")),
              "the server refused all recipients: unknown@example.com (550 5.1.1 nobody of that name)");
    EXPECT_EQ(why<SmtpFailed>(to("full")), "the server refused the message for now: 452 4.2.2 mailbox full");
    EXPECT_EQ(why<SmtpRefused>(to("spam")), "the server refused the message: 554 5.7.1 looks like spam");
    EXPECT_EQ(why<SmtpFailed>(send(mailbox.settings(), {"grace@example.com"}, kMessage, "busy@example.com")),
              "the server refused the sender for now: 421 too busy");
    Mailbox resting("starttls", {{"greeting", 421}});
    EXPECT_EQ(why<SmtpFailed>(send(resting.settings())),
              "the server refused the connection for now: 421 come back later");
}

TEST_F(SmtpClientTest, OneRefusedRecipientDoesNotKeepTheMessageFromTheOthers) {
    Mailbox mailbox;
    const auto outcome = send(mailbox.settings(), {"unknown@example.com", "grace@example.com", "later@example.com"});
    ASSERT_TRUE(delivered(outcome));
    const auto& refused = std::get<SmtpDelivered>(outcome).refused;
    ASSERT_EQ(refused.size(), 2U);
    EXPECT_EQ(refused[0].address, "unknown@example.com");
    EXPECT_EQ(refused[0].code, 550);
    EXPECT_EQ(refused[0].said, "550 5.1.1 nobody of that name");
    EXPECT_EQ(refused[1].address, "later@example.com");
    EXPECT_EQ(refused[1].code, 450);
    EXPECT_EQ(mailbox.came()["messages"][0]["to"], Json{"grace@example.com"});
}

TEST_F(SmtpClientTest, NoAnswerToAWholeMessageIsUnknown) {
    Mailbox mailbox;
    auto settings = mailbox.settings();
    settings.timeout = 1500ms;
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_EQ(why<SmtpUnknown>(send(settings, {"silent@example.com"})), "it was not done within 1500 ms");
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 5s);
    EXPECT_EQ(mailbox.message(), kMessage);
    const auto broken = send(mailbox.settings(), {"gone@example.com"});
    EXPECT_TRUE(std::holds_alternative<SmtpUnknown>(broken)) << why<SmtpUnknown>(broken);
    EXPECT_EQ(mailbox.came()["messages"].size(), 2U);
}

TEST_F(SmtpClientTest, AMessageThatDidNotLeaveWholeHasFailed) {
    Mailbox mailbox;
    auto settings = mailbox.settings();
    settings.timeout = 3s;
    EXPECT_EQ(why<SmtpFailed>(send(settings, {"slow@example.com"}, long_message(40 * 1024 * 1024))),
              "it was not done within 3000 ms");
    EXPECT_TRUE(mailbox.came()["messages"].empty());
}

TEST_F(SmtpClientTest, AServerThatDoesNotSayGoodbyeHoldsNobody) {
    Mailbox mailbox;
    const auto begun = std::chrono::steady_clock::now();
    ASSERT_TRUE(delivered(send(mailbox.settings(), {"lingering@example.com"})));
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 10s);
}

TEST_F(SmtpClientTest, AServerThatIsAwayOrMuteHasFailed) {
    SmtpSettings settings;
    settings.url = "smtp://127.0.0.1:" + std::to_string(free_port());
    EXPECT_THAT(why<SmtpFailed>(send(settings)), HasSubstr("127.0.0.1"));
    settings.url = "smtp://nobody.invalid";
    EXPECT_THAT(why<SmtpFailed>(send(settings)), HasSubstr("resolve"));
    const Mute mute;
    settings = mute.settings();
    settings.timeout = 500ms;
    EXPECT_EQ(why<SmtpFailed>(send(settings)), "it was not done within 500 ms");
}

TEST_F(SmtpClientTest, ANameThatLeadsToAForbiddenAddressIsRefused) {
    Mailbox mailbox;
    auto settings = mailbox.settings();
    settings.url = "smtp://localhost:" + std::to_string(mailbox.port());
    ASSERT_TRUE(delivered(send(settings)));
    const int before = mailbox.came()["connections"];

    client_ = std::make_unique<SmtpClient>(EgressPolicy());
    EXPECT_THAT(why<SmtpRefused>(send(settings)), HasSubstr("the egress policy denies "));
    EXPECT_THAT(why<SmtpRefused>(send(mailbox.settings())), HasSubstr("the egress policy denies 127.0.0.1;"));
    EXPECT_EQ(mailbox.came()["connections"], before);
}

TEST_F(SmtpClientTest, TheEnvironmentsProxiesAreNotUsed) {
    Mailbox mailbox;
    const auto away = "http://127.0.0.1:" + std::to_string(free_port());
    for (const auto* name : {"all_proxy", "smtp_proxy", "ALL_PROXY"}) setenv(name, away.c_str(), 1);
    EXPECT_TRUE(delivered(send(mailbox.settings())));
    for (const auto* name : {"all_proxy", "smtp_proxy", "ALL_PROXY"}) unsetenv(name);
}

TEST_F(SmtpClientTest, NobodyIsInjectedByAddressesOrLineEnds) {
    Mailbox mailbox;
    for (const std::string& bad : std::vector<std::string>{
             "grace@example.com\r\nRCPT TO:<eve@example.com>", "grace@example.com\nDATA", "grace@example.com\r",
             "grace@example.com> SIZE=1", "<grace@example.com", "grace @example.com",
             std::string("gr\0ce@example.com", 17), "grace", "@", "grace@", "@example.com", "", "gräce@example.com"}) {
        EXPECT_THAT(why<SmtpRefused>(send(mailbox.settings(), {"alan@example.com", bad})), HasSubstr("a recipient "));
        EXPECT_THAT(why<SmtpRefused>(send(mailbox.settings(), {"alan@example.com"}, kMessage, bad)),
                    HasSubstr("the sender "));
    }
    EXPECT_EQ(why<SmtpRefused>(send(mailbox.settings(), {})), "there is no recipient");
    for (const std::string bad : {"a\r\n\n.\r\n", "a\r\n\r.\r\n", "a\n", "a\r", "a", "\na\r\n", ""})
        EXPECT_THAT(why<SmtpRefused>(send(mailbox.settings(), {"alan@example.com"}, bad)), HasSubstr("CRLF")) << bad;
    EXPECT_EQ(mailbox.came()["connections"], 0);
}

TEST_F(SmtpClientTest, StoppingEndsWhatHangs) {
    Mailbox mailbox;
    const Mute mute;
    start(mute.settings());
    start(mailbox.settings(), {"silent@example.com"});
    start(mute.settings());  // waits for a thread
    io_.poll();
    ASSERT_TRUE(eventually([&] { return mailbox.came()["messages"].size() == 1; }));
    const auto begun = std::chrono::steady_clock::now();
    client_->stop();
    io_.run();
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 5s);
    ASSERT_EQ(outcomes_.size(), 3U);
    int unknown = 0;
    for (const auto& outcome : outcomes_) {
        const bool left = std::holds_alternative<SmtpUnknown>(outcome);
        unknown += left ? 1 : 0;
        EXPECT_EQ(left ? why<SmtpUnknown>(outcome) : why<SmtpFailed>(outcome), "it was stopped meanwhile");
    }
    EXPECT_EQ(unknown, 1);
    EXPECT_EQ(why<SmtpFailed>(send(mailbox.settings())), "it was stopped meanwhile");
}

TEST_F(SmtpClientTest, WhatWaitsForAThreadIsBoundedInNumberAndTime) {
    const Mute mute;
    auto settings = mute.settings();
    settings.timeout = 1s;
    constexpr int kMost = 64;
    for (int i = 0; i < kMost + 6; ++i) start(settings);
    const auto begun = std::chrono::steady_clock::now();
    io_.run();
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 5s) << "not one after the other";
    std::map<std::string, int> count;
    for (const auto& outcome : outcomes_) ++count[why<SmtpFailed>(outcome)];
    EXPECT_EQ(count["too many other messages are being sent"], 6);
    EXPECT_EQ(count["it was not done within 1000 ms"], kMost);
    outcomes_.clear();
    EXPECT_EQ(why<SmtpFailed>(send(settings)), "it was not done within 1000 ms") << "places are given back";
}

TEST(SmtpSettings, EveryFaultNamesItsField) {
    const auto faults = [](const std::function<void(SmtpSettings&)>& change) {
        SmtpSettings settings;
        settings.url = "smtp://mail.example.com";
        change(settings);
        std::string all;
        for (const auto& [field, what] : smtp_faults(settings)) all += field + " " + what + "\n";
        return all;
    };
    for (const auto* good : {"smtp://mail.example.com:587", "smtps://mail.example.com", "smtp://[::1]:25/", "SMTP://a"})
        EXPECT_EQ(faults([&](auto& s) { s.url = good; }), "") << good;
    for (const auto* bad : {"", "mail.example.com:587", "http://mail.example.com", "smtp://ada:secret@mail.example.com",
                            "smtp://", "smtp://mail.example.com:0", "smtp://mail.example.com:70000",
                            "smtp://mail.example.com/path", "smtp://mail.example.com?a", "smtp://a:1:2"})
        EXPECT_EQ(faults([&](auto& s) { s.url = bad; }).find("url "), 0U) << bad;
    EXPECT_THAT(faults([](auto& s) { s.username = "ada"; }), HasSubstr("password is missing"));
    EXPECT_THAT(faults([](auto& s) { s.password = domain::Secret("x"); }), HasSubstr("username is missing"));
    for (const auto wrong : {0ms, -1ms, 60000ms})
        EXPECT_THAT(faults([&](auto& s) { s.timeout = wrong; }), HasSubstr("timeout must be"));
    EXPECT_EQ(faults([](auto& s) { s.timeout = 59999ms; }), "");
    const auto two = faults([](auto& s) {
        s.url = "x";
        s.timeout = 0ms;
    });
    EXPECT_EQ(std::count(two.begin(), two.end(), '\n'), 2);
}

}
}
