#include "alerts/labels.h"

#include <gtest/gtest.h>

#include <set>

namespace impresario::alerts {
namespace labels_test {

TEST(Labels, NamesAreThoseOfAlertmanager) {
    for (const auto* good : {"a", "_", "severity", "A9_", "__x"}) EXPECT_TRUE(good_label_name(good)) << good;
    for (const auto* bad : {"", "9a", "a-b", "a b", "ä", "a.b", "a\n"}) EXPECT_FALSE(good_label_name(bad)) << bad;
    EXPECT_TRUE(good_label_name(std::string(128, 'a')));
    EXPECT_FALSE(good_label_name(std::string(129, 'a')));
}

TEST(Labels, FaultsNameTheLabel) {
    Labels labels{{"a-b", "x"}, {"c", std::string(1025, 'x')}, {"d", "\xff"}, {"e", "ok"}};
    std::string pointers;
    for (const auto& fault : faults_of(labels, "/labels")) pointers += fault.pointer + " ";
    EXPECT_EQ(pointers, "/labels/a-b /labels/c /labels/d ");
    Labels many;
    for (int i = 0; i < 33; ++i) many["l" + std::to_string(i)] = "x";
    EXPECT_EQ(faults_of(many, "/labels").size(), 1U);
}

TEST(Labels, AFingerprintIsTheSameForEver) {
    EXPECT_EQ(fingerprint({{"alertname", "queue_depth_high"}, {"severity", "warning"}}),
              "ead9e348b914c29f2e8694381d15d4a0");
}

TEST(Labels, DifferentLabelsNeverLookAlike) {
    const std::vector<Labels> all{
        {{"a", "b"}, {"c", "d"}}, {{"a", "b\",c=\"d"}},   {{"a", "b,c=d"}},        {{"a", "b"}},
        {{"a", "b\\"}},           {{"a", "b\\\", c=\""}}, {{"ab", ""}, {"c", "a"}}};
    std::set<std::string> texts;
    for (const auto& labels : all) texts.insert(text(labels));
    EXPECT_EQ(texts.size(), all.size());
    EXPECT_EQ(text(Labels{{"a", "x"}, {"b", ""}}), text(Labels{{"a", "x"}})) << "an empty label is none";
    EXPECT_EQ(text(Labels{}), "{}");
    EXPECT_EQ(text(Labels{{"a", "line\n\"quoted\""}}), R"({a="line\n\"quoted\""})");
}

TEST(Labels, WhatAllHaveIsCommon) {
    const std::vector<Labels> all{{{"a", "1"}, {"b", "2"}}, {{"a", "1"}, {"b", "3"}, {"c", "4"}}, {{"a", "1"}}};
    const auto common = common_labels(all, [](const Labels& each) -> const Labels& { return each; });
    EXPECT_EQ(common, (Labels{{"a", "1"}}));
    EXPECT_EQ(common_labels(std::vector<Labels>{}, [](const Labels& each) -> const Labels& { return each; }), Labels{});
}

}
}
