// Forms for programs: the generic webhook, PagerDuty, Alertmanager, and what the hub takes in Alertmanager's form.
#include "alerts/webhook_message.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "alerts/alertmanager_json.h"
#include "alerts/alertmanager_message.h"
#include "alerts/pagerduty_message.h"
#include "tests/alerts/messages.h"

namespace impresario::alerts {
namespace webhook_message_test {

using namespace testing;
using std::chrono::hours;
using std::chrono::minutes;
using Tree = nlohmann::json;

TEST(WebhookMessage, HasAlertmanagersMembersAndOurs) {
    const auto tree = Tree::parse(webhook_message(message_about({full_alert()}, {alert_of("x", "Deep")})));
    EXPECT_EQ(tree["version"], "4");
    EXPECT_EQ(tree["status"], "firing");
    EXPECT_EQ(tree["receiver"], "slack");
    EXPECT_EQ(tree["truncatedAlerts"], 0);
    EXPECT_EQ(tree["commonLabels"], (Tree{{"organization", "default"}}));
    EXPECT_EQ(tree["incident_id"], "fedcba9876543210fedcba9876543210");
    EXPECT_EQ(tree["notification_id"], "0123456789abcdef0123456789abcdef");
    EXPECT_EQ(tree["kind"], "first");
    ASSERT_EQ(tree["alerts"].size(), 2U);
    const auto& alert = tree["alerts"][0];
    EXPECT_EQ(alert["status"], "firing");
    EXPECT_EQ(alert["labels"]["alertname"], "cost_budget_exceeded");
    EXPECT_EQ(alert["annotations"]["cause_2"], "dearer calls");
    EXPECT_EQ(alert["annotations"]["page"], "https://hub.example.org/budgets/day");
    EXPECT_EQ(alert["startsAt"], "2026-11-27T22:18:11.000000Z");
    EXPECT_EQ(alert["endsAt"], "0001-01-01T00:00:00Z");
    EXPECT_EQ(alert["fingerprint"], full_alert().fingerprint());
    EXPECT_EQ(tree["alerts"][1]["status"], "resolved");
    EXPECT_EQ(tree["alerts"][1]["endsAt"], "2026-11-27T22:22:11.000000Z");
    EXPECT_EQ(Tree::parse(webhook_message(message_about({}, {full_alert()})))["status"], "resolved");
}

TEST(WebhookMessage, IsBoundedAndSaysWhatWasLeftOut) {
    auto alerts = hostile_alerts(1000);
    for (auto& alert : alerts) alert.description += std::string(3000, 'x');
    const auto body = webhook_message(message_about(alerts));
    EXPECT_LT(body.size(), 300000U);
    const auto tree = Tree::parse(body);
    EXPECT_EQ(tree["alerts"].size() + tree["truncatedAlerts"].get<std::size_t>(), 1000U);
    EXPECT_GT(tree["alerts"].size(), 50U);
}

TEST(PagerDutyMessage, OneIncidentFromTriggerToResolve) {
    const domain::Secret key("R0UT1NG");
    const auto firing = message_about({full_alert()});
    const auto over = message_about({}, {full_alert()}, NotificationKind::resolved);
    EXPECT_EQ(pagerduty_action(firing), PagerDutyAction::trigger);
    EXPECT_EQ(pagerduty_action(over), PagerDutyAction::resolve);
    const auto trigger = Tree::parse(pagerduty_message(firing, PagerDutyAction::trigger, key));
    EXPECT_EQ(trigger["routing_key"], "R0UT1NG");
    EXPECT_EQ(trigger["event_action"], "trigger");
    EXPECT_EQ(trigger["payload"]["summary"], "FIRING: Budget day is 93 % used");
    EXPECT_EQ(trigger["payload"]["severity"], "critical");
    EXPECT_EQ(trigger["payload"]["source"], "https://hub.example.org");
    EXPECT_EQ(trigger["payload"]["timestamp"], "2026-11-27T22:18:11.000000Z");
    EXPECT_EQ(trigger["payload"]["class"], "cost_budget_exceeded");
    EXPECT_EQ(trigger["links"][0]["href"], "https://hub.example.org/alerts/fedcba9876543210fedcba9876543210");
    for (const auto action : {PagerDutyAction::acknowledge, PagerDutyAction::resolve}) {
        const auto later = Tree::parse(pagerduty_message(over, action, key));
        EXPECT_EQ(later["dedup_key"], trigger["dedup_key"]);
        EXPECT_EQ(later["event_action"], action == PagerDutyAction::resolve ? "resolve" : "acknowledge");
        EXPECT_FALSE(later.contains("payload"));
    }
}

TEST(PagerDutyMessage, StaysWithinItsLimits) {
    auto alerts = hostile_alerts(1000);
    for (auto& alert : alerts) {
        alert.summary = std::string(5000, 'x');
        alert.labels["alertname"] += std::string(900, 'y');
    }
    auto message = message_about(alerts, {}, NotificationKind::first, "");
    message.notification.group_labels["alertname"] = std::string(1000, 'y');
    const auto body = pagerduty_message(message, PagerDutyAction::trigger, domain::Secret("k"));
    EXPECT_LT(body.size(), 100000U);
    const auto tree = Tree::parse(body);
    EXPECT_LE(tree["payload"]["summary"].get<std::string>().size(), 1024U);
    EXPECT_LE(tree["payload"]["class"].get<std::string>().size(), 255U);
    EXPECT_LE(tree["payload"]["group"].get<std::string>().size(), 255U);
    EXPECT_EQ(tree["payload"]["source"], "impresario") << "never empty";
    EXPECT_LE(tree["dedup_key"].get<std::string>().size(), 255U);
}

TEST(AlertmanagerMessage, IsWhatTheHubTakesItself) {
    const auto body = alertmanager_message(message_about({full_alert()}, {alert_of("x", "Deep")}), hours{8});
    const auto tree = Tree::parse(body);
    EXPECT_EQ(tree[0]["endsAt"], "2026-11-28T06:23:11.000000Z") << "unless it is told again";
    EXPECT_EQ(tree[1]["endsAt"], "2026-11-27T22:22:11.000000Z");
    const auto parsed = parse_alerts(body, kNow);
    ASSERT_TRUE(parsed);
    ASSERT_EQ(parsed->size(), 2U);
    const auto& alert = (*parsed)[0];
    EXPECT_EQ(alert.fingerprint(), full_alert().fingerprint());
    EXPECT_EQ(alert.summary, full_alert().summary);
    EXPECT_EQ(alert.command, full_alert().command);
    EXPECT_EQ(alert.since, full_alert().since);
    EXPECT_TRUE(alert.firing(kNow));
    EXPECT_FALSE((*parsed)[1].firing(kNow));
    EXPECT_EQ(alert.annotations.at("cause_1"), "a batch");
}

TEST(AlertmanagerJson, WhatPrometheusSends) {
    const auto parsed = parse_alerts(R"([{"labels":{"alertname":"Down","instance":"a:1","empty":""},
        "annotations":{"summary":"a is down","dashboard":"http://d"},"startsAt":"2026-11-27T22:00:00.5+01:00",
        "endsAt":"0001-01-01T00:00:00Z","generatorURL":"http://p/graph?x"},
        {"labels":{"x":"y"}}])",
                                     kNow);
    ASSERT_TRUE(parsed);
    const auto& alert = (*parsed)[0];
    EXPECT_EQ(alert.labels, (Labels{{"alertname", "Down"}, {"instance", "a:1"}}));
    EXPECT_EQ(alert.summary, "a is down");
    EXPECT_EQ(alert.annotations, (Labels{{"dashboard", "http://d"}}));
    EXPECT_EQ(domain::rfc3339(alert.since), "2026-11-27T21:00:00.500000Z");
    EXPECT_EQ(alert.ends_at, kNow + kResolveTimeout);
    EXPECT_EQ(alert.link, "http://p/graph?x");
    EXPECT_EQ((*parsed)[1].since, kNow);
    EXPECT_EQ((*parsed)[1].summary, "{x=\"y\"}") << "it has no name";
    EXPECT_EQ((*parsed)[1].severity(), Severity::warning);
    EXPECT_TRUE(parse_alerts("[]", kNow)->empty());
    const auto later = parse_alerts(R"([{"labels":{"x":"y"},"startsAt":"2027-11-27T22:00:00Z"}])", kNow);
    ASSERT_TRUE(later);
    EXPECT_EQ((*later)[0].since, kNow) << "nothing ends before it has begun";
    const auto resolved = parse_alerts(R"([{"labels":{"x":"y"},"endsAt":"2026-11-27T22:00:00Z"}])", kNow);
    ASSERT_TRUE(resolved);
    EXPECT_FALSE((*resolved)[0].firing(kNow));
    EXPECT_LE((*resolved)[0].since, *(*resolved)[0].ends_at);
}

