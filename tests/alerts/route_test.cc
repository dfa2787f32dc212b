#include "alerts/route.h"

#include <gtest/gtest.h>

namespace impresario::alerts {
namespace route_test {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

const std::set<std::string> kReceivers{"page", "slack", "email"};

std::string receivers(const Route& root, const Labels& labels) {
    std::string all;
    for (const auto& each : destinations(root, labels)) all += each.receiver + " ";
    return all;
}

Route route(std::string receiver, std::initializer_list<const char*> matchers, bool goes_on = false) {
    Route route;
    route.receiver = std::move(receiver);
    for (const auto* each : matchers) route.matchers.push_back(*parse_matcher(each));
    route.goes_on = goes_on;
    return route;
}

TEST(Route, TheFirstChildThatMatchesTakesItUnlessItGoesOn) {
    auto root = route("root", {});
    root.children = {route("a", {"x=1"}), route("b", {"x=~1|2"}, true), route("c", {"x=2"}), route("d", {"y=1"})};
    root.children[0].children = {route("a1", {"y=1"})};
    EXPECT_EQ(receivers(root, {}), "root ");
    EXPECT_EQ(receivers(root, {{"x", "1"}}), "a ");
    EXPECT_EQ(receivers(root, {{"x", "1"}, {"y", "1"}}), "a1 ");
    EXPECT_EQ(receivers(root, {{"x", "2"}}), "b c ");
    EXPECT_EQ(receivers(root, {{"x", "2"}, {"y", "1"}}), "b c ") << "c ends it";
    EXPECT_EQ(receivers(root, {{"y", "1"}}), "d ");
}

TEST(Route, WhatIsNotSetIsTheParents) {
    auto root = route("root", {});
    root.group_by = {"alertname"};
    root.group_wait = seconds{1};
    root.escalations = std::vector<Escalation>{{minutes{15}, "page"}};
    auto child = route("", {"x=1"});
    child.repeat_interval = hours{1};
    root.children = {child};
    const auto found = destinations(root, {{"x", "1"}}).at(0);
    EXPECT_EQ(found.receiver, "root");
    EXPECT_EQ(found.group_by, std::vector<std::string>{"alertname"});
    EXPECT_EQ(found.group_wait, seconds{1});
    EXPECT_EQ(found.group_interval, minutes{5});
    EXPECT_EQ(found.repeat_interval, hours{1});
    EXPECT_EQ(found.escalations.size(), 1U);
    EXPECT_EQ(found.path, "{}/{x=\"1\"}");
}

TEST(Route, GroupsHaveTheLabelsTheyAreGroupedBy) {
    Destination destination;
    const Labels labels{{"a", "1"}, {"b", "2"}};
    EXPECT_EQ(group_labels(destination, labels), Labels{});
    destination.group_by = {"a", "c"};
    EXPECT_EQ(group_labels(destination, labels), (Labels{{"a", "1"}}));
    destination.group_by = {"..."};
    EXPECT_EQ(group_labels(destination, labels), labels);
}

std::string pointers(const Route& root) {
    std::string all;
    for (const auto& fault : faults_of(root, kReceivers)) all += fault.pointer + " ";
    return all;
}

TEST(Route, FaultsNameTheField) {
    struct Case {
        const char* pointers;
        void (*spoil)(Route&);
    };
    const Case cases[] = {
        {"", [](Route&) {}},
        {"/receiver ", [](Route& root) { root.receiver = ""; }},
        {"/receiver ", [](Route& root) { root.receiver = "nobody"; }},
        {"/matchers ", [](Route& root) { root.matchers = {*parse_matcher("a=b")}; }},
        {"/continue ", [](Route& root) { root.goes_on = true; }},
        {"/children/1/receiver ", [](Route& root) { root.children[1].receiver = "nobody"; }},
        {"/children/0/group_by ", [](Route& root) { root.children[0].group_by = {"a-b"}; }},
        {"/children/0/group_by ",
         [](Route& root) {
             root.children[0].group_by = {"...", "a"};
         }},
        {"/group_wait ", [](Route& root) { root.group_wait = -seconds{1}; }},
        {"/group_interval ", [](Route& root) { root.group_interval = seconds{0}; }},
        {"/repeat_interval ", [](Route& root) { root.repeat_interval = seconds{59}; }},
        {"/children/0/escalations/0/after ",
         [](Route& root) {
             root.children[0].escalations = std::vector<Escalation>{{seconds{1}, "slack"}};
         }},
        {"/children/0/escalations/0/receiver ",
         [](Route& root) {
             root.children[0].escalations = std::vector<Escalation>{{minutes{5}, "page"}};
         }},
        {"/children/0/escalations/1/after ",
         [](Route& root) {
             root.children[0].escalations = std::vector<Escalation>{{minutes{5}, "slack"}, {minutes{4}, "email"}};
         }},
        {"/children/3 ", [](Route& root) { root.children.push_back(root.children[0]); }},
    };
    for (const auto& each : cases) {
        auto root = default_route();
        each.spoil(root);
        EXPECT_EQ(pointers(root), each.pointers);
    }
}

TEST(Route, DepthAndNumberAreBounded) {
    auto root = default_route();
    Route deep = route("page", {"a=b"});
    for (int i = 0; i < 20; ++i) {
        Route above = route("page", {"a=b"});
        above.children = {deep};
        deep = above;
    }
    root.children = {deep};
    EXPECT_EQ(faults_of(root, kReceivers).size(), 1U);
    auto wide = default_route();
    wide.children.clear();
    for (int i = 0; i < 600; ++i) wide.children.push_back(route("page", {("a=" + std::to_string(i)).c_str()}));
    EXPECT_FALSE(faults_of(wide, kReceivers).empty());
}

TEST(Route, SeedThreesActions) {
    const auto root = default_route();
    struct Case {
        const char* name;
        const char* severity;
        const char* receivers;
    };
    for (const auto& each : {Case{"orchestrator_down", "critical", "page "},
                             {"cost_budget_exceeded", "critical", "page "},
                             {"error_rate_high", "critical", "page "},
                             {"queue_depth_high", "warning", "slack "},
                             {"api_limits_approaching", "warning", "slack "},
                             {"execution_time_slow", "warning", "email "},
                             {"somebody_elses", "", "slack "}})
        EXPECT_EQ(receivers(root, {{"alertname", each.name}, {"severity", each.severity}}), each.receivers);
    EXPECT_EQ(destinations(root, {{"severity", "critical"}})[0].group_wait, seconds{0}) << "immediate";
}

}
}
