#include "orchestrator/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace impresario::orchestrator {
namespace health_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

HealthView well() {
    HealthView view;
    view.endpoints = 3;
    view.waiting = 499;
    return view;
}

TEST(Health, IsHealthyWhileNoCheckFindsAnything) {
    const auto health = check_health(well(), {});
    EXPECT_TRUE(health.healthy());
    EXPECT_THAT(health.because(), IsEmpty());
    EXPECT_EQ(health.checks.size(), 7U);
}

TEST(Health, SaysBecauseOfWhatItIsDegraded) {
    auto view = well();
    view.database.lock_waits = 4;
    EXPECT_THAT(check_health(view, {}).because(), ElementsAre("database: lock_waits: 4, the limit is 4"));
    view = well();
    view.scheduler_silent = std::chrono::seconds{31};
    EXPECT_THAT(check_health(view, {}).because(), ElementsAre("scheduler: nobody has scheduled for 31 s"));
    view = well();
    view.nodes_lost = 1;
    EXPECT_THAT(check_health(view, {}).because(), ElementsAre("nodes: 1 node has not been heard of and did not leave"));
    view = well();
    view.broken_count = 1;
    view.broken = {{"mine", "http://peer/", "6 of 10 failed"}};
    EXPECT_THAT(check_health(view, {}).because(),
                ElementsAre("endpoints: 1 of 3 endpoints have a breaker that is not closed: mine at http://peer/ (6 of "
                            "10 failed)"));
    view = well();
    view.waiting = 500;
    EXPECT_THAT(check_health(view, {}).because(), ElementsAre("queue_depth: 500 executions wait, 500 are many"));
    view = well();
    view.stalled = {{StallCause::lost_callback, 2}, {StallCause::lost_lease, 1}, {StallCause::long_queue, 9}};
    EXPECT_THAT(check_health(view, {}).because(),
                ElementsAre("stalled_executions: 3 executions have not been heard of for long: lost_lease 1; "
                            "lost_callback 2"));
    view = well();
    view.alerts = {"Budget day is 93 % used", "nobody"};
    EXPECT_THAT(check_health(view, {}).because(), ElementsAre("alerts: Budget day is 93 % used; nobody"));
}

TEST(Health, WithoutADatabaseNothingElseIsKnown) {
    const auto health = health_without_database("it does not answer");
    EXPECT_FALSE(health.healthy());
    EXPECT_EQ(health.because().size(), 7U);
    EXPECT_EQ(health.because().front(), "database: it does not answer");
    EXPECT_EQ(health.because().back(), "alerts: not known without the database");
}

}
}
