// When what has ended may go.
#include "journal/retention.h"

#include <gtest/gtest.h>

namespace impresario::journal {
namespace retention_test {

using domain::Family;
using domain::FamilyMember;
using domain::Status;
using domain::TimePoint;
using std::chrono::hours;

constexpr hours kDay{24};
const TimePoint kEnd{hours{480'000}};

FamilyMember member(Status status, std::optional<TimePoint> ended = kEnd) {
    FamilyMember one;
    one.status = status;
    one.ended = ended;
    one.last_event = 7;
    return one;
}

TEST(Retention, EachStatusHasItsTimeFromTheEnd) {
    const RetentionPolicy policy;
    EXPECT_EQ(goes_at(policy, {{}, {member(Status::completed)}}, 7), kEnd + 90 * kDay);
    EXPECT_EQ(goes_at(policy, {{}, {member(Status::cancelled)}}, 7), kEnd + 90 * kDay);
    EXPECT_EQ(goes_at(policy, {{}, {member(Status::failed)}}, 7), kEnd + 180 * kDay);
    EXPECT_EQ(goes_at(policy, {{}, {member(Status::dead)}}, 7), kEnd + 180 * kDay);
    EXPECT_EQ(policy.shortest(), 90 * kDay);
    RetentionPolicy never;
    never.completed.reset();
    EXPECT_FALSE(goes_at(never, {{}, {member(Status::completed)}}, 7));
    never.failed = never.cancelled = never.dead = std::nullopt;
    EXPECT_FALSE(never.shortest());
}

TEST(Retention, WhatLivesStays) {
    const RetentionPolicy policy;
    for (const auto status :
         {Status::queued, Status::analyzing, Status::dispatching, Status::running, Status::retrying})
        EXPECT_FALSE(goes_at(policy, {{}, {member(status, std::nullopt)}}, 7)) << name(status);
    // Even with a time that some other column would take for its end.
    EXPECT_FALSE(goes_at(policy, {{}, {member(Status::running)}}, 7));
}

TEST(Retention, AFamilyGoesAsAWholeOnceItsLastMay) {
    const RetentionPolicy policy;
    const auto young = member(Status::completed, kEnd + 200 * kDay);
    EXPECT_EQ(goes_at(policy, {{}, {member(Status::completed), young, member(Status::failed)}}, 7), kEnd + 290 * kDay);
    EXPECT_FALSE(goes_at(policy, {{}, {member(Status::completed), member(Status::running, std::nullopt)}}, 7));
}

TEST(Retention, WhatSomebodyHasToDecideAboutOrToHearOfStays) {
    const RetentionPolicy policy;
    auto open = member(Status::dead);
    open.held = true;
    EXPECT_FALSE(goes_at(policy, {{}, {open}}, 7));
    EXPECT_FALSE(goes_at(policy, {{}, {member(Status::completed)}}, 6)) << "a subscriber has not been told";
}

}
}
