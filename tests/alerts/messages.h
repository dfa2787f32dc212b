#pragma once
// Messages to be written: what the tests of each form have in common.

#include <string>
#include <vector>

#include "alerts/message.h"

namespace impresario::alerts::testing {

inline const domain::TimePoint kNow = *domain::parse_time("2026-11-27T22:23:11Z");

inline Alert alert_of(const std::string& name, std::string summary, const char* severity = "warning") {
    Alert alert;
    alert.labels = {{"alertname", name}, {"severity", severity}, {"organization", "default"}};
    alert.summary = std::move(summary);
    alert.since = kNow - std::chrono::minutes{5};
    return alert;
}

inline Alert full_alert() {
    auto alert = alert_of("cost_budget_exceeded", "Budget day is 93 % used", "critical");
    alert.description = "Settled and reserved together.";
    alert.causes = {"a batch", "dearer calls", "retries"};
    alert.command = "impresario budgets show day";
    alert.link = "/budgets/day";
    alert.runbook = "docs/runbooks/cost_budget_exceeded.md";
    alert.evidence = {"e1", "e2", "e3", "e4", "e5", "e6"};
    return alert;
}

inline Message message_about(const std::vector<Alert>& firing, std::vector<Alert> resolved = {},
                             NotificationKind kind = NotificationKind::first,
                             const std::string& hub_url = "https://hub.example.org") {
    Notification notification;
    notification.id = "0123456789abcdef0123456789abcdef";
    notification.incident = "fedcba9876543210fedcba9876543210";
    notification.receiver = "slack";
    notification.group = "slack:{}:{}";
    notification.kind = kind;
    std::vector<Alert> all = firing;
    for (const auto& alert : firing) notification.firing.push_back(alert.fingerprint());
    for (auto& alert : resolved) {
        notification.resolved.push_back(alert.fingerprint());
        alert.ends_at = kNow - std::chrono::minutes{1};
        all.push_back(alert);
    }
    return message_of(notification, all, {}, hub_url, kNow);
}

/// S10: so many of one group, each with all that a chat could take for something else.
inline std::vector<Alert> hostile_alerts(int count) {
    std::vector<Alert> alerts;
    for (int i = 0; i < count; ++i) {
        auto alert = alert_of("a" + std::to_string(i), "Alert " + std::to_string(i) + " <!here> & @channel");
        while (alert.description.size() < 500) alert.description += "<@U123> & @channel 😀\n<b>";
        alert.causes = {"<!channel>", "`@everyone`", "a > b"};
        alert.command = "impresario show `x` <y>";
        alerts.push_back(alert);
    }
    return alerts;
}

}
