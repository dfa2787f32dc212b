#include "orchestrator/recover.h"

#include <gtest/gtest.h>

namespace impresario::orchestrator {
namespace recover_test {

using domain::Status;
using std::chrono::minutes;
const domain::TimePoint kNow{std::chrono::hours{500000}};

struct Row {
    FailureCause cause;
    bool recommended;
    int retry_count;
    int max_retries;
    const char* expected;  // "retry" or "<status> <reason>"
};

class Recoveries : public ::testing::TestWithParam<Row> {};
TEST_P(Recoveries, FollowTheTable) {
    const auto& row = GetParam();
    const auto recovery = recover({row.cause, std::nullopt, row.recommended}, *domain::named_retry_policy("master"),
                                  row.retry_count, row.max_retries, kNow, 0.5);
    std::string said = "retry";
    if (const auto* end = std::get_if<GiveUp>(&recovery)) said = std::string(name(end->status)) + " " + end->reason;
    EXPECT_EQ(said, row.expected);
}
INSTANTIATE_TEST_SUITE_P(Table, Recoveries,
                         ::testing::Values(Row{FailureCause::delivery, true, 0, 3, "retry"},
                                           Row{FailureCause::delivery, true, 2, 3, "retry"},
                                           Row{FailureCause::delivery, true, 3, 3, "dead attempts_exhausted"},
                                           Row{FailureCause::delivery, true, 0, 0, "dead attempts_exhausted"},
                                           Row{FailureCause::reported, true, 0, 3, "retry"},
                                           Row{FailureCause::reported, true, 3, 3, "dead attempts_exhausted"},
                                           Row{FailureCause::reported, true, 0, 0, "failed reported"},
                                           Row{FailureCause::reported, false, 0, 3, "failed reported"},
                                           Row{FailureCause::timeout, true, 0, 0, "dead timeout"},
                                           Row{FailureCause::timeout, true, 1, 3, "retry"},
                                           Row{FailureCause::timeout, true, 3, 3, "dead timeout"},
                                           Row{FailureCause::lost, true, 0, 0, "dead lost"},
                                           Row{FailureCause::lost, true, 0, 1, "retry"},
                                           Row{FailureCause::asked, true, 0, 1, "retry"},
                                           Row{FailureCause::asked, true, 0, 0, "dead attempts_exhausted"}));

TEST(Recover, WaitsByThePolicyAndAtLeastAsLongAsThePeerAsked) {
    const auto policy = *domain::named_retry_policy("master");
    const auto at = [&](std::optional<domain::Duration> after, int failures) {
        return std::get<TryAgain>(recover({FailureCause::delivery, after, true}, policy, failures, 3, kNow, 0.0)).at -
               kNow;
    };
    EXPECT_EQ(at(std::nullopt, 0), domain::Duration{minutes{1}} * 11 / 10);
    EXPECT_EQ(at(std::nullopt, 2), domain::Duration{minutes{4}} * 11 / 10);
    EXPECT_EQ(at(minutes{30}, 0), minutes{30});
    EXPECT_EQ(at(std::chrono::seconds{1}, 0), domain::Duration{minutes{1}} * 11 / 10);
}

}
}
