#include "alerts/baseline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace impresario::alerts {
namespace baseline_test {

using domain::TimePoint;
using std::chrono::hours;
const TimePoint kMonday = *domain::parse_time("2026-11-23T00:00:00Z");

TEST(Baseline, TheHourOfTheWeekBeginsOnMonday) {
    EXPECT_EQ(hour_of_week(kMonday), 0);
    EXPECT_EQ(hour_of_week(kMonday - domain::Duration{1}), 167);
    EXPECT_EQ(hour_of_week(kMonday + hours{25} + std::chrono::minutes{59}), 25);
    EXPECT_EQ(hour_of_week(*domain::parse_time("1969-12-29T00:30:00Z")), 0) << "before 1970 too";
}

TEST(Baseline, MedianAndSpread) {
    const auto odd = baseline_of({1, 100, 3, 5, 4}, {4, 0, 0.1});
    ASSERT_TRUE(odd);
    EXPECT_EQ(odd->median, 4);
    EXPECT_DOUBLE_EQ(odd->spread, 1.4826);
    EXPECT_EQ(baseline_of({4, 1, 2, 3}, {4, 0, 0.1})->median, 2.5);
}

TEST(Baseline, FewValuesSayNothing) {
    EXPECT_FALSE(baseline_of({}));
    EXPECT_FALSE(baseline_of({}, {0, 0.05, 1}));
    EXPECT_FALSE(baseline_of({1, 2, 3}));
    EXPECT_FALSE(baseline_of({1, 2, 3, NAN, INFINITY}));
    EXPECT_TRUE(baseline_of({1, 2, 3, 4}));
}

TEST(Baseline, WhereAllAreTheSameASmallChangeIsNotAnAnomaly) {
    const auto flat = baseline_of(std::vector<double>(10, 1000));
    ASSERT_TRUE(flat);
    EXPECT_EQ(flat->spread, 50) << "5 % of the median";
    EXPECT_LT(deviations(*flat, 1040), 1);
    EXPECT_GT(deviations(*flat, 2000), 6);
    const auto zero = baseline_of(std::vector<double>(10, 0));
    EXPECT_EQ(zero->spread, 1);
    EXPECT_TRUE(std::isfinite(deviations(*baseline_of(std::vector<double>(10, 0), {4, 0, 0}), 5)));
}

std::vector<Sample> weeks(int count, unsigned seed, double noise) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal(0, noise);
    std::vector<Sample> history;
    for (int hour = 0; hour < count * 168; ++hour) {
        const auto at = kMonday - hours{168 * count} + hours{hour};
        // Busy in the day, and more so on Mondays.
        const double usual = (hour % 24 >= 8 && hour % 24 < 18 ? 1000 : 100) + (hour % 168 < 24 ? 500 : 0);
        history.push_back({at + std::chrono::minutes{30}, usual + normal(random)});
    }
    return history;
}

TEST(Baseline, KnowsTheWeek) {
    const auto history = weeks(8, 1, 10);
    EXPECT_NEAR(usual_at(kMonday + hours{9}, history)->median, 1500, 20);
    EXPECT_NEAR(usual_at(kMonday + hours{33}, history)->median, 1000, 20);
    EXPECT_NEAR(usual_at(kMonday + hours{27}, history)->median, 100, 20);
}

TEST(Baseline, InTheFirstWeeksItKnowsTheDay) {
    const auto history = weeks(1, 1, 10);
    const auto usual = usual_at(kMonday + hours{33}, history);
    ASSERT_TRUE(usual);
    EXPECT_EQ(usual->samples, 7U);
    EXPECT_NEAR(usual->median, 1000, 30);
    EXPECT_FALSE(usual_at(kMonday, {}));
}

TEST(Baseline, TheHourItselfIsNoHistory) {
    std::vector<Sample> history(10, Sample{kMonday + std::chrono::minutes{5}, 1});
    EXPECT_FALSE(usual_at(kMonday + std::chrono::minutes{50}, history));
    EXPECT_TRUE(usual_at(kMonday + hours{168}, history));
}

TEST(Baseline, NoiseIsUsualAndAJumpIsNot) {
    int false_alarms = 0;
    int missed = 0;
    for (unsigned seed = 1; seed <= 200; ++seed) {
        auto history = weeks(8, seed, 20);
        // One week in which all went wrong.
        for (auto& sample : history)
            if (sample.at < kMonday - hours{168 * 7}) sample.value *= 20;
        std::mt19937 random(seed);
        const double noise = std::normal_distribution<double>(0, 20)(random);
        const auto usual = usual_at(kMonday + hours{33}, history);
        ASSERT_TRUE(usual);
        false_alarms += deviations(*usual, 1000 + noise) >= 6 ? 1 : 0;
        missed += deviations(*usual, 2000) >= 6 ? 0 : 1;
    }
    EXPECT_EQ(false_alarms, 0);
    EXPECT_EQ(missed, 0);
}

}
}
