#include "priority_queue/score.h"

#include <gtest/gtest.h>

namespace impresario::priority_queue {
namespace {

using domain::TimePoint;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const TimePoint kNow{hours{500000}};

struct Row {
    int priority;
    microseconds age;
    double points;
};
class Scores : public ::testing::TestWithParam<Row> {};
TEST_P(Scores, FollowTheFormula) {
    const auto [priority, age, points] = GetParam();
    EXPECT_DOUBLE_EQ(static_cast<double>(score(priority, kNow - age, kNow)) / kPoint, points);
}
INSTANTIATE_TEST_SUITE_P(Table, Scores,
                         ::testing::Values(Row{50, seconds{0}, 500}, Row{0, seconds{0}, 0}, Row{100, minutes{0}, 1000},
                                           Row{50, seconds{90}, 501.5}, Row{50, minutes{30}, 530},
                                           Row{50, minutes{30} + microseconds{1}, 580 + 1.0 / 60e6},
                                           Row{50, minutes{31}, 581}, Row{50, minutes{120}, 670},
                                           Row{50, hours{500}, 670}, Row{0, hours{9}, 170}, Row{18, seconds{0}, 180}));

TEST(Scores, NeverRiseWithCreatedAt) {
    for (int i = 0; i < 300; ++i) EXPECT_GE(score(50, kNow - minutes{i + 1}, kNow), score(50, kNow - minutes{i}, kNow));
}

TEST(Scores, CanBeTakenApart) {
    const auto parts = score_parts(50, kNow - minutes{45}, kNow);
    EXPECT_DOUBLE_EQ(parts.priority, 500);
    EXPECT_DOUBLE_EQ(parts.age, 45);
    EXPECT_DOUBLE_EQ(parts.starvation, 50);
}

}
}
