#include "domain/retry.h"

#include <gtest/gtest.h>

namespace impresario::domain {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

Duration bare(const RetryPolicy& named, int failures) {
    RetryPolicy policy = named;
    policy.jitter_low = policy.jitter_high = 0;
    return retry_wait(policy, failures, 0.5);
}

TEST(RetryPolicies, AreThoseOfTheSeeds) {
    const auto master = *named_retry_policy("master");
    EXPECT_EQ(master.max_retries, 3);
    EXPECT_EQ(bare(master, 1), minutes{1});
    EXPECT_EQ(bare(master, 2), minutes{2});
    EXPECT_EQ(bare(master, 3), minutes{4});

    const auto engine = *named_retry_policy("engine");
    EXPECT_EQ(engine.max_retries, 4);  // five attempts
    EXPECT_EQ(bare(engine, 1), seconds{5});
    EXPECT_EQ(bare(engine, 2), seconds{10});
    EXPECT_EQ(bare(engine, 20), hours{1});

    const auto playbook = *named_retry_policy("playbook");
    EXPECT_EQ(playbook.max_retries, 2);  // three attempts
    EXPECT_EQ(bare(playbook, 1), seconds{5});
    EXPECT_EQ(bare(playbook, 2), seconds{30});
    EXPECT_EQ(bare(playbook, 3), seconds{120});
    EXPECT_EQ(bare(playbook, 4), seconds{60});
    EXPECT_EQ(bare(playbook, 40), seconds{60});

    EXPECT_EQ(named_retry_policy("none")->max_retries, 0);
    EXPECT_FALSE(named_retry_policy("patient"));
}

TEST(RetryJitter, StaysBetweenItsShares) {
    const auto master = *named_retry_policy("master");
    EXPECT_EQ(retry_wait(master, 1, 0.0), Duration{66000000});
    EXPECT_EQ(retry_wait(master, 1, 1.0), Duration{84000000});
    for (int i = 0; i <= 100; ++i) {
        const auto wait = retry_wait(master, 1, i / 100.0);
        EXPECT_GE(wait, Duration{minutes{1}} * 11 / 10);
        EXPECT_LE(wait, Duration{minutes{1}} * 14 / 10);
    }
}

TEST(RetryWait, SaturatesInsteadOfOverflowing) {
    RetryPolicy policy;
    policy.base = hours{1};
    policy.factor = 100;
    policy.cap = hours{24};
    EXPECT_LE(retry_wait(policy, 1000000, 1.0), Duration{hours{24}} * 14 / 10);
    EXPECT_GE(retry_wait(policy, 0, 0.0).count(), 0);
    EXPECT_GE(retry_wait(policy, -5, 0.0).count(), 0);
}

}
}
