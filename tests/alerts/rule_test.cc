#include "alerts/rule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace impresario::alerts {
namespace rule_test {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

Rule queue_rule() {
    Rule rule;
    rule.name = "queue_depth_high";
    rule.reading = "queue_depth";
    rule.raise = 500;
    rule.clear = 400;
    rule.summary = "{{ value }} wait in {{ labels.organization }}";
    return rule;
}

std::string pointers(const Rule& rule) {
    std::string all;
    for (const auto& fault : faults_of(rule)) all += fault.pointer + " ";
    return all;
}

TEST(Rule, FaultsNameTheField) {
    EXPECT_EQ(pointers(queue_rule()), "");
    struct Case {
        const char* pointers;
        void (*spoil)(Rule&);
    };
    const Case cases[] = {
        {"/name ", [](Rule& rule) { rule.name = "Queue depth"; }},
        {"/reading ", [](Rule& rule) { rule.reading = "queue_dept"; }},
        {"/raise ",
         [](Rule& rule) {
             rule.raise = INFINITY;
             rule.clear = 1;
         }},
        {"/clear ", [](Rule& rule) { rule.clear = NAN; }},
        {"/clear ", [](Rule& rule) { rule.clear = 501; }},
        {"/clear ", [](Rule& rule) { rule.comparison = Comparison::below; }},
        {"/for ", [](Rule& rule) { rule.hold = -seconds{1}; }},
        {"/for ", [](Rule& rule) { rule.hold = hours{24 * 7} + seconds{1}; }},
        {"/keep ", [](Rule& rule) { rule.keep = -seconds{1}; }},
        {"/labels/alertname ", [](Rule& rule) { rule.labels["alertname"] = "x"; }},
        {"/labels/severity ", [](Rule& rule) { rule.labels["severity"] = "x"; }},
        {"/labels/a b ", [](Rule& rule) { rule.labels["a b"] = "x"; }},
        {"/summary ", [](Rule& rule) { rule.summary = ""; }},
        {"/summary ", [](Rule& rule) { rule.summary = "{{ nonsense }}"; }},
        {"/description ", [](Rule& rule) { rule.description = "{{ nonsense }}"; }},
        {"/causes ",
         [](Rule& rule) {
             rule.causes = {"a", "b", "c", "d"};
         }},
        {"/causes/1 ",
         [](Rule& rule) {
             rule.causes = {"a", "{{ b }}"};
         }},
        {"/command ", [](Rule& rule) { rule.command = "impresario {{ x }}"; }},
        {"/link ", [](Rule& rule) { rule.link = "javascript:alert(1)"; }},
    };
    for (const auto& each : cases) {
        auto rule = queue_rule();
        each.spoil(rule);
        EXPECT_EQ(pointers(rule), each.pointers);
    }
}

TEST(Rule, FaultsOfAListNameTheRule) {
    auto twice = queue_rule();
    auto broken = queue_rule();
    broken.name = "other";
    broken.raise = 1;
    const auto faults = faults_of(std::vector<Rule>{queue_rule(), broken, twice});
    ASSERT_EQ(faults.size(), 2U);
    EXPECT_EQ(faults[0].pointer, "/1/clear");
    EXPECT_EQ(faults[1].pointer, "/2/name");
}

TEST(Rule, ItsOwnLabelsCount) {
    auto rule = queue_rule();
    rule.labels = {{"team", "ops"}, {"organization", "mine"}};
    EXPECT_EQ(alert_labels(rule, {{"organization", "default"}, {"severity", "none"}, {"x", "y"}}),
              (Labels{{"alertname", "queue_depth_high"},
                      {"organization", "mine"},
                      {"severity", "warning"},
                      {"team", "ops"},
                      {"x", "y"}}));
}

TEST(Rule, ComparesBothWaysWithHysteresis) {
    struct Case {
        Comparison comparison;
        double raise, clear, value;
        bool holds, cleared;
    };
    const Case cases[] = {
        {Comparison::at_least, 500, 400, 500, true, false},  {Comparison::at_least, 500, 400, 499, false, false},
        {Comparison::at_least, 500, 400, 400, false, false}, {Comparison::at_least, 500, 400, 399, false, true},
        {Comparison::above, 5, 5, 5, false, true},           {Comparison::above, 5, 5, 5.1, true, false},
        {Comparison::below, 10, 20, 9, true, false},         {Comparison::below, 10, 20, 10, false, false},
        {Comparison::below, 10, 20, 20, false, true},        {Comparison::at_most, 10, 20, 10, true, false},
        {Comparison::at_most, 10, 20, 20, false, false},     {Comparison::at_most, 10, 20, 21, false, true},
    };
    for (const auto& each : cases) {
        auto rule = queue_rule();
        rule.comparison = each.comparison;
        rule.raise = each.raise;
        rule.clear = each.clear;
        EXPECT_EQ(holds(rule, each.value), each.holds) << name(each.comparison) << " " << each.value;
        EXPECT_EQ(cleared(rule, each.value), each.cleared) << name(each.comparison) << " " << each.value;
    }
}

TEST(Rule, ItsAlertSaysWhatSinceWhenAndWhereToLook) {
    auto rule = queue_rule();
    rule.hold = minutes{2};
    rule.description = "{{ reading }} {{ threshold }} {{ since }} {{ hold }} {{ severity }}: {{ evidence }}";
    rule.causes = {"{{ rule }} first", "second"};
    rule.command = "impresario queue {{ labels.organization }}";
    rule.link = "/queue/{{ labels.organization }}";
    const auto since = *domain::parse_time("2026-11-27T22:23:11.5Z");
    const auto alert = alert_of(rule, alert_labels(rule, {{"organization", "a'b/c"}}), 512.4, {"e1", "e2"}, since);
    EXPECT_EQ(alert.summary, "512 wait in a'b/c");
    EXPECT_EQ(alert.description, "queue_depth 500 2026-11-27T22:23:11Z 2m 00s warning: e1, e2");
    EXPECT_EQ(alert.causes, (std::vector<std::string>{"queue_depth_high first", "second"}));
    EXPECT_EQ(alert.command, "impresario queue 'a'\\''b/c'");
    EXPECT_EQ(alert.link, "/queue/a%27b%2Fc");
    EXPECT_EQ(alert.since, since);
    EXPECT_TRUE(alert.firing(since));
}

TEST(Reading, ValuesAreWrittenForPeople) {
    EXPECT_EQ(value_text(93.26, Unit::percent), "93.3 %");
    EXPECT_EQ(value_text(90, Unit::percent), "90 %");
    EXPECT_EQ(value_text(123, Unit::seconds), "2m 03s");
    EXPECT_EQ(value_text(-3, Unit::seconds), "-3 s");
    EXPECT_EQ(value_text(1e12, Unit::seconds), "1000000000000 s");
    EXPECT_EQ(value_text(512.4, Unit::count), "512");
    EXPECT_EQ(value_text(NAN, Unit::count), "unknown");
    EXPECT_EQ(value_text(-INFINITY, Unit::percent), "-infinite");
    EXPECT_EQ(value_text(1e300, Unit::count), "1e+300");
}

TEST(Reading, EachHasAGoodNameAndLabels) {
    std::string before;
    for (const auto& kind : reading_kinds()) {
        EXPECT_TRUE(domain::good_definition_name(kind.name)) << kind.name;
        EXPECT_EQ(find_reading(kind.name), &kind) << "once";
        EXPECT_FALSE(kind.meaning.empty());
    }
    EXPECT_EQ(find_reading("nothing"), nullptr);
}

}
}
