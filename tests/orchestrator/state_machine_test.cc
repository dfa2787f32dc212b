#include "orchestrator/state_machine.h"

#include <gtest/gtest.h>

#include <set>

namespace impresario::orchestrator {
namespace state_machine_test {

using enum HubState;
const domain::TimePoint kNow{std::chrono::hours{500000}};

TEST(HubStates, AreExactlyTheTable) {
    const std::set<std::pair<HubState, HubState>> legal{// seed 003
                                                        {idle, analyzing},
                                                        {analyzing, dispatching},
                                                        {analyzing, idle},
                                                        {dispatching, monitoring},
                                                        {monitoring, idle},
                                                        {monitoring, error_recovery},
                                                        {error_recovery, dispatching},
                                                        {error_recovery, idle},
                                                        {dispatching, cooldown},
                                                        {cooldown, idle},
                                                        // design
                                                        {monitoring, analyzing},
                                                        {analyzing, monitoring},
                                                        {analyzing, cooldown},
                                                        {monitoring, cooldown},
                                                        {cooldown, analyzing},
                                                        {error_recovery, monitoring}};
    for (int from = 0; from < kHubStates; ++from)
        for (int to = 0; to < kHubStates; ++to) {
            const std::pair edge{static_cast<HubState>(from), static_cast<HubState>(to)};
            EXPECT_EQ(may_move(edge.first, edge.second), legal.contains(edge))
                << name(edge.first) << " -> " << name(edge.second);
        }
}

TEST(HubStates, RefuseAnIllegalMoveAndStay) {
    StateMachine machine(kNow);
    const auto moved = machine.move(monitoring, kNow, "no");
    ASSERT_FALSE(moved);
    EXPECT_EQ(machine.state(), idle);
    EXPECT_EQ(machine.why(), "started");
    EXPECT_EQ(machine.moves(), 0);
}

TEST(HubStates, AreAllReachedFromEachOtherByAllowedMoves) {
    for (int from = 0; from < kHubStates; ++from)
        for (int to = 0; to < kHubStates; ++to) {
            auto at = static_cast<HubState>(from);
            for (const auto next : way(at, static_cast<HubState>(to))) {
                EXPECT_TRUE(may_move(at, next)) << name(at) << " -> " << name(next);
                at = next;
            }
            EXPECT_EQ(at, static_cast<HubState>(to));
        }
    EXPECT_EQ(way(idle, error_recovery), (std::vector{analyzing, monitoring, error_recovery}));
    EXPECT_EQ(way(dispatching, analyzing), (std::vector{monitoring, analyzing}));
    EXPECT_TRUE(way(cooldown, cooldown).empty());
}

TEST(HubStates, KeepTimeInState) {
    StateMachine machine(kNow);
    ASSERT_TRUE(machine.move(analyzing, kNow + std::chrono::seconds{3}, "work"));
    ASSERT_TRUE(machine.move(dispatching, kNow + std::chrono::seconds{4}, "go"));
    const auto spent = machine.time_in(kNow + std::chrono::seconds{10});
    EXPECT_EQ(spent[static_cast<std::size_t>(idle)], std::chrono::seconds{3});
    EXPECT_EQ(spent[static_cast<std::size_t>(analyzing)], std::chrono::seconds{1});
    EXPECT_EQ(spent[static_cast<std::size_t>(dispatching)], std::chrono::seconds{6});
    EXPECT_EQ(machine.since(), kNow + std::chrono::seconds{4});
    for (int i = 0; i < kHubStates; ++i)
        EXPECT_EQ(parse_hub_state(name(static_cast<HubState>(i))), static_cast<HubState>(i));
}

}
}
