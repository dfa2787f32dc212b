// When things are due, across the clocks of the world.
#include "schedules/recurrence.h"

#include <gtest/gtest.h>

namespace impresario::schedules {
namespace {

using domain::TimePoint;

TimePoint at(const char* text) { return *domain::parse_time(text); }

Recurrence cron(const char* text, const char* zone = "UTC") {
    Recurrence recurrence;
    const auto rule = parse_cron(text);
    EXPECT_TRUE(rule) << text;
    if (rule) recurrence.calendar = *rule;
    recurrence.zone = zone;
    return recurrence;
}

/// The next so many, by the minute: "2026-11-29T09:00Z".
std::vector<std::string> next(const Recurrence& recurrence, const char* after, int count) {
    std::vector<std::string> all;
    auto last = at(after);
    for (int i = 0; i < count; ++i) {
        const auto due = next_due(recurrence, last);
        if (!due) break;
        last = *due;
        all.push_back(domain::rfc3339(last).substr(0, 16) + "Z");
    }
    return all;
}

using Times = std::vector<std::string>;

TEST(Cron, FieldsListsRangesStepsAndNames) {
    EXPECT_EQ(next(cron("*/15 9-10 * * mon-fri"), "2026-11-27T10:20:00Z", 4),
              (Times{"2026-11-27T10:30Z", "2026-11-27T10:45Z", "2026-11-30T09:00Z", "2026-11-30T09:15Z"}));
    EXPECT_EQ(next(cron("5,50 0 1 jan,JUL *"), "2026-11-27T00:00:00Z", 3),
              (Times{"2027-01-01T00:05Z", "2027-01-01T00:50Z", "2027-07-01T00:05Z"}));
    EXPECT_EQ(next(cron("10/20 5 * * *"), "2026-11-27T00:00:00Z", 3),
              (Times{"2026-11-27T05:10Z", "2026-11-27T05:30Z", "2026-11-27T05:50Z"}));
    EXPECT_EQ(next(cron("0 0 * * 7"), "2026-11-27T00:00:00Z", 2), (Times{"2026-11-29T00:00Z", "2026-12-06T00:00Z"}));
    EXPECT_EQ(next(cron("0 0 * * 5-7"), "2026-11-27T12:00:00Z", 3),
              (Times{"2026-11-28T00:00Z", "2026-11-29T00:00Z", "2026-12-04T00:00Z"}));
    EXPECT_EQ(next(cron("0 12 L * *"), "2028-01-31T12:00:00Z", 3),
              (Times{"2028-02-29T12:00Z", "2028-03-31T12:00Z", "2028-04-30T12:00Z"}));
}

TEST(Cron, ADayOfMonthAndADayOfWeekMeanEither) {
    EXPECT_EQ(next(cron("0 0 13 * fri"), "2026-11-10T00:00:00Z", 4),
              (Times{"2026-11-13T00:00Z", "2026-11-20T00:00Z", "2026-11-27T00:00Z", "2026-12-04T00:00Z"}));
    EXPECT_EQ(next(cron("0 0 13 * *"), "2026-11-10T00:00:00Z", 2), (Times{"2026-11-13T00:00Z", "2026-12-13T00:00Z"}));
}

TEST(Cron, Names) {
    EXPECT_EQ(next(cron("@hourly"), "2026-11-27T10:20:00Z", 1), (Times{"2026-11-27T11:00Z"}));
    EXPECT_EQ(next(cron("@daily"), "2026-11-27T10:20:00Z", 1), (Times{"2026-11-28T00:00Z"}));
    EXPECT_EQ(next(cron("@weekly"), "2026-11-27T10:20:00Z", 1), (Times{"2026-11-29T00:00Z"}));
    EXPECT_EQ(next(cron("@Monthly"), "2026-11-27T10:20:00Z", 1), (Times{"2026-12-01T00:00Z"}));
    EXPECT_EQ(next(cron("@quarterly"), "2026-11-27T10:20:00Z", 1), (Times{"2027-01-01T00:00Z"}));
    EXPECT_EQ(next(cron("@yearly"), "2026-11-27T10:20:00Z", 1), (Times{"2027-01-01T00:00Z"}));
}

TEST(Cron, WhatMeansNothingIsRefusedByName) {
    for (const auto* wrong :
         {"",           "* * * *",     "* * * * * *", "60 * * * *",   "* 24 * * *",           "* * 0 * *",
          "* * * 13 *", "* * * * 8",   "a * * * *",   "*/0 * * * *",  "5-1 * * * *",          "1,,2 * * * *",
          "@sometimes", "-1 * * * *",  "1- * * * *",  "* * * * mon-", "1/2147483647 * * * *", "* * */2147483647 * *",
          "1/ * * * *", "0 0 1 febr *"})
        EXPECT_FALSE(parse_cron(wrong)) << wrong;
    EXPECT_EQ(parse_cron("0 25 * * *").error().what, "has hour '25', which must be from 0 to 23");
    EXPECT_EQ(parse_cron("0 0 30 2 *").error().what, "means a day that none of its months has");
    EXPECT_FALSE(parse_cron("0 0 31 4,6,9,11 *"));
    EXPECT_TRUE(parse_cron("0 0 30 2 mon")) << "or a Monday";
    EXPECT_TRUE(parse_cron("0 0 29 2 *"));
    EXPECT_EQ(next(cron("0 0 29 2 *"), "2026-01-01T00:00:00Z", 2), (Times{"2028-02-29T00:00Z", "2032-02-29T00:00Z"}));
}

TEST(Cron, ATimeThatClocksSkipIsDueAtTheSkip) {
    // Berlin, 28 March 2027: 02:00 becomes 03:00, which is 01:00 UTC.
    EXPECT_EQ(next(cron("30 2 * * *", "Europe/Berlin"), "2027-03-26T12:00:00Z", 3),
              (Times{"2027-03-27T01:30Z", "2027-03-28T01:00Z", "2027-03-29T00:30Z"}));
    EXPECT_EQ(next(cron("0,30 2 * * *", "Europe/Berlin"), "2027-03-28T00:00:00Z", 2),
              (Times{"2027-03-28T01:00Z", "2027-03-29T00:00Z"}))
        << "once, however many are skipped";
    EXPECT_EQ(next(cron("*/30 * * * *", "Europe/Berlin"), "2027-03-28T00:30:00Z", 3),
              (Times{"2027-03-28T01:00Z", "2027-03-28T01:30Z", "2027-03-28T02:00Z"}));
}

TEST(Cron, ATimeThatClocksShowTwiceIsDueOnceUnlessEveryHourIs) {
    // Berlin, 25 October 2026: 03:00 becomes 02:00, which is 01:00 UTC.
    EXPECT_EQ(next(cron("30 2 * * *", "Europe/Berlin"), "2026-10-24T12:00:00Z", 2),
              (Times{"2026-10-25T00:30Z", "2026-10-26T01:30Z"}));
    EXPECT_EQ(next(cron("30 * * * *", "Europe/Berlin"), "2026-10-24T23:30:00Z", 3),
              (Times{"2026-10-25T00:30Z", "2026-10-25T01:30Z", "2026-10-25T02:30Z"}));
}

TEST(Cron, ClocksThatChangeAtMidnightOrByHalfAnHour) {
    // Havana, 14 March 2027: midnight does not exist; Lord Howe, 4 October 2026: 02:00 becomes 02:30.
    EXPECT_EQ(next(cron("0 0 * * *", "America/Havana"), "2027-03-13T12:00:00Z", 2),
              (Times{"2027-03-14T05:00Z", "2027-03-15T04:00Z"}));
    EXPECT_EQ(next(cron("15 2 * * *", "Australia/Lord_Howe"), "2026-10-03T00:00:00Z", 2),
              (Times{"2026-10-03T15:30Z", "2026-10-04T15:15Z"}));
    // Apia never had 30 December 2011.
    EXPECT_EQ(next(cron("0 12 * * *", "Pacific/Apia"), "2011-12-29T00:00:00Z", 3),
              (Times{"2011-12-29T22:00Z", "2011-12-30T10:00Z", "2011-12-30T22:00Z"}));
}

TEST(Interval, GoesByItsAnchorWhateverClocksDo) {
    Recurrence every;
    every.interval = std::chrono::minutes{90};
    every.anchor = at("2026-01-01T00:10:00Z");
    EXPECT_EQ(next(every, "2026-01-01T00:10:00Z", 3),
              (Times{"2026-01-01T01:40Z", "2026-01-01T03:10Z", "2026-01-01T04:40Z"}));
    EXPECT_EQ(next(every, "2025-12-01T00:00:00Z", 1), (Times{"2026-01-01T00:10Z"}));
    EXPECT_EQ(next(every, "2026-01-01T01:39:59Z", 1), (Times{"2026-01-01T01:40Z"}));
}

/// Whatever one asks from: the same times, each later than the one before.
TEST(Cron, IsTheSameWhereverOneAsksFrom) {
    for (const auto* text :
         {"*/7 3,4 * * *", "0 9-17/4 * * mon,wed", "59 23 L * *", "30 2 1-7 3,10 sun", "*/20 * * * *"})
        for (const auto* zone : {"UTC", "Europe/Berlin", "America/New_York"}) {
            const auto recurrence = cron(text, zone);
            auto due = at("2026-09-01T00:00:00Z");
            const auto end = at("2027-05-01T00:00:00Z");
            std::size_t count = 0;
            while (due < end) {
                const auto then = next_due(recurrence, due);
                ASSERT_TRUE(then);
                ASSERT_GT(*then, due);
                // Nothing lies between, and asking from just before finds the same.
                EXPECT_EQ(next_due(recurrence, *then - domain::Duration{1}), then);
                EXPECT_EQ(next_due(recurrence, due + (*then - due) / 2), then);
                due = *then;
                ++count;
            }
            EXPECT_GT(count, 8U) << text << " " << zone;
        }
}

}
}
