#pragma once
// When something is due that is due again and again. Pure, but for the zones of the system.

#include <bitset>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/result.h"
#include "domain/time.h"

namespace impresario::schedules {

/// Days of the calendar, and times of each. What is not restricted is all ones.
struct CalendarRule {
    /// Minutes of the day.
    std::bitset<1440> times;
    /// 1 to 31, and 0: the last day of the month.
    std::bitset<32> days;
    /// 1 to 12.
    std::bitset<13> months;
    /// 0 is Sunday.
    std::bitset<7> weekdays;
    /// Where both are restricted, a day is meant that is in either (as cron has it), or in both.
    bool either_day = true;
    /// Every hour is meant, and so is each of the two that clocks show the same. Else a time that they show twice is
    /// meant once, the first time.
    bool every_hour = false;

    friend bool operator==(const CalendarRule&, const CalendarRule&) = default;
};

struct Recurrence {
    /// nullopt: by the interval.
    std::optional<CalendarRule> calendar;
    /// IANA name; of the calendar.
    std::string zone = "UTC";
    /// From `anchor` on, whatever clocks do; nullopt: from 1970 on.
    domain::Duration interval{0};
    std::optional<domain::TimePoint> anchor;

    friend bool operator==(const Recurrence&, const Recurrence&) = default;
};

/// Five fields (minute, hour, day of month, month, day of week) with lists, ranges, steps and names, or @hourly,
/// @daily,
/// @midnight, @weekly, @monthly, @quarterly, @yearly, @annually. L is the last day of the month.
domain::Result<CalendarRule, domain::Fault> parse_cron(std::string_view text);

/// Whether a day in some year is meant.
bool ever_due(const CalendarRule& rule);

/// The first time later than `after`; nullopt: there is none in the next 41 years, so there is none at all. A time that
/// clocks skip is due at the skip.
std::optional<domain::TimePoint> next_due(const Recurrence& recurrence, domain::TimePoint after);

}
