#include "resource_manager/queue_bounds.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace impresario::resource_manager {
namespace queue_bounds_test {

using domain::Duration;
using domain::TimePoint;
using std::chrono::minutes;
using std::chrono::seconds;
const TimePoint kNow{std::chrono::hours{500000}};

TEST(QueueBounds, WhoWouldGoBeyondTheSoftBoundIsToldWhenThereIsRoom) {
    const QueueBounds bounds{10, 20};
    EXPECT_FALSE(full(bounds, {9, 60}, 1));
    EXPECT_FALSE(full({std::nullopt, 20}, {1000, 60}, 1)) << "no soft bound turns nobody away";
    const auto one = full(bounds, {10, 60}, 1);
    ASSERT_TRUE(one);
    EXPECT_EQ(one->waiting, 10);
    EXPECT_EQ(one->limit, 10);
    EXPECT_EQ(one->room_in, seconds{1});
    EXPECT_EQ(full(bounds, {15, 60}, 5)->room_in, seconds{10}) << "a batch waits for room for all of it";
    EXPECT_FALSE(full(bounds, {10, 0}, 1)->room_in) << "nothing leaves: nobody knows";
    EXPECT_EQ(full(bounds, {1'000'000'000'000, 1e-9}, 1)->room_in, seconds{86400});
    const auto never = full(bounds, {0, 60}, 11);
    ASSERT_TRUE(never);
    EXPECT_TRUE(never->never);
    EXPECT_FALSE(never->room_in);
}

TEST(DrainRate, CountsTheLastMinute) {
    DrainRate rate;
    EXPECT_EQ(rate.per_minute(kNow), 0);
    for (int i = 0; i < 60; ++i) rate.left(kNow + seconds{i});
    EXPECT_NEAR(rate.per_minute(kNow + seconds{59}), 60, 6);
    EXPECT_NEAR(rate.per_minute(kNow + seconds{89}), 30, 6);
    EXPECT_EQ(rate.per_minute(kNow + minutes{3}), 0);
    rate.left(kNow + minutes{10});
    EXPECT_EQ(rate.per_minute(kNow + minutes{10}), 1) << "what lies a minute back is forgotten";
    DrainRate young;
    for (int i = 0; i < 10; ++i) young.left(kNow + seconds{i});
    EXPECT_NEAR(young.per_minute(kNow + seconds{10}), 60, 1) << "not diluted by a time in which nobody looked";
}

TEST(DrainRate, IsNearACountOfEveryOneWhateverTheTimes) {
    std::mt19937 random(7);
    DrainRate rate;
    std::vector<TimePoint> all;
    TimePoint now = kNow;
    for (int i = 0; i < 3000; ++i) {
        now += std::chrono::milliseconds{random() % (i % 500 < 5 ? 40000 : 300)};
        rate.left(now);
        all.push_back(now);
        std::int64_t most = 0;
        std::int64_t least = 0;
        for (const auto& each : all) {
            most += each > now - seconds{61};
            least += each > now - seconds{55};
        }
        if (now - kNow < minutes{1}) continue;
        EXPECT_LE(rate.per_minute(now), static_cast<double>(most)) << i;
        EXPECT_GE(rate.per_minute(now), static_cast<double>(least)) << i;
    }
}

}
}
