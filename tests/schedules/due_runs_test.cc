// What is done about a schedule at some moment.
#include "schedules/due_runs.h"

#include <gtest/gtest.h>

namespace impresario::schedules {
namespace {

using domain::TimePoint;
using std::chrono::minutes;
using std::chrono::seconds;

const TimePoint kNoon = *domain::parse_time("2026-11-29T12:00:00Z");

/// Due every minute, from noon on.
Schedule every_minute(Overlap overlap) {
    Schedule schedule;
    schedule.recurrence.interval = minutes{1};
    schedule.recurrence.anchor = kNoon;
    schedule.overlap = overlap;
    schedule.next_due = kNoon;
    return schedule;
}

std::string outcomes(const DueRuns& done) {
    std::string text;
    for (const auto& run : done.runs) {
        text += text.empty() ? "" : " ";
        text += std::to_string((run.due - kNoon) / minutes{1}) + ":" + std::string(name(run.outcome));
    }
    return text;
}

TEST(DueRuns, NothingBeforeItsTime) {
    const auto done = due_runs(every_minute(Overlap::skip), {}, kNoon - seconds{1});
    EXPECT_TRUE(done.runs.empty());
    EXPECT_EQ(done.next_due, kNoon);
}

TEST(DueRuns, WhatIsDueStarts) {
    const auto done = due_runs(every_minute(Overlap::skip), {}, kNoon);
    EXPECT_EQ(outcomes(done), "0:started");
    EXPECT_EQ(done.next_due, kNoon + minutes{1});
    EXPECT_FALSE(done.more);
}

TEST(DueRuns, OverlapDecidesAboutWhatIsDueMeanwhile) {
    const auto at = kNoon + minutes{2};
    EXPECT_EQ(outcomes(due_runs(every_minute(Overlap::skip), {}, at)), "0:started 1:skipped 2:skipped");
    EXPECT_EQ(outcomes(due_runs(every_minute(Overlap::buffer_one), {}, at)), "0:started 1:waiting 2:skipped");
    EXPECT_EQ(outcomes(due_runs(every_minute(Overlap::buffer_all), {}, at)), "0:started 1:waiting 2:waiting");
    EXPECT_EQ(outcomes(due_runs(every_minute(Overlap::allow), {}, at)), "0:started 1:started 2:started");
    const auto cancelled = due_runs(every_minute(Overlap::cancel_running), {true, {}}, kNoon);
    EXPECT_EQ(outcomes(cancelled), "0:started");
    EXPECT_TRUE(cancelled.cancel);
    EXPECT_EQ(outcomes(due_runs(every_minute(Overlap::cancel_running), {true, {}}, at)),
              "0:skipped 1:skipped 2:started")
        << "each would be cancelled by the next";
    EXPECT_FALSE(due_runs(every_minute(Overlap::cancel_running), {}, kNoon).cancel);
}

TEST(DueRuns, WhatWaitsComesFirstOnceNothingRuns) {
    auto schedule = every_minute(Overlap::buffer_all);
    schedule.next_due = kNoon + minutes{3};
    const RunFacts facts{false, {kNoon + minutes{1}, kNoon + minutes{2}}};
    EXPECT_EQ(outcomes(due_runs(schedule, facts, kNoon + minutes{3})), "1:started 3:waiting");
    EXPECT_EQ(outcomes(due_runs(schedule, {true, facts.waiting}, kNoon + minutes{2})), "");
    // Also where what is due does not wait: a backfill does.
    schedule.overlap = Overlap::skip;
    EXPECT_EQ(outcomes(due_runs(schedule, facts, kNoon + minutes{3})), "1:started 3:skipped");
}

TEST(DueRuns, WhatNobodyCouldStartInTimeIsMissedAndSaid) {
    auto schedule = every_minute(Overlap::allow);
    schedule.catch_up = minutes{2};
    const auto done = due_runs(schedule, {}, kNoon + minutes{60});
    EXPECT_EQ(outcomes(done), "0:missed 58:started 59:started 60:started");
    EXPECT_NE(done.runs[0].detail.find("12:58"), std::string::npos) << done.runs[0].detail;
    EXPECT_EQ(done.next_due, kNoon + minutes{61});
    schedule.catch_up = seconds{0};
    EXPECT_EQ(outcomes(due_runs(schedule, {}, kNoon + seconds{20})), "0:started") << "in time is in time";
    EXPECT_EQ(outcomes(due_runs(schedule, {}, kNoon + seconds{59})), "0:missed");
}

TEST(DueRuns, APauseLeavesOutWhatIsDueInIt) {
    auto schedule = every_minute(Overlap::allow);
    schedule.pause = Schedule::Pause{};
    EXPECT_TRUE(due_runs(schedule, {}, kNoon + minutes{5}).runs.empty());
    schedule.pause->until = kNoon + minutes{3};
    EXPECT_TRUE(due_runs(schedule, {}, kNoon + minutes{2}).runs.empty());
    EXPECT_EQ(outcomes(due_runs(schedule, {}, kNoon + minutes{4})), "3:started 4:started");
    schedule.pause.reset();
    schedule.enabled = false;
    EXPECT_TRUE(due_runs(schedule, {}, kNoon + minutes{5}).runs.empty());
}

TEST(DueRuns, EndsByTimeAndByNumber) {
    auto schedule = every_minute(Overlap::allow);
    schedule.ends_at = kNoon + minutes{1};
    auto done = due_runs(schedule, {}, kNoon + minutes{5});
    EXPECT_EQ(outcomes(done), "0:started 1:started");
    EXPECT_EQ(done.next_due, std::nullopt);
    schedule.ends_at.reset();
    schedule.most_runs = 10;
    schedule.runs = 8;
    done = due_runs(schedule, {}, kNoon + minutes{5});
    EXPECT_EQ(outcomes(done), "0:started 1:started");
    EXPECT_EQ(done.next_due, std::nullopt);
}

TEST(DueRuns, WhatWaitsCountsAmongTheRuns) {
    auto schedule = every_minute(Overlap::buffer_all);
    schedule.most_runs = 3;
    const auto done = due_runs(schedule, {}, kNoon + minutes{5});
    EXPECT_EQ(outcomes(done), "0:started 1:waiting 2:waiting");
    EXPECT_EQ(done.next_due, std::nullopt);
}

TEST(DueRuns, WhatABackfillHasAskedForIsNotDueTwice) {
    auto schedule = every_minute(Overlap::allow);
    const RunFacts facts{false, {kNoon, kNoon + minutes{1}}};
    EXPECT_EQ(outcomes(due_runs(schedule, facts, kNoon + minutes{2})), "0:started 2:started");
}

TEST(DueRuns, SoManyAtATime) {
    auto schedule = every_minute(Overlap::allow);
    schedule.catch_up = std::chrono::hours{24};
    const auto done = due_runs(schedule, {}, kNoon + minutes{500}, 100);
    EXPECT_EQ(done.runs.size(), 100U);
    EXPECT_TRUE(done.more);
    EXPECT_EQ(done.next_due, kNoon + minutes{100});
}

TEST(DueRuns, JitterSpreadsAndIsAlwaysTheSame) {
    auto schedule = every_minute(Overlap::allow);
    schedule.jitter = seconds{30};
    domain::Duration least = seconds{30};
    domain::Duration most{0};
    for (int i = 0; i < 200; ++i) {
        const auto due = kNoon + minutes{i};
        const auto late = starts_at(schedule, due) - due;
        EXPECT_EQ(starts_at(schedule, due) - due, late);
        least = std::min(least, late);
        most = std::max(most, late);
    }
    EXPECT_LT(least, seconds{3});
    EXPECT_GE(least, seconds{0});
    EXPECT_GT(most, seconds{27});
    EXPECT_LT(most, seconds{30});
    EXPECT_TRUE(due_runs(schedule, {}, starts_at(schedule, kNoon) - seconds{1}).runs.empty());
}

}
}
