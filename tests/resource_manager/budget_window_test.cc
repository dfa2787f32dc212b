#include "resource_manager/budget_window.h"

#include <gtest/gtest.h>

#include <random>

#include "platform/zone.h"

namespace impresario::resource_manager {
namespace budget_window_test {

using domain::TimePoint;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::minutes;

TimePoint at(const char* text) {
    const auto parsed = domain::parse_time(text);
    EXPECT_TRUE(parsed) << text;
    return parsed.value_or(TimePoint{});
}

struct Known {
    const char* what;
    WindowRule rule;
    const char* instant;
    const char* start;
    const char* end;
};
class KnownWindows : public ::testing::TestWithParam<Known> {};
TEST_P(KnownWindows, HoldTheInstant) {
    const auto& known = GetParam();
    const auto window = window_at(known.rule, at(known.instant));
    EXPECT_EQ(domain::rfc3339(window.start), domain::rfc3339(at(known.start))) << known.what;
    EXPECT_EQ(domain::rfc3339(window.end), domain::rfc3339(at(known.end))) << known.what;
}
const WindowRule kBerlinAt2{WindowUnit::day, "Europe/Berlin", 2};
const WindowRule kApia{WindowUnit::day, "Pacific/Apia", 0};
INSTANTIATE_TEST_SUITE_P(
    Table, KnownWindows,
    ::testing::Values(
        Known{"a day in UTC", {}, "2026-11-28T22:47:00Z", "2026-11-28T00:00:00Z", "2026-11-29T00:00:00Z"},
        Known{"its first instant", {}, "2026-11-28T00:00:00Z", "2026-11-28T00:00:00Z", "2026-11-29T00:00:00Z"},
        Known{"its last instant", {}, "2026-11-28T23:59:59.999999Z", "2026-11-28T00:00:00Z", "2026-11-29T00:00:00Z"},
        Known{"before the reset hour",
              {WindowUnit::day, "America/New_York", 6},
              "2026-07-04T09:59:59Z",
              "2026-07-03T10:00:00Z",
              "2026-07-04T10:00:00Z"},
        Known{"Berlin skips 02:00 and the window turns at the skip", kBerlinAt2, "2026-03-29T00:30:00Z",
              "2026-03-28T01:00:00Z", "2026-03-29T01:00:00Z"},
        Known{"the day after the skip is whole", kBerlinAt2, "2026-03-29T01:00:00Z", "2026-03-29T01:00:00Z",
              "2026-03-30T00:00:00Z"},
        Known{"Berlin shows 02:30 twice: the first", kBerlinAt2, "2026-10-25T00:30:00Z", "2026-10-25T00:00:00Z",
              "2026-10-26T01:00:00Z"},
        Known{"Berlin shows 02:30 twice: the second", kBerlinAt2, "2026-10-25T01:30:00Z", "2026-10-25T00:00:00Z",
              "2026-10-26T01:00:00Z"},
        Known{"Lord Howe moves by half an hour",
              {WindowUnit::day, "Australia/Lord_Howe", 2},
              "2026-10-03T15:45:00Z",
              "2026-10-03T15:30:00Z",
              "2026-10-04T15:00:00Z"},
        Known{"Apia: the last instant of the 29th", kApia, "2011-12-30T09:59:59.999999Z", "2011-12-29T10:00:00Z",
              "2011-12-30T10:00:00Z"},
        Known{"Apia: there was no 30th", kApia, "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"},
        Known{"a week from Monday",
              {WindowUnit::week, "UTC", 0, 1},
              "2026-11-29T12:00:00Z",
              "2026-11-23T00:00:00Z",
              "2026-11-30T00:00:00Z"},
        Known{"a week from Sunday",
              {WindowUnit::week, "UTC", 0, 7},
              "2026-11-29T12:00:00Z",
              "2026-11-29T00:00:00Z",
              "2026-12-06T00:00:00Z"},
        Known{"a week before 1970",
              {WindowUnit::week, "UTC", 0, 1},
              "1969-12-28T12:00:00Z",
              "1969-12-22T00:00:00Z",
              "1969-12-29T00:00:00Z"},
        Known{"February of a leap year",
              {WindowUnit::month, "UTC", 0},
              "2028-02-29T23:00:00Z",
              "2028-02-01T00:00:00Z",
              "2028-03-01T00:00:00Z"},
        Known{"a month in New York is an hour longer in November",
              {WindowUnit::month, "America/New_York", 0},
              "2026-11-15T00:00:00Z",
              "2026-11-01T04:00:00Z",
              "2026-12-01T05:00:00Z"},
        Known{"a month turns at its hour",
              {WindowUnit::month, "Europe/Berlin", 8},
              "2027-01-01T06:59:59Z",
              "2026-12-01T07:00:00Z",
              "2027-01-01T07:00:00Z"},
        Known{"a slice of the last 24 hours",
              {WindowUnit::rolling, "UTC", 0, 1, 24},
              "2026-11-28T00:25:00Z",
              "2026-11-28T00:24:00Z",
              "2026-11-28T00:48:00Z"},
        Known{"a batch's whole life",
              {WindowUnit::batch},
              "2026-11-28T00:25:00Z",
              "0001-01-01T00:00:00Z",
              "9999-12-31T23:59:59.999999Z"}));

TEST(BudgetWindow, TheReportsOfARollingWindowOutliveItsSlices) {
    const WindowRule rule{WindowUnit::rolling, "UTC", 0, 1, 24};
    const auto window = window_at(rule, at("2026-11-28T00:25:00Z"));
    EXPECT_EQ(counts_until(rule, window), window.end + hours{24});
    EXPECT_EQ(counts_until({}, window), window.end);
}

// Each instant belongs to one window; the windows of some years follow each other without gap or overlap.
TEST(BudgetWindow, WindowsFollowEachOther) {
    for (const auto* zone : {"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia",
                             "America/Havana", "Asia/Kathmandu", "Africa/Casablanca", "America/Sao_Paulo"})
        for (const auto unit : {WindowUnit::day, WindowUnit::week, WindowUnit::month, WindowUnit::rolling})
            for (const int hour : {0, 1, 2, 3, 12, 23}) {
                if (unit == WindowUnit::rolling && hour != 0) continue;
                const WindowRule rule{unit, zone, hour, 1 + hour % 7, 7};
                const auto until = at(unit == WindowUnit::rolling ? "2010-03-01T00:00:00Z" : "2021-01-01T00:00:00Z");
                auto window = window_at(rule, at("2010-01-01T00:00:00Z"));
                while (window.end < until) {
                    ASSERT_LT(window.start, window.end) << zone << ' ' << name(unit) << ' ' << hour;
                    const auto next = window_at(rule, window.end);
                    ASSERT_EQ(next.start, window.end) << zone << ' ' << name(unit) << ' ' << hour;
                    ASSERT_EQ(window_at(rule, window.start), window);
                    ASSERT_EQ(window_at(rule, window.end - microseconds{1}), window);
                    ASSERT_EQ(window_at(rule, window.start + (window.end - window.start) / 2), window);
                    window = next;
                }
            }
}

TEST(BudgetWindow, AnyInstantLiesInItsWindow) {
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const char* zones[] = {"UTC",          "Europe/Berlin",   "America/New_York", "Australia/Lord_Howe",
                           "Pacific/Apia", "Africa/Monrovia", "Asia/Manila",      "Pacific/Kwajalein"};
    for (int i = 0; i < 20000; ++i) {
        const WindowRule rule{static_cast<WindowUnit>(random() % 4), zones[random() % 8],
                              static_cast<int>(random() % 24), static_cast<int>(1 + random() % 7),
                              static_cast<int>(1 + random() % kMostRollingHours)};
        // 1800 to 2400.
        const TimePoint instant{
            microseconds{static_cast<std::int64_t>(random() % 18'900'000'000'000'000) - 5'300'000'000'000'000}};
        const auto window = window_at(rule, instant);
        ASSERT_TRUE(window.contains(instant)) << rule.zone << ' ' << name(rule.unit) << ' ' << domain::rfc3339(instant);
        ASSERT_EQ(window_at(rule, window.start), window) << rule.zone << ' ' << domain::rfc3339(instant);
    }
}

TEST(BudgetWindow, NothingOverflowsAtTheEndsOfTime) {
    for (const auto unit : {WindowUnit::day, WindowUnit::week, WindowUnit::month, WindowUnit::rolling})
        for (const auto instant : {TimePoint::min(), domain::kFirstTime, domain::kLastTime, domain::kNever}) {
            const auto window = window_at({unit, "Europe/Berlin", 3}, instant);
            EXPECT_LT(window.start, window.end);
        }
}

TEST(BudgetWindow, AnUnknownZoneIsKnownAsSuch) {
    EXPECT_TRUE(platform::known_zone("Europe/Berlin"));
    EXPECT_TRUE(platform::known_zone("UTC"));
    for (const auto* zone : {"", "Europe/Atlantis", "europe/berlin", "../../etc/passwd", "CEST5"})
        EXPECT_FALSE(platform::known_zone(zone)) << zone;
    EXPECT_EQ(window_at({WindowUnit::day, "Europe/Atlantis"}, at("2026-11-28T12:00:00Z")).start,
              at("2026-11-28T00:00:00Z"));
}

TEST(BudgetWindow, HoursOfTheDayMayGoOverMidnight) {
    // 22:00 to 06:00 in Berlin.
    EXPECT_TRUE(within_hours("Europe/Berlin", 22, 6, at("2026-11-28T21:00:00Z")));
    EXPECT_TRUE(within_hours("Europe/Berlin", 22, 6, at("2026-11-29T04:59:59Z")));
    EXPECT_FALSE(within_hours("Europe/Berlin", 22, 6, at("2026-11-29T05:00:00Z")));
    EXPECT_FALSE(within_hours("Europe/Berlin", 22, 6, at("2026-11-28T20:59:59Z")));
    EXPECT_TRUE(within_hours("UTC", 9, 17, at("2026-11-28T12:00:00Z")));
    EXPECT_FALSE(within_hours("UTC", 9, 17, at("2026-11-28T17:00:00Z")));
    EXPECT_EQ(next_hour("Europe/Berlin", 22, at("2026-11-28T12:00:00Z")), at("2026-11-28T21:00:00Z"));
    EXPECT_EQ(next_hour("UTC", 12, at("2026-11-28T12:00:00Z")), at("2026-11-29T12:00:00Z"));
}

TEST(BudgetWindow, UnitsHaveNames) {
    for (int i = 0; i < 5; ++i) {
        const auto unit = static_cast<WindowUnit>(i);
        EXPECT_EQ(parse_window_unit(name(unit)), unit);
    }
    EXPECT_FALSE(parse_window_unit("year"));
}

}
}
