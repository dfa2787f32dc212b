#include "orchestrator/key_sleepers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace impresario::orchestrator {
namespace key_sleepers_test {

using domain::TimePoint;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;
using Group = KeySleepers::Group;

const TimePoint kNow{seconds{1000}};

TEST(KeySleepers, AreWokenByTheirTime) {
    KeySleepers sleepers;
    sleepers.sleep({"", "b"}, {0, "b"}, kNow + seconds{2});
    sleepers.sleep({"", "a"}, {0, "a"}, kNow + seconds{1});
    sleepers.sleep({"", "c"}, {0, "c"}, TimePoint::max());
    EXPECT_EQ(sleepers.next_due(), kNow + seconds{1});
    EXPECT_TRUE(sleepers.wake_due(kNow).empty());
    EXPECT_THAT(sleepers.wake_due(kNow + seconds{2}), ElementsAre(Group{"", "a"}, Group{"", "b"}));
    EXPECT_EQ(sleepers.size(), 1U);
    EXPECT_EQ(sleepers.next_due(), std::nullopt) << "that depends on others";
}

TEST(KeySleepers, AreWokenByWhatClosesThem) {
    KeySleepers sleepers;
    sleepers.sleep({"x", "a"}, {0, "a"}, kNow);
    sleepers.sleep({"y", "a"}, {0, "a"}, kNow);
    sleepers.sleep({"z", "a"}, {1, "a"}, kNow);
    EXPECT_TRUE(sleepers.wake_all_of({0, "b"}).empty());
    EXPECT_THAT(sleepers.wake_all_of({0, "a"}), UnorderedElementsAre(Group{"x", "a"}, Group{"y", "a"}));
    EXPECT_THAT(sleepers.wake_due(kNow), ElementsAre(Group{"z", "a"})) << "the others have gone from there, too";
}

TEST(KeySleepers, SleepAnew) {
    KeySleepers sleepers;
    const Group group{"", "a"};
    sleepers.sleep(group, {0, "a"}, kNow);
    sleepers.sleep(group, {1, "b"}, kNow + seconds{5});
    EXPECT_TRUE(sleepers.wake_due(kNow).empty());
    EXPECT_TRUE(sleepers.wake_all_of({0, "a"}).empty());
    EXPECT_TRUE(sleepers.has(group));
    EXPECT_TRUE(sleepers.wake(group));
    EXPECT_FALSE(sleepers.wake(group));
    EXPECT_EQ(sleepers.next_due(), std::nullopt);
}

}
}
