#include "reports/period.h"

#include <gtest/gtest.h>

#include "platform/zone.h"

namespace impresario::reports {
namespace period_test {

using domain::parse_time;

domain::TimePoint at(const char* text) { return *parse_time(text); }

Settings berlin() {
    Settings settings;
    settings.zone = "Europe/Berlin";
    return settings;
}

TEST(Period, ADailyReportIsDueAtEightAboutTheDayBefore) {
    const auto before = latest_due(Kind::daily, at("2026-11-27T06:59:59Z"), berlin());
    EXPECT_EQ(before.at, at("2026-11-26T07:00:00Z"));
    const auto due = latest_due(Kind::daily, at("2026-11-27T07:00:00Z"), berlin());
    EXPECT_EQ(due.at, at("2026-11-27T07:00:00Z"));
    EXPECT_EQ(due.period, (Period{at("2026-11-25T23:00:00Z"), at("2026-11-26T23:00:00Z")}));
    EXPECT_EQ(next_due(Kind::daily, at("2026-11-27T07:00:00Z"), berlin()), at("2026-11-28T07:00:00Z"));
}

TEST(Period, AWeeklyReportIsDueOnMondayAtNineAboutTheWeekBefore) {
    const auto due = latest_due(Kind::weekly, at("2026-11-30T08:00:00Z"), berlin());
    EXPECT_EQ(due.at, at("2026-11-30T08:00:00Z"));
    EXPECT_EQ(period_text(due.period, platform::find_zone("Europe/Berlin")), "2026-11-23 to 2026-11-29");
    EXPECT_EQ(latest_due(Kind::weekly, at("2026-11-30T07:59:00Z"), berlin()).at, at("2026-11-23T08:00:00Z"));
    EXPECT_EQ(next_due(Kind::weekly, at("2026-11-30T08:00:00Z"), berlin()), at("2026-12-07T08:00:00Z"));
}

TEST(Period, DaysAreAsLongAsTheClocksMakeThem) {
    const auto spring = period_of(Kind::daily, *parse_day("2026-03-29"), berlin());
    EXPECT_EQ(spring.to - spring.from, std::chrono::hours{23});
    const auto autumn = period_of(Kind::daily, *parse_day("2026-10-25"), berlin());
    EXPECT_EQ(autumn.to - autumn.from, std::chrono::hours{25});
    Settings settings;
    settings.zone = "Asia/Kathmandu";
    EXPECT_EQ(period_of(Kind::daily, *parse_day("2026-11-27"), settings).from, at("2026-11-26T18:15:00Z"));
}

TEST(Period, AnyDayOfAWeekMeansThatWeek) {
    const auto week = period_of(Kind::weekly, *parse_day("2026-11-27"), berlin());
    EXPECT_EQ(week, period_of(Kind::weekly, *parse_day("2026-11-23"), berlin()));
    EXPECT_EQ(week.to, at("2026-11-29T23:00:00Z"));
    auto from_sunday = berlin();
    from_sunday.weekly_weekday = 7;
    EXPECT_EQ(period_text(period_of(Kind::weekly, *parse_day("2026-11-27"), from_sunday),
                          platform::find_zone("Europe/Berlin")),
              "2026-11-22 to 2026-11-28");
}

TEST(Period, ADayIsWrittenInOneWay) {
    EXPECT_TRUE(parse_day("2024-02-29"));
    for (const auto* bad : {"", "2026-2-3", "2026-02-30", "2025-02-29", "27.11.2026", "2026-11-27T00:00:00Z",
                            "+026-11-27", "2026-00-10", "1969-12-31", "9999-01-01"})
        EXPECT_FALSE(parse_day(bad)) << bad;
    EXPECT_EQ(day_text(*parse_day("2026-11-27")), "2026-11-27");
}

}
}
