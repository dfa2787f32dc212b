#include "resource_manager/endpoint_health.h"

#include <gtest/gtest.h>

namespace impresario::resource_manager {
namespace endpoint_health_test {

using std::chrono::minutes;
using std::chrono::seconds;
const domain::TimePoint kNow{std::chrono::hours{500000}};

TEST(EndpointHealth, BeginsWithAHandfulAndGrowsWithAcceptances) {
    EndpointHealth health;
    EXPECT_EQ(health.window, 4);
    for (int i = 0; i < 100; ++i) EXPECT_FALSE(health.accepted(64));
    EXPECT_EQ(health.window, 64);
}

TEST(EndpointHealth, AFaultHoldsLongerEachTimeAndIsProbedByOne) {
    EndpointHealth health;
    auto now = kNow;
    domain::Duration last{0};
    for (int i = 0; i < 12; ++i) {
        EXPECT_TRUE(health.at_fault(now, "status 403"));
        EXPECT_FALSE(health.at_fault(now, "status 403")) << "those under way together are one fault";
        EXPECT_EQ(health.window, 1);
        const auto wait = *health.held_until - now;
        EXPECT_GE(wait, last);
        EXPECT_LE(wait, minutes{5});
        last = wait;
        now = *health.held_until;
        EXPECT_FALSE(health.held(now));
    }
    EXPECT_EQ(last, minutes{5});
    EXPECT_EQ(health.held_since, kNow);
    EXPECT_TRUE(health.accepted(64)) << "the hold is over, and that must be written down";
    EXPECT_FALSE(health.held_until);
    EXPECT_TRUE(health.at_fault(now, "again"));
    EXPECT_EQ(*health.held_until, now + seconds{5});
}

TEST(EndpointHealth, OverloadWaitsAsLongAsWasAsked) {
    EndpointHealth health;
    EXPECT_TRUE(health.overloaded(kNow, seconds{30}, "status 429"));
    EXPECT_FALSE(health.overloaded(kNow, seconds{10}, "status 429"));
    EXPECT_EQ(*health.held_until, kNow + seconds{30});
    EXPECT_EQ(health.window, 1);
    EXPECT_EQ(health.holds, 0);
}

TEST(EndpointHealth, TroubleHalvesWithoutHolding) {
    EndpointHealth health;
    health.window = 40;
    health.trouble();
    EXPECT_EQ(health.window, 20);
    for (int i = 0; i < 20; ++i) health.trouble();
    EXPECT_EQ(health.window, 1);
    EXPECT_FALSE(health.held_until);
}

}
}