TEST(AlertmanagerJson, BadInputIsNamedByField) {
    struct Case {
        const char* body;
        const char* pointers;
    };
    for (const auto& each :
         {Case{"", "/ "},
          {"{}", "/ "},
          {"[", "/ "},
          {"[1]", "/0/ "},
          {"[{}]", "/0/labels/ "},
          {R"([{"labels":[]}])", "/0/labels/ /0/labels/ "},
          {R"([{"labels":{"a":""}}])", "/0/labels/ "},
          {R"([{"labels":{"a-b":"x"}}])", "/0/labels/a-b/ "},
          {R"([{"labels":{"a":1,"b":"x"}}])", "/0/labels/a/ "},
          {R"([{"labels":{"a":"x"},"annotations":{"b":[]}}])", "/0/annotations/b/ "},
          {R"([{"labels":{"a":"x"},"startsAt":"soon"}])", "/0/startsAt/ "},
          {R"([{"labels":{"a":"x"},"startsAt":5}])", "/0/startsAt/ "},
          {R"([{"labels":{"a":"x"},"startsAt":"2026-11-27T22:00:00Z","endsAt":"2026-11-27T21:00:00Z"}])",
           "/0/endsAt/ "},
          {R"([{"labels":{"a":"x"}},{"labels":{"a":"x"},"generatorURL":1}])", "/1/generatorURL/ "}}) {
        const auto parsed = parse_alerts(each.body, kNow);
        ASSERT_FALSE(parsed) << each.body;
        std::string pointers;
        const auto faults = parsed.error();
        for (const auto& fault : faults) pointers += fault.pointer + "/ ";
        EXPECT_EQ(pointers, each.pointers) << each.body;
    }
    std::string many = "[";
    for (int i = 0; i < 1001; ++i) many += std::string(i == 0 ? "" : ",") + R"({"labels":{"a":"x"}})";
    EXPECT_FALSE(parse_alerts(many + "]", kNow));
    EXPECT_FALSE(parse_alerts(R"([{"labels":{"a":")" + std::string(1025, 'x') + R"("}}])", kNow));
    EXPECT_FALSE(
        parse_alerts(R"([{"labels":{"a":"x"},"annotations":{"b":")" + std::string(4097, 'x') + R"("}}])", kNow));
    EXPECT_FALSE(parse_alerts("[{\"labels\":{\"a\":\"\xff\"}}]", kNow));
    EXPECT_FALSE(parse_alerts(std::string(10000, '['), kNow));
}

}
}
