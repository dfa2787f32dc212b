#include "orchestrator/anomalies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace impresario::orchestrator {
namespace anomalies_test {

using std::chrono::hours;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const domain::Lane kLane{"default", "work"};
const LaneSeries kCount{kLane, Series::executions};
const LaneSeries kFailed{kLane, Series::failed_percent};
/// A Monday, eight o'clock.
const domain::TimePoint kNow = domain::TimePoint{} + hours{24 * 4 + 8} + hours{168 * 2900};

/// Each day at this hour, for so many days before.
HourHistory history(int days, const LaneSeries& of, double value) {
    HourHistory history;
    for (int day = days; day > 0; --day) {
        history.hours.push_back(kNow - hours{24 * day});
        history.samples[of].push_back({kNow - hours{24 * day}, value + day % 3});
    }
    return history;
}

TEST(Anomalies, AnHourIsComparedWithTheSameHourOfOtherDays) {
    const auto usual = compare(kNow, {{kCount, 101}}, history(28, kCount, 100));
    ASSERT_THAT(usual, SizeIs(1));
    EXPECT_LT(usual[0].deviations, 1);
    const auto many = compare(kNow, {{kCount, 300}}, history(28, kCount, 100));
    ASSERT_THAT(many, SizeIs(1));
    EXPECT_GT(many[0].deviations, 6);
    EXPECT_NEAR(many[0].usual.median, 101, 1);
}

TEST(Anomalies, WhatUsuallyRunsAndDoesNotIsUnusual) {
    const auto silent = compare(kNow, {}, history(28, kCount, 100));
    ASSERT_THAT(silent, SizeIs(1));
    EXPECT_EQ(silent[0].value, 0);
    EXPECT_GT(silent[0].deviations, 6);
    EXPECT_THAT(compare(kNow, {}, history(28, kFailed, 5)), IsEmpty()) << "of nothing nothing fails";
}

TEST(Anomalies, AnHourWithNothingCountsForWhatIsUsual) {
    auto mostly_nothing = history(28, kCount, 0);
    auto& samples = mostly_nothing.samples[kCount];
    samples = {{mostly_nothing.hours.front(), 100}};
    const auto found = compare(kNow, {{kCount, 1}}, mostly_nothing);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].usual.median, 0);
    EXPECT_LE(found[0].deviations, 1);
}

TEST(Anomalies, OfAFewHoursNothingIsSaid) {
    EXPECT_THAT(compare(kNow, {{kCount, 1000}}, history(3, kCount, 1)), IsEmpty());
}

TEST(Anomalies, AFewExecutionsHaveNoRate) {
    std::map<domain::Lane, reports::Ended> ended;
    ended[kLane].completed = 4;
    ended[kLane].failed = 4;
    ended[kLane].durations.add(10, 4);
    EXPECT_THAT(hour_of(ended), SizeIs(2)) << "how many, and what they cost";
    ended[kLane].completed = 20;
    ended[kLane].durations.add(10, 16);
    const auto hour = hour_of(ended);
    EXPECT_THAT(hour, SizeIs(4));
    EXPECT_NEAR(hour.at(kFailed), 100.0 * 4 / 24, 1e-9);
}

}
}
