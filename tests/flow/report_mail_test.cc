// Reports by e-mail, to a server that demands STARTTLS and a log-in (npm's smtp-server).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/hub.h"
#include "tests/support/mailbox.h"

namespace impresario::testing {
namespace {

using ::testing::HasSubstr;

TEST(ReportMail, ADayIsMailedAsTextAndHtml) {
    const Mailbox mailbox;
    const HubFixture hub("[[alerts.receivers]]\nname = \"mail\"\ntype = \"email\"\nurl = \"smtp://127.0.0.1:" +
                         std::to_string(mailbox.port()) + "\"\nusername = \"ada\"\npassword = '" + Mailbox::password() +
                         "'\nextra_trust = \"" + mailbox.trusted() +
                         "\"\nfrom = \"impresario@example.com\"\nto = [\"ops@example.com\"]\n");
    const auto sent = hub.cli({"report", "send", "daily", "--to", "mail", "--at", "2026-03-10"});
    ASSERT_EQ(sent.code, 0) << sent.text;
    const auto message = mailbox.message();
    EXPECT_THAT(message, HasSubstr("Subject: Daily summary, 2026-03-10\r\n"));
    EXPECT_THAT(message, HasSubstr("X-Impresario-Report: daily\r\n"));
    EXPECT_THAT(message, HasSubstr("References: <daily-report@example.com>\r\n"));
    EXPECT_THAT(message, HasSubstr("Content-Type: text/plain"));
    EXPECT_THAT(message, HasSubstr("Content-Type: text/html"));
}

}
}
