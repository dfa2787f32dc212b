#include "orchestrator/outage.h"

#include <gtest/gtest.h>

#include "orchestrator/presence.h"

namespace impresario::orchestrator {
namespace outage_test {

using domain::TimePoint;
using std::chrono::milliseconds;
using std::chrono::seconds;

const TimePoint kStart{std::chrono::hours{500000}};
constexpr seconds kLease{15};

TEST(Outage, IsAGapLongerThanHalfALease) {
    EXPECT_FALSE(outage_after(std::nullopt, std::nullopt, kStart, kLease)) << "nobody had led before";
    EXPECT_FALSE(outage_after(std::nullopt, kStart, kStart + milliseconds{7500}, kLease));
    const auto outage = outage_after(std::nullopt, kStart, kStart + seconds{60}, kLease);
    ASSERT_TRUE(outage);
    EXPECT_EQ(*outage, (Outage{kStart, kStart + seconds{60}, seconds{60}}));
    EXPECT_EQ(outage->no_takeover_before(kLease), kStart + seconds{75});
    EXPECT_EQ(outage_after(outage, kStart + seconds{60}, kStart + seconds{65}, kLease), outage)
        << "a row written in time leaves it";
}

TEST(Outage, GivesWhatPassedInItTheGapAndHalfAMinute) {
    const Outage outage{kStart, kStart + seconds{60}, seconds{60}};
    EXPECT_EQ(outage.acted_on(kStart - seconds{1}), kStart - seconds{1});
    EXPECT_EQ(outage.acted_on(kStart), kStart + seconds{90});
    EXPECT_EQ(outage.acted_on(kStart + seconds{60}), kStart + seconds{150});
    EXPECT_EQ(outage.acted_on(kStart + seconds{61}), kStart + seconds{61});
    EXPECT_EQ(Outage({kStart, domain::kNever, seconds{60}}).acted_on(domain::kNever), domain::kNever);
}

TEST(Outage, OneSoonAfterAnotherDoesNotForgetIt) {
    const auto first = outage_after(std::nullopt, kStart, kStart + seconds{10}, kLease);
    const auto both = outage_after(first, kStart + seconds{40}, kStart + seconds{60}, kLease);
    ASSERT_TRUE(both);
    EXPECT_EQ(*both, (Outage{kStart, kStart + seconds{60}, seconds{30}}));
    EXPECT_GT(both->acted_on(kStart + seconds{5}), kStart + seconds{60})
        << "what the first one gave ran out while nobody could be reached again";
    const auto later = outage_after(first, kStart + seconds{300}, kStart + seconds{320}, kLease);
    EXPECT_EQ(*later, (Outage{kStart + seconds{300}, kStart + seconds{320}, seconds{20}}));
}

TEST(Presence, ASessionThatIsReplacedInTimeIsNoEnd) {
    Presence presence(seconds{2});
    const domain::NodeId node;
    const Presence::Clock::time_point start{};
    EXPECT_FALSE(presence.gone(node, 7, true, start));
    EXPECT_FALSE(presence.gone(node, 7, true, start + seconds{1}));
    EXPECT_FALSE(presence.gone(node, 8, false, start + seconds{2})) << "it listens again";
    EXPECT_FALSE(presence.gone(node, 8, true, start + seconds{3}));
    EXPECT_FALSE(presence.gone(node, 9, true, start + seconds{4})) << "lost once more, with another session";
    EXPECT_FALSE(presence.gone(node, 9, true, start + seconds{5}));
    EXPECT_TRUE(presence.gone(node, 9, true, start + seconds{6}));
}

}
}
