#include "domain/execution.h"

#include <gtest/gtest.h>

#include <set>

namespace impresario::domain {
namespace {

using Edge = std::pair<Status, Status>;

// Every edge of the design's paragraph on statuses; what is not here is illegal.
const std::set<Edge>& legal() {
    using enum Status;
    static const std::set<Edge> edges{
        {queued, analyzing},   {analyzing, queued},     {queued, dispatching},    {dispatching, running},
        {dispatching, queued}, {dispatching, retrying}, {dispatching, completed}, {dispatching, failed},
        {dispatching, dead},   {running, completed},    {running, failed},        {running, retrying},
        {running, dead},       {retrying, dispatching}, {retrying, completed},    {retrying, dead},
        {dead, queued},        {failed, queued},        {dead, completed},        {failed, completed},
        {queued, cancelled},   {analyzing, cancelled},  {dispatching, cancelled}, {running, cancelled},
        {retrying, cancelled},
    };
    return edges;
}

TEST(ExecutionMoves, AreExactlyTheTable) {
    for (int from = 0; from < kStatuses; ++from)
        for (int to = 0; to < kStatuses; ++to) {
            const Edge edge{static_cast<Status>(from), static_cast<Status>(to)};
            EXPECT_EQ(may_move(edge.first, edge.second), legal().contains(edge))
                << name(edge.first) << " -> " << name(edge.second);
        }
}

TEST(ExecutionMoves, CompletedAndCancelledNeverReopen) {
    for (int to = 0; to < kStatuses; ++to) {
        EXPECT_FALSE(may_move(Status::completed, static_cast<Status>(to)));
        EXPECT_FALSE(may_move(Status::cancelled, static_cast<Status>(to)));
    }
}

TEST(ExecutionMoves, AnIllegalMoveChangesNothing) {
    Execution e;
    e.status = Status::completed;
    e.ready = false;
    const auto moved = move_to(e, Status::queued);
    ASSERT_FALSE(moved);
    EXPECT_EQ(moved.error().text(), "completed -> queued");
    EXPECT_EQ(e.status, Status::completed);
}

TEST(ExecutionMoves, AnEndIsNeitherReadyNorDueNorTimed) {
    Execution e;
    e.status = Status::running;
    e.ready = true;
    e.due_at = TimePoint{Duration{5}};
    e.timeout_at = TimePoint{Duration{9}};
    e.gate = Gate{};
    ASSERT_TRUE(move_to(e, Status::completed));
    EXPECT_FALSE(e.ready);
    EXPECT_FALSE(e.due_at);
    EXPECT_FALSE(e.timeout_at);
    EXPECT_FALSE(e.gate);
}

TEST(ExecutionNames, GoThereAndBack) {
    for (int i = 0; i < kStatuses; ++i) EXPECT_EQ(parse_status(name(static_cast<Status>(i))), static_cast<Status>(i));
    EXPECT_FALSE(parse_status("pending"));
    for (const auto state : {AttemptState::granted, AttemptState::sending, AttemptState::accepted,
                             AttemptState::unknown, AttemptState::waiting_redelivery, AttemptState::closed})
        EXPECT_EQ(parse_attempt_state(name(state)), state);
}

TEST(ExecutionSlots, WaitingForRedeliveryHoldsNone) {
    Execution e;
    EXPECT_FALSE(e.holds_slot());
    e.attempt = LiveAttempt{};
    for (const auto state :
         {AttemptState::granted, AttemptState::sending, AttemptState::accepted, AttemptState::unknown}) {
        e.attempt->state = state;
        EXPECT_TRUE(e.holds_slot()) << name(state);
    }
    e.attempt->state = AttemptState::waiting_redelivery;
    EXPECT_FALSE(e.holds_slot());
}

TEST(Ids, ReadWhatTheyWrite) {
    const auto id = ExecutionId::parse("018f3c1e-7b2a-7def-8123-456789abcdef");
    ASSERT_TRUE(id);
    EXPECT_EQ(id->text(), "018f3c1e-7b2a-7def-8123-456789abcdef");
    EXPECT_EQ(ExecutionId::parse("018F3C1E-7B2A-7DEF-8123-456789ABCDEF"), id);
    for (const auto* bad : {"", "018f3c1e", "018f3c1e-7b2a-7def-8123-456789abcdeg",
                            "018f3c1e07b2a-7def-8123-456789abcdef", "018f3c1e-7b2a-7def-8123-456789abcdef0"})
        EXPECT_FALSE(ExecutionId::parse(bad)) << bad;
}

}
}
