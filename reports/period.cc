#include "reports/period.h"

#include <charconv>

#include "platform/zone.h"

namespace impresario::reports {

using date::days;
using date::local_days;
using domain::TimePoint;

namespace {

const date::time_zone* zone_of(const Settings& settings) { return platform::find_zone(settings.zone); }

/// The day on which the latest report came due.
local_days due_day(Kind kind, TimePoint now, const Settings& settings) {
    const auto* zone = zone_of(settings);
    auto day = day_at(now, zone);
    const bool daily = kind == Kind::daily;
    const auto due = [&](local_days on) {
        return platform::first_reached(zone,
                                       on + std::chrono::hours{daily ? settings.daily_hour : settings.weekly_hour});
    };
    const auto meant = [&](local_days on) {
        return daily || date::weekday{on}.iso_encoding() == static_cast<unsigned>(settings.weekly_weekday);
    };
    while (!meant(day) || due(day) > now) day -= days{1};
    return day;
}

Due due_on(Kind kind, local_days day, const Settings& settings) {
    const auto* zone = zone_of(settings);
    const bool daily = kind == Kind::daily;
    Due due;
    due.period = {begin_of(day - days{daily ? 1 : 7}, zone), begin_of(day, zone)};
    due.at =
        platform::first_reached(zone, day + std::chrono::hours{daily ? settings.daily_hour : settings.weekly_hour});
    return due;
}

}

TimePoint begin_of(local_days day, const date::time_zone* zone) {
    return platform::first_reached(zone, date::local_seconds{day});
}

local_days day_at(TimePoint at, const date::time_zone* zone) {
    const auto local = at + platform::offset_at(zone, at);
    return local_days{date::floor<days>(local.time_since_epoch())};
}

Period period_of(Kind kind, local_days day, const Settings& settings) {
    const auto* zone = zone_of(settings);
    if (kind == Kind::daily) return {begin_of(day, zone), begin_of(day + days{1}, zone)};
    while (date::weekday{day}.iso_encoding() != static_cast<unsigned>(settings.weekly_weekday)) day -= days{1};
    return {begin_of(day, zone), begin_of(day + days{7}, zone)};
}

Due latest_due(Kind kind, TimePoint now, const Settings& settings) {
    return due_on(kind, due_day(kind, now, settings), settings);
}

TimePoint next_due(Kind kind, TimePoint now, const Settings& settings) {
    return due_on(kind, due_day(kind, now, settings) + days{kind == Kind::daily ? 1 : 7}, settings).at;
}

std::optional<local_days> parse_day(std::string_view text) {
    if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
    const auto number = [&](std::size_t at, std::size_t length) {
        int value = -1;
        const auto* end = text.data() + at + length;
        const auto read = std::from_chars(text.data() + at, end, value);
        return read.ptr == end && read.ec == std::errc{} ? value : -1;
    };
    const int year = number(0, 4);
    const int month = number(5, 2);
    const int day = number(8, 2);
    if (year < 1970 || year > 9998 || month < 1 || day < 1) return std::nullopt;
    const date::year_month_day on{date::year{year}, date::month{static_cast<unsigned>(month)},
                                  date::day{static_cast<unsigned>(day)}};
    if (!on.ok()) return std::nullopt;
    return local_days{on};
}

std::string day_text(local_days day) {
    const date::year_month_day on{day};
    char text[32];
    std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(on.year()), static_cast<unsigned>(on.month()),
                  static_cast<unsigned>(on.day()));
    return text;
}

std::string period_text(const Period& period, const date::time_zone* zone) {
    const auto first = day_at(period.from, zone);
    const auto last = day_at(period.to - std::chrono::microseconds{1}, zone);
    return first == last ? day_text(first) : day_text(first) + " to " + day_text(last);
}

}
