#include "journal/topic.h"

#include <gtest/gtest.h>

#include "domain/event.h"

namespace impresario::journal {
namespace topic_test {

TEST(Topic, OfAKindOrOfSingleTypes) {
    EXPECT_TRUE(find_topic("executions")->has("execution", "execution.completed"));
    EXPECT_FALSE(find_topic("executions")->has("lane", "lane.paused"));
    EXPECT_TRUE(find_topic("limits")->has("provider", "provider.cooling"));
    EXPECT_TRUE(find_topic("notifications")->has("execution", "execution.dead"));
    EXPECT_FALSE(find_topic("notifications")->has("execution", "execution.completed"));
    EXPECT_EQ(find_topic("everything"), nullptr);
}

TEST(Topic, TypesAreNamedWholeOrByOneOfTheirTwoParts) {
    EXPECT_TRUE(type_matches("execution.dead", "execution.dead"));
    EXPECT_FALSE(type_matches("execution.dead", "execution.deadline"));
    EXPECT_TRUE(type_matches("execution.*", "execution.dead"));
    EXPECT_FALSE(type_matches("execution.*", "executions.dead"));
    EXPECT_TRUE(type_matches("*.promise_broken", "lane.promise_broken"));
    EXPECT_FALSE(type_matches("*.broken", "lane.promise_broken"));
}

TEST(Topic, WhatIsNoPatternIsSaid) {
    for (const auto* right : {"execution.dead", "execution.*", "*.promise_broken"})
        EXPECT_EQ(pattern_fault(right), "") << right;
    for (const auto* wrong : {"", "execution", ".dead", "execution.", "*.*", "execution.d*", "Execution.dead", "a.b.c"})
        EXPECT_NE(pattern_fault(wrong), "") << wrong;
}

}
}
