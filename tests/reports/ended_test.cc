#include "reports/ended.h"

#include <gtest/gtest.h>

#include <cmath>

namespace impresario::reports {
namespace ended_test {

int range_of(double milliseconds) {
    return milliseconds <= 1 ? 0 : static_cast<int>(std::ceil(std::log(milliseconds) / std::log(1.05)));
}

TEST(Durations, QuantilesAreWithinThreePercent) {
    Durations durations;
    for (int i = 1; i <= 1000; ++i) durations.add(range_of(i * 10), 1);
    EXPECT_EQ(durations.count(), 1000);
    EXPECT_NEAR(domain::in_seconds(*durations.quantile(0.5)), 5.0, 0.15);
    EXPECT_NEAR(domain::in_seconds(*durations.quantile(0.95)), 9.5, 0.29);
    EXPECT_NEAR(domain::in_seconds(*durations.quantile(1)), 10.0, 0.3);
    EXPECT_FALSE(Durations().quantile(0.5));
}

TEST(Ended, SumsOfHoursAreTheDay) {
    Ended morning;
    morning.completed = 8;
    morning.failed = 1;
    morning.cost = {2'000'000};
    morning.items = 10;
    morning.durations.add(range_of(1000), 8);
    Ended evening;
    evening.completed = 1;
    evening.dead = 2;
    evening.cancelled = 4;
    evening.cost = {500'000};
    evening.durations.add(range_of(60000), 1);
    morning.add(evening);
    EXPECT_EQ(morning.all(), 16);
    EXPECT_EQ(morning.judged(), 12) << "nobody wanted the cancelled ones to come to anything";
    EXPECT_DOUBLE_EQ(*morning.success_percent(), 75);
    EXPECT_DOUBLE_EQ(*morning.cost_per_item(), 0.25);
    EXPECT_NEAR(domain::in_seconds(*morning.durations.quantile(0.5)), 1, 0.03);
    EXPECT_FALSE(Ended().success_percent());
    EXPECT_FALSE(Ended().cost_per_item());
}

}
}
