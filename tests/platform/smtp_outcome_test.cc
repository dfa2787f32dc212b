#include "platform/smtp_outcome.h"

#include <gtest/gtest.h>

namespace impresario::platform {
namespace smtp_outcome_test {

/// A dialogue up to the message's end: what we say begins with "> ".
SmtpOutcome after(const std::vector<std::string>& lines, const SmtpTrouble& trouble = {"it broke"}) {
    SmtpDialogue dialogue({domain::Secret("c2VjcmV0"), domain::Secret("secret")});
    for (const auto& line : lines) {
        if (line == "> .") {
            dialogue.message_left();
        } else if (line.starts_with("> ")) {
            dialogue.sent(line.substr(2) + "\r\n");
        } else {
            dialogue.received(line + "\r\n");
        }
    }
    return dialogue.outcome(trouble);
}

template <class Kind>
std::string why(const SmtpOutcome& outcome) {
    const auto* kind = std::get_if<Kind>(&outcome);
    return kind ? kind->why : "another outcome, of index " + std::to_string(outcome.index());
}

TEST(SmtpOutcome, OnlyTheAnswerToTheMessageDelivers) {
    const auto taken = after({"> MAIL FROM:<a@b>", "250 ok", "> RCPT TO:<c@d>", "250 ok", "> DATA", "354 go", "> .",
                              "250-taken", "250 as 4711", "> QUIT", "500 what?"});
    ASSERT_TRUE(std::holds_alternative<SmtpDelivered>(taken));
    EXPECT_EQ(std::get<SmtpDelivered>(taken).said, "250-taken as 4711");
    EXPECT_EQ(why<SmtpFailed>(after({"> DATA", "250 I take it already"})), "it broke");
    EXPECT_EQ(why<SmtpUnknown>(after({"> DATA", "354 go", "> ."})), "it broke");
    EXPECT_EQ(why<SmtpUnknown>(after({"> DATA", "354 go", "> .", "399 hm"})), "it broke");
    EXPECT_EQ(why<SmtpFailed>(after({"> .", "421 going down"})),
              "the server refused the message for now: 421 going down");
    EXPECT_EQ(why<SmtpRefused>(after({"> .", "554 spam"})), "the server refused the message: 554 spam");
}

TEST(SmtpOutcome, AnObjectionIsToTheCommandBeforeIt) {
    EXPECT_EQ(why<SmtpFailed>(after({"421 busy"})), "the server refused the connection for now: 421 busy");
    EXPECT_EQ(why<SmtpRefused>(after({"220 hi", "> AUTH PLAIN", "334 ", "> AHgAeQ==", "535 no"})),
              "the server refused the user name or password: 535 no");
    // An answer to what came before says nothing about what broke after it.
    EXPECT_EQ(why<SmtpFailed>(after({"> EHLO us", "502 never heard", "> HELO us"})), "it broke");
    EXPECT_EQ(why<SmtpRefused>(after({"> EHLO us", "250 hi"}, {"no STARTTLS", true})), "no STARTTLS");
}

TEST(SmtpOutcome, AllRecipientsRefusedIsTheMessageRefused) {
    EXPECT_EQ(why<SmtpRefused>(after({"> RCPT TO:<a@b>", "550 gone", "> RCPT TO:<c@d>", "553 what?"})),
              "the server refused all recipients: a@b (550 gone) c@d (553 what?)");
    // One of them may be reached later.
    EXPECT_EQ(why<SmtpFailed>(after({"> RCPT TO:<a@b>", "450 later", "> RCPT TO:<c@d>", "550 gone"})),
              "the server refused all recipients for now: a@b (450 later) c@d (550 gone)");
    // Where one was taken, what ends it is something else.
    EXPECT_EQ(why<SmtpFailed>(after({"> RCPT TO:<a@b>", "250 ok", "> RCPT TO:<c@d>", "550 gone"})), "it broke");
}

TEST(SmtpOutcome, NoSecretIsInAnyText) {
    EXPECT_EQ(why<SmtpRefused>(after({"> AUTH LOGIN", "535-secret is", "535 wrong: c2VjcmV0"})),
              "the server refused the user name or password: 535-[redacted] is wrong: [redacted]");
    EXPECT_EQ(why<SmtpFailed>(after({}, {"secret and \xff"})), "[redacted] and \xef\xbf\xbd");
    std::vector<std::string> lines(10000, "550-" + std::string(100, 'x'));
    lines.emplace_back("550 at last");
    EXPECT_EQ(why<SmtpRefused>(after(lines)).size(), 500U);
}

}
}
