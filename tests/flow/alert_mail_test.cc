// Alerts by e-mail, to a server that demands STARTTLS and a log-in (npm's smtp-server).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/hub.h"
#include "tests/support/mailbox.h"

namespace impresario::testing {
namespace {

using ::testing::HasSubstr;

std::string config(const Mailbox& mailbox) {
    return "[alerts]\nevery_seconds = 1\n[[alerts.rules]]\nname = \"queue_depth_high\"\nraise = 1\nclear = "
           "1\nfor_seconds = "
           "0\nkeep_seconds = 0\n[alerts.route]\nreceiver = \"mail\"\ngroup_wait_seconds = 0\ngroup_interval_seconds = "
           "1\n"
           "[[alerts.receivers]]\nname = \"mail\"\ntype = \"email\"\nurl = \"smtp://127.0.0.1:" +
           std::to_string(mailbox.port()) + "\"\nusername = \"ada\"\npassword = '" + Mailbox::password() +
           "'\nextra_trust = \"" + mailbox.trusted() +
           "\"\nfrom = \"impresario@example.com\"\nto = [\"ops@example.com\", " + "\"boss@example.com\"]\n";
}

std::string header(const std::string& message, const std::string& name) {
    const auto at = message.find("\r\n" + name + ": ");
    if (at == std::string::npos) return "";
    const auto begin = at + name.size() + 4;
    return message.substr(begin, message.find("\r\n", begin) - begin);
}

TEST(AlertMail, AnIncidentIsAThreadOfEncryptedMessages) {
    const Mailbox mailbox;
    Peer peer;
    HubFixture hub(config(mailbox));
    hub.register_type("work", peer.url());
    hub.api("POST", "/v1/pause", {{"workflow_type", "work"}, {"reason", "test"}});
    const auto id = hub.enqueue("work");
    ASSERT_TRUE(eventually([&] { return !mailbox.came()["messages"].empty(); })) << hub.hub->log();
    hub.api("POST", "/v1/executions/" + id + "/cancel", Json::object());
    ASSERT_TRUE(eventually([&] { return mailbox.came()["messages"].size() == 2; })) << hub.hub->log();

    const auto came = mailbox.came();
    for (const auto& login : came["logins"]) EXPECT_EQ(login["tls"], true);
    const auto first = mailbox.message(0);
    const auto second = mailbox.message(1);
    EXPECT_EQ(came["messages"][0]["to"], (Json{"ops@example.com", "boss@example.com"}));
    EXPECT_EQ(came["messages"][0]["from"], "impresario@example.com");
    EXPECT_THAT(first, HasSubstr("multipart/alternative"));
    EXPECT_THAT(first, HasSubstr("Subject: FIRING: 1 executions of default wait"));
    EXPECT_FALSE(header(first, "Message-ID").empty());
    EXPECT_NE(header(first, "Message-ID"), header(second, "Message-ID"));
    EXPECT_FALSE(header(first, "References").empty());
    EXPECT_EQ(header(first, "References"), header(second, "References")) << "one thread";
    EXPECT_TRUE(eventually([&] {
        return hub.database.value("select count(*) from notifications where state = 'delivered'") == "2";
    }));
    EXPECT_THAT(hub.hub->log(), Not(HasSubstr("horse")));
    EXPECT_EQ(hub.cli({"alerts", "test", "mail"}).code, 0);
}

TEST(AlertMail, AWrongPasswordIsNeverCalledSentAndNeverShown) {
    const Mailbox mailbox("starttls", {{"password", "another"}});
    const HubFixture hub(config(mailbox));
    const auto test = hub.cli({"alerts", "test", "mail"});
    EXPECT_EQ(test.code, 1);
    EXPECT_THAT(test.text, HasSubstr("refused"));
    EXPECT_THAT(test.text, Not(HasSubstr("horse")));
    EXPECT_TRUE(mailbox.came()["messages"].empty());
}

}
}
