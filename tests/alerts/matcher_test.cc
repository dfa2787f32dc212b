#include "alerts/matcher.h"

#include <gtest/gtest.h>

namespace impresario::alerts {
namespace matcher_test {

bool matches(std::string_view matcher, const Labels& labels) {
    const auto parsed = parse_matcher(matcher);
    EXPECT_TRUE(parsed) << matcher;
    return parsed && parsed->matches(labels);
}

TEST(Matcher, FourWaysAndALabelThatIsNotThereIsEmpty) {
    const Labels labels{{"severity", "critical"}, {"team", "ops"}};
    struct Case {
        const char* matcher;
        bool matches;
    };
    for (const auto& [matcher, expected] : {Case{"severity=critical", true},
                                            {"severity = \"critical\"", true},
                                            {"severity=crit", false},
                                            {"severity!=critical", false},
                                            {"severity!=warning", true},
                                            {"severity=~\"crit.*|warn.*\"", true},
                                            {"severity=~crit", false},
                                            {"severity!~crit", true},
                                            {"severity!~c.*", false},
                                            {"owner=", true},
                                            {"owner=\"\"", true},
                                            {"owner!=x", true},
                                            {"owner=~.*", true},
                                            {"owner=~.+", false},
                                            {"owner!~.+", true}})
        EXPECT_EQ(matches(matcher, labels), expected) << matcher;
}

TEST(Matcher, AnExpressionMatchesTheWholeTextOverLineEndsToo) {
    EXPECT_TRUE(matches("a=~x.y", {{"a", "x\ny"}}));
    EXPECT_FALSE(matches("a=~x", {{"a", "x\n"}}));
    EXPECT_FALSE(matches("a=~a|b", {{"a", "ab"}}));
    EXPECT_TRUE(matches("a=~.", {{"a", "😀"}})) << "one character";
}

TEST(Matcher, IsReadBackFromItsText) {
    for (const auto* value : {"", "x", "a\"b", "a\\b", "a\nb", "\\n", "a,b=\"c\"", "é\tx"}) {
        const auto made = Matcher::make("a", Matcher::Op::unequal, value);
        ASSERT_TRUE(made);
        const auto read = parse_matcher(made->text());
        ASSERT_TRUE(read) << made->text();
        EXPECT_EQ(*read, *made) << made->text();
    }
    EXPECT_EQ(text(Matchers{*parse_matcher("a=b"), *parse_matcher("c!~d")}), R"({a="b",c!~"d"})");
}

TEST(Matcher, WhatIsNoneIsRefused) {
    for (const auto* bad : {"", "a", "=x", "a-b=x", "a=\"x", "a=\"x\"y", "a=\"x\\", "a=~(", "a=~\"(?P<x\"",
                            "a=~x{1001}", "a=~(((a{100}){100}){100})", "a=\xff"})
        EXPECT_FALSE(parse_matcher(bad)) << bad;
    EXPECT_FALSE(Matcher::make("a", Matcher::Op::equal, std::string(kLongestExpression + 1, 'x')));
    const auto fault = parse_matcher("a=~(").error();
    EXPECT_EQ(fault.what, "has an expression that is none: missing ): (");
}

// What would take a backtracking engine for ever, or its stack.
TEST(Matcher, HostileExpressionsTakeLittleTime) {
    const Labels labels{{"a", std::string(kLongestLabelValue, 'a') + "b"}};
    for (const auto* hostile :
         {"(a+)+$", "(a|aa)+c", "(a*)*(a*)*(a*)*c", "(.*)(.*)(.*)(.*)(.*)[0-9]", "((a?){30}){30}c"}) {
        const auto matcher = Matcher::make("a", Matcher::Op::matches, hostile);
        if (!matcher) continue;
        for (int i = 0; i < 100; ++i) EXPECT_FALSE(matcher->matches(labels)) << hostile;
    }
}

}
}
