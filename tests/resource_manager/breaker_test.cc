#include "resource_manager/breaker.h"

#include <gtest/gtest.h>

#include <random>

namespace impresario::resource_manager {
namespace breaker_test {

using domain::BreakerState;
using domain::Duration;
using domain::TimePoint;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
const TimePoint kNow{std::chrono::hours{500000}};

/// Requests that are answered at once.
bool succeeds(Breaker& breaker, TimePoint now, int times = 1) {
    bool changed = false;
    for (int i = 0; i < times; ++i) changed = breaker.succeeded(now, now);
    return changed;
}
bool fails(Breaker& breaker, TimePoint now, int times = 1) {
    bool changed = false;
    for (int i = 0; i < times; ++i) changed = breaker.failed(now, now, "status 500");
    return changed;
}

Breaker opened(TimePoint now) {
    Breaker breaker;
    fails(breaker, now, 10);
    return breaker;
}

TEST(Breaker, HalfOfTenOpensAndLessDoesNot) {
    Breaker breaker;
    EXPECT_FALSE(fails(breaker, kNow, 9)) << "nine results say nothing";
    EXPECT_EQ(breaker.record().state, BreakerState::closed);
    EXPECT_TRUE(fails(breaker, kNow));
    EXPECT_EQ(breaker.record().state, BreakerState::open);

    Breaker half;
    succeeds(half, kNow, 5);
    EXPECT_FALSE(fails(half, kNow, 4));
    EXPECT_TRUE(fails(half, kNow)) << "5 of 10";
    EXPECT_EQ(half.record().since, kNow);
    EXPECT_EQ(half.record().until, kNow + seconds{30});
    EXPECT_EQ(half.record().detail, "5 of 10 answers in the last 60 s were failures, the last: status 500");

    Breaker less;
    succeeds(less, kNow, 101);
    EXPECT_FALSE(fails(less, kNow, 100)) << "100 of 201";
    EXPECT_TRUE(fails(less, kNow)) << "101 of 202";
}

TEST(Breaker, ASuccessNeverOpensIt) {
    Breaker breaker;
    fails(breaker, kNow, 9);
    EXPECT_FALSE(succeeds(breaker, kNow)) << "9 of 10, and on its way back";
    EXPECT_EQ(breaker.record().state, BreakerState::closed);
    EXPECT_TRUE(fails(breaker, kNow));
}

TEST(Breaker, ResultsOfAMinuteAgoAreForgotten) {
    Breaker breaker;
    fails(breaker, kNow, 9);
    EXPECT_FALSE(fails(breaker, kNow + seconds{60})) << "60 s later they are out";
    EXPECT_EQ(breaker.record().state, BreakerState::closed);

    Breaker still;
    fails(still, kNow, 9);
    EXPECT_TRUE(fails(still, kNow + seconds{60} - Duration{1})) << "and a microsecond before they are not";

    Breaker drowned;
    succeeds(drowned, kNow, 20);
    fails(drowned, kNow + seconds{30}, 10);
    EXPECT_EQ(drowned.record().state, BreakerState::closed) << "10 of 30";
    EXPECT_TRUE(fails(drowned, kNow + seconds{60})) << "the successes are out: 11 of 11";
}

TEST(Breaker, ManyResultsAreCountedExactlyInLittleMemory) {
    Breaker breaker;
    for (int i = 0; i < 200000; ++i) succeeds(breaker, kNow + milliseconds{i / 4});
    // 50 s hold 200,000 of them.
    EXPECT_FALSE(fails(breaker, kNow + seconds{50}, 199999));
    EXPECT_TRUE(fails(breaker, kNow + seconds{50}));
    EXPECT_TRUE(breaker.record().detail.starts_with("200000 of 400000 answers")) << breaker.record().detail;
}

TEST(Breaker, OneProbeClosesItOrOpensItTwiceAsLong) {
    Breaker breaker = opened(kNow);
    auto now = kNow;
    for (const auto wait : {30, 60, 120, 240, 480, 600, 600}) {
        ASSERT_EQ(breaker.record().until, now + seconds{wait});
        EXPECT_TRUE(domain::stops(breaker.record(), now + seconds{wait} - Duration{1}));
        EXPECT_FALSE(breaker.passed(now + seconds{wait} - Duration{1}));
        now += seconds{wait};
        EXPECT_FALSE(domain::stops(breaker.record(), now));
        EXPECT_TRUE(breaker.passed(now));
        EXPECT_FALSE(breaker.passed(now)) << "once";
        EXPECT_EQ(breaker.record().state, BreakerState::half_open);
        EXPECT_TRUE(fails(breaker, now));
        EXPECT_EQ(breaker.record().state, BreakerState::open);
        EXPECT_EQ(breaker.record().detail, "the one execution that tried it failed too (status 500)");
    }
    now = *breaker.record().until;
    EXPECT_TRUE(succeeds(breaker, now)) << "also where nobody has noticed before that it is half open";
    EXPECT_EQ(breaker.record().state, BreakerState::closed);
    EXPECT_FALSE(breaker.record().until);
    EXPECT_FALSE(fails(breaker, now, 9)) << "what was before the opening is forgotten";
}

TEST(Breaker, AClosingIsBelievedAfterAWindow) {
    Breaker breaker = opened(kNow);
    const auto closed = kNow + seconds{30};
    succeeds(breaker, closed);
    fails(breaker, closed + seconds{60} - Duration{1}, 10);
    EXPECT_EQ(*breaker.record().until - *breaker.record().since, seconds{60}) << "a re-opening";

    Breaker healed = opened(kNow);
    succeeds(healed, closed);
    fails(healed, closed + seconds{60}, 10);
    EXPECT_EQ(*healed.record().until - *healed.record().since, seconds{30});
}

TEST(Breaker, WhatBeganBeforeDoesNotCount) {
    Breaker breaker = opened(kNow);
    // While it is open nothing counts.
    EXPECT_FALSE(breaker.succeeded(kNow, kNow + seconds{1}));
    EXPECT_FALSE(breaker.failed(kNow, kNow + seconds{1}, "reset"));
    EXPECT_EQ(breaker.record().until, kNow + seconds{30});
    // Nor does in half open what began before that.
    const auto half = kNow + seconds{30};
    EXPECT_TRUE(breaker.succeeded(half - Duration{1}, half + seconds{1})) << "only that it is half open";
    EXPECT_EQ(breaker.record().state, BreakerState::half_open);
    EXPECT_FALSE(breaker.failed(half - Duration{1}, half + seconds{1}, "reset"));
    EXPECT_EQ(breaker.record().state, BreakerState::half_open);
    EXPECT_TRUE(breaker.succeeded(half, half + seconds{2}));
    EXPECT_EQ(breaker.record().state, BreakerState::closed);
    // Nor does once it is closed again what began before.
    for (int i = 0; i < 20; ++i) EXPECT_FALSE(breaker.failed(kNow, half + seconds{3}, "time-out"));
    EXPECT_EQ(breaker.record().state, BreakerState::closed);
}

TEST(Breaker, TrippedByHandItStaysOpen) {
    domain::BreakerRecord record{BreakerState::open, kNow, std::nullopt, 1, "maintenance", "ann", 1};
    Breaker breaker({}, record);
    EXPECT_FALSE(breaker.passed(kNow + std::chrono::hours{10000}));
    EXPECT_FALSE(succeeds(breaker, kNow + minutes{1}));
    EXPECT_EQ(breaker.record(), record);

    record.until = kNow + minutes{5};
    Breaker for_a_while({}, record);
    EXPECT_TRUE(for_a_while.passed(kNow + minutes{5}));
    EXPECT_EQ(for_a_while.record().by, "ann") << "still her doing";
    EXPECT_TRUE(fails(for_a_while, kNow + minutes{5}));
    EXPECT_EQ(for_a_while.record().until, kNow + minutes{6});
    EXPECT_EQ(for_a_while.record().by, "");
    EXPECT_EQ(for_a_while.record().orders, 1);
}

TEST(Breaker, TimeThatGoesBackIsHarmless) {
    Breaker breaker;
    fails(breaker, kNow, 5);
    fails(breaker, kNow - std::chrono::hours{1}, 4);
    EXPECT_TRUE(fails(breaker, kNow - std::chrono::hours{2}));
    EXPECT_EQ(breaker.record().state, BreakerState::open);

    Breaker later;
    fails(later, kNow, 5);
    fails(later, kNow - std::chrono::hours{1}, 4);
    EXPECT_FALSE(fails(later, kNow + seconds{60})) << "and forgotten like the others";
}

// Whatever happens, in whatever order: it never opens on a success, an opening lasts from the first to the longest,
// and half open it stays no longer than one result that began there.
TEST(Breaker, RandomResultsKeepItsPromises) {
    for (unsigned seed = 1; seed <= 200; ++seed) {
        std::mt19937 random(seed);
        Breaker breaker;
        auto now = kNow;
        for (int i = 0; i < 2000; ++i) {
            now += milliseconds{static_cast<int>(random() % 3000) - 300};
            const auto began = now - milliseconds{static_cast<int>(random() % 40000) * static_cast<int>(random() % 2)};
            const auto before = breaker.record();
            const bool was_open = domain::stops(before, now);
            const bool success = random() % 3 == 0;
            const bool changed = success ? breaker.succeeded(began, now) : breaker.failed(began, now, "x");
            const auto& after = breaker.record();
            ASSERT_EQ(changed, !(before == after)) << seed;
            if (was_open) {
                ASSERT_EQ(before, after) << seed;
            }
            if (after.state == BreakerState::open && !(before == after)) {
                ASSERT_FALSE(success) << seed;
                ASSERT_GE(*after.until - *after.since, seconds{30}) << seed;
                ASSERT_LE(*after.until - *after.since, minutes{10}) << seed;
            }
            if (before.state == BreakerState::half_open && began >= *before.since) {
                ASSERT_NE(after.state, BreakerState::half_open) << seed;
            }
        }
    }
}

}
}
