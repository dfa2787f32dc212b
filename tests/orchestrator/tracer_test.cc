#include "orchestrator/tracer.h"

#include <gtest/gtest.h>

namespace impresario::orchestrator {
namespace tracer_test {

using std::chrono::seconds;
const domain::TimePoint kNow{std::chrono::hours{500000}};
const domain::Lane kLane{"o", "t"};

TEST(GateIntervals, AreCutToWhatIsAskedAbout) {
    GateIntervals gates;
    gates.add(kLane, {domain::GateKind::paused, kNow, kNow + seconds{10}});
    gates.add(kLane, {domain::GateKind::paused, kNow + seconds{10}, kNow + seconds{20}});
    gates.add(kLane, {domain::GateKind::provider, kNow + seconds{30}, kNow + seconds{40}});
    const auto found = gates.within(kLane, kNow + seconds{5}, kNow + seconds{35});
    ASSERT_EQ(found.size(), 2U) << "what goes on is one";
    EXPECT_EQ(found[0].from, kNow + seconds{5});
    EXPECT_EQ(found[0].to, kNow + seconds{20});
    EXPECT_EQ(found[1].kind, domain::GateKind::provider);
    EXPECT_EQ(found[1].to, kNow + seconds{35});
    EXPECT_TRUE(gates.within(kLane, kNow + seconds{20}, kNow + seconds{30}).empty());
    EXPECT_TRUE(gates.within({"o", "other"}, kNow, kNow + seconds{100}).empty());
}

TEST(GateIntervals, OneThatOpensAndClosesIsOneOfEachKind) {
    GateIntervals gates;
    for (int i = 0; i < 10; ++i) {
        const auto from = kNow + seconds{3 * i};
        gates.add(kLane, {domain::GateKind::provider, from, from + seconds{1}});
        gates.add(kLane, {domain::GateKind::concurrency, from + seconds{1}, from + seconds{2}});
    }
    const auto found = gates.within(kLane, kNow, kNow + seconds{100});
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].times, 10);
    EXPECT_EQ(found[0].closed, seconds{10});
    EXPECT_EQ(found[0].to, kNow + seconds{28});
}

TEST(GateIntervals, KeepTheLatest) {
    GateIntervals gates;
    for (int i = 0; i < 1000; ++i)
        gates.add(kLane, {domain::GateKind::paused, kNow + seconds{2 * i}, kNow + seconds{2 * i + 1}});
    const auto found = gates.within(kLane, kNow, kNow + seconds{10'000});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].times, 256);
    EXPECT_EQ(found[0].to, kNow + seconds{1999});
}

}
}
