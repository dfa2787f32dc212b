#include "alerts/message.h"

#include <gtest/gtest.h>

#include "tests/alerts/messages.h"

namespace impresario::alerts {
namespace message_test {

using namespace testing;
using std::chrono::minutes;

TEST(Message, SaysWhatSinceWhenWhyAndWhereToLook) {
    EXPECT_EQ(plain_text(message_about({full_alert()}), 10000),
              "FIRING: Budget day is 93 % used\n\n"
              "Budget day is 93 % used\n"
              "Settled and reserved together.\n"
              "Since: 2026-11-27 22:18:11 UTC, for 5m 00s\n"
              "Likely: 1) a batch; 2) dearer calls; 3) retries\n"
              "Look: impresario budgets show day\n"
              "Page: https://hub.example.org/budgets/day\n"
              "Runbook: docs/runbooks/cost_budget_exceeded.md\n"
              "Executions: e1, e2, e3, e4, e5 and 1 more\n");
    EXPECT_EQ(
        plain_text(message_about({}, {alert_of("x", "Deep")}, NotificationKind::resolved, ""), 10000),
        "RESOLVED: Deep\n\nResolved: Deep\nFrom: 2026-11-27 22:18:11 UTC until 2026-11-27 22:22:11 UTC, 4m 00s\n");
}

TEST(Message, TheWorstComesFirst) {
    const auto message = message_about(
        {alert_of("a", "info", "info"), alert_of("b", "odd", "odd"), alert_of("c", "critical", "critical")});
    EXPECT_EQ(message.title(), "FIRING: critical (and 2 more)");
    EXPECT_EQ(message.severity(), Severity::critical);
    EXPECT_EQ(message.firing[1].summary, "odd") << "as a warning";
    EXPECT_EQ(message.common_labels(), (Labels{{"organization", "default"}}));
}

TEST(Message, WhatIsNotThereAnyMoreIsNamedAllTheSame) {
    Notification notification;
    notification.kind = NotificationKind::resolved;
    notification.resolved = {"0a1b"};
    const auto message = message_of(notification, {}, {}, "", kNow);
    ASSERT_EQ(message.resolved.size(), 1U);
    EXPECT_EQ(message.title(), "RESOLVED: 0a1b");
    EXPECT_FALSE(message.resolved[0].firing(kNow));
}

TEST(Message, OfTwoWithTheSameLabelsTheRightOneIsTold) {
    auto old = alert_of("a", "old");
    old.ends_at = kNow - minutes{2};
    const auto message = message_about({old, alert_of("a", "new")});
    EXPECT_EQ(message.firing[0].summary, "new");
}

TEST(Message, BytesThatAreNoTextBecomeText) {
    auto alert = alert_of("a", std::string("a\0b\xff", 4));
    const auto message = message_about({alert});
    EXPECT_EQ(message.firing[0].summary, "a\uFFFDb\uFFFD");
}

TEST(Message, IsCutAtAWholeCharacterAndSaysWhatWasLeftOut) {
    const auto message = message_about(hostile_alerts(200));
    for (std::size_t most = 400; most < 9000; most += 37) {
        const auto text = plain_text(message, most);
        ASSERT_LE(text.size(), most);
        ASSERT_NE(text.find(" more; all of them: https://hub.example.org/alerts/"), std::string::npos) << most;
    }
    EXPECT_NE(plain_text(message, 100000).find("\n190 more; all of them: "), std::string::npos);
    EXPECT_EQ(shortened("aé😀b", 8), "aé😀b");
    EXPECT_EQ(shortened("aé😀b", 7), "aé…");
    EXPECT_EQ(shortened("abc", 2), "");
}

TEST(Message, TemplatesOfTheUser) {
    auto message = message_about({full_alert(), alert_of("x", "y")}, {alert_of("z", "z")});
    message.templates.title = "{{ labels.organization }}/{{ kind }}\n{{ firing }}+{{ resolved }} {{ name }}";
    message.templates.alert = "{{ severity }} {{ labels.alertname }} {{ link }}";
    EXPECT_EQ(message.title(), "default/first 2+1 cost_budget_exceeded") << "on one line";
    const auto lines = lines_of(message, message.firing[0]);
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(lines[0].text, "critical cost_budget_exceeded https://hub.example.org/budgets/day");
    EXPECT_TRUE(faults_of(message.templates).empty());
    const auto faults = faults_of(MessageTemplates{"{{ titel }}", "{{ x }}"});
    ASSERT_EQ(faults.size(), 2U);
    EXPECT_EQ(faults[0].pointer, "/title");
    EXPECT_EQ(faults[1].pointer, "/alert");
    message.templates.title = "{{ labels.nothing }}";
    EXPECT_EQ(message.title(), "FIRING") << "never empty";
}

TEST(Message, LinksAreAddressesOrNothing) {
    EXPECT_EQ(absolute_link("https://h", "/a?b=c"), "https://h/a?b=c");
    EXPECT_EQ(absolute_link("", "/a"), "");
    EXPECT_EQ(absolute_link("https://h", "http://x/y"), "http://x/y");
    for (const auto* bad : {"javascript:alert(1)", "a", "", "https://h/a b", "https://h/>", "https://h/|x",
                            "https://h/\"", "https://user:x@h/", "https://h/\n", "https://h/ä"})
        EXPECT_EQ(absolute_link("https://h", bad), "") << bad;
}

}
}
