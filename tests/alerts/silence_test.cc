#include "alerts/silence.h"

#include <gtest/gtest.h>

#include "alerts/inhibition.h"

namespace impresario::alerts {
namespace silence_test {

using std::chrono::hours;
using std::chrono::seconds;
const domain::TimePoint kNow{hours{500000}};

Matchers matchers(std::initializer_list<std::string_view> texts) {
    Matchers all;
    for (const auto text : texts) all.push_back(*parse_matcher(text));
    return all;
}

Silence silence() { return {{}, matchers({"alertname=x"}), kNow, kNow + hours{1}, "ann", "being moved"}; }

TEST(Silence, FaultsNameTheField) {
    EXPECT_TRUE(faults_of(silence(), kNow).empty());
    struct Case {
        const char* pointer;
        void (*spoil)(Silence&);
    };
    const Case cases[] = {
        {"/matchers", [](Silence& it) { it.matchers.clear(); }},
        {"/matchers",
         [](Silence& it) {
             it.matchers = matchers({"a=~.*", "b!=x"});
         }},
        {"/matchers", [](Silence& it) { it.matchers = Matchers(33, it.matchers[0]); }},
        {"/ends_at", [](Silence& it) { it.ends_at = it.starts_at; }},
        {"/ends_at",
         [](Silence& it) {
             it.starts_at = kNow - hours{2};
             it.ends_at = kNow;
         }},
        {"/ends_at", [](Silence& it) { it.ends_at = kNow + hours{24 * 367}; }},
        {"/by", [](Silence& it) { it.by.clear(); }},
        {"/comment", [](Silence& it) { it.comment.clear(); }},
        {"/comment", [](Silence& it) { it.comment = std::string(1025, 'x'); }},
    };
    for (const auto& each : cases) {
        auto spoilt = silence();
        each.spoil(spoilt);
        const auto faults = faults_of(spoilt, kNow);
        ASSERT_EQ(faults.size(), 1U) << each.pointer;
        EXPECT_EQ(faults[0].pointer, each.pointer);
    }
}

TEST(Silence, HoldsFromItsBeginningToJustBeforeItsEnd) {
    const std::vector<Silence> silences{silence()};
    const Labels labels{{"alertname", "x"}};
    EXPECT_FALSE(silenced_by(silences, labels, kNow - domain::Duration{1}));
    EXPECT_TRUE(silenced_by(silences, labels, kNow));
    EXPECT_TRUE(silenced_by(silences, labels, kNow + hours{1} - domain::Duration{1}));
    EXPECT_FALSE(silenced_by(silences, labels, kNow + hours{1}));
    EXPECT_FALSE(silenced_by(silences, {{"alertname", "y"}}, kNow));
    EXPECT_EQ(next_change(silences, kNow - seconds{1}), kNow);
    EXPECT_EQ(next_change(silences, kNow), kNow + hours{1});
    EXPECT_FALSE(next_change(silences, kNow + hours{1}));
}

Alert alert(Labels labels) {
    Alert alert;
    alert.labels = std::move(labels);
    return alert;
}

bool inhibits(const Inhibition& rule, const std::vector<Labels>& firing, const Labels& target) {
    std::vector<Alert> alerts;
    for (const auto& each : firing) alerts.push_back(alert(each));
    return Inhibitor({rule}, alerts, kNow).inhibits(target);
}

TEST(Inhibition, WhatFiresSilencesItsConsequences) {
    const Inhibition rule{matchers({"severity=critical"}), matchers({"severity=warning"}), {"node"}};
    const Labels down{{"severity", "critical"}, {"node", "a"}};
    EXPECT_TRUE(inhibits(rule, {down}, {{"severity", "warning"}, {"node", "a"}}));
    EXPECT_FALSE(inhibits(rule, {down}, {{"severity", "warning"}, {"node", "b"}})) << "another node";
    EXPECT_FALSE(inhibits(rule, {down}, {{"severity", "info"}, {"node", "a"}})) << "no target";
    EXPECT_FALSE(inhibits(rule, {}, {{"severity", "warning"}, {"node", "a"}}));
    EXPECT_TRUE(inhibits(rule, {{{"severity", "critical"}}}, {{"severity", "warning"}})) << "neither has a node";
    EXPECT_FALSE(inhibits(rule, {{{"severity", "critical"}}}, {{"severity", "warning"}, {"node", "a"}}));
}

TEST(Inhibition, WhatHasResolvedInhibitsNothing) {
    const Inhibition rule{matchers({"a=1"}), matchers({"b=1"}), {}};
    auto over = alert({{"a", "1"}});
    over.ends_at = kNow;
    EXPECT_FALSE(Inhibitor({rule}, {over}, kNow).inhibits({{"b", "1"}}));
    over.ends_at = kNow + seconds{1};
    EXPECT_TRUE(Inhibitor({rule}, {over}, kNow).inhibits({{"b", "1"}}));
}

TEST(Inhibition, AnAlertNeverInhibitsItselfNorItsLike) {
    const Inhibition rule{matchers({"a=~.+"}), matchers({"a=~.+"}), {}};
    EXPECT_FALSE(inhibits(rule, {{{"a", "1"}}}, {{"a", "1"}}));
    EXPECT_FALSE(inhibits(rule, {{{"a", "1"}}, {{"a", "2"}}}, {{"a", "1"}})) << "or both would fall silent";
    const Inhibition half{matchers({"a=~.+"}), matchers({"b=1"}), {}};
    EXPECT_TRUE(inhibits(half, {{{"a", "1"}}, {{"a", "1"}, {"b", "1"}}}, {{"a", "1"}, {"b", "1"}}))
        << "by one that is no target";
    EXPECT_TRUE(inhibits(half, {{{"a", "1"}, {"b", "1"}}}, {{"b", "1"}})) << "by one that is, what is no source";
    EXPECT_FALSE(inhibits(half, {{{"a", "1"}, {"b", "1"}}}, {{"a", "1"}, {"b", "1"}}));
}

TEST(Inhibition, FaultsNameTheField) {
    const Inhibition rule{{}, matchers({"a=1"}), {"a-b"}};
    const auto faults = faults_of(rule);
    ASSERT_EQ(faults.size(), 2U);
    EXPECT_EQ(faults[0].pointer, "/source");
    EXPECT_EQ(faults[1].pointer, "/equal");
    for (const auto& each : default_inhibitions()) EXPECT_TRUE(faults_of(each).empty());
}

}
}
