#include "domain/time.h"

#include <algorithm>
#include <cstdio>

namespace impresario::domain {

using std::chrono::days;
using std::chrono::floor;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

TimePoint saturating_add(TimePoint at, Duration by) {
    if (by.count() > 0 && at > TimePoint::max() - by) return TimePoint::max();
    if (by.count() < 0 && at < TimePoint::min() - by) return TimePoint::min();
    return at + by;
}

std::string rfc3339(TimePoint at) {
    at = std::clamp(at, kFirstTime, kLastTime);
    const auto day = floor<days>(at);
    const std::chrono::year_month_day date{day};
    const std::chrono::hh_mm_ss<Duration> clock{at - day};
    char text[64];
    std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02ld:%02ld:%02ld.%06ldZ", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  static_cast<long>(clock.hours().count()), static_cast<long>(clock.minutes().count()),
                  static_cast<long>(clock.seconds().count()), static_cast<long>(clock.subseconds().count()));
    return text;
}

namespace {
/// Reads exactly `count` digits from the front of `text`.
std::optional<int> digits(std::string_view& text, std::size_t count) {
    if (text.size() < count) return std::nullopt;
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (text[i] < '0' || text[i] > '9') return std::nullopt;
        value = value * 10 + (text[i] - '0');
    }
    text.remove_prefix(count);
    return value;
}

bool take(std::string_view& text, char expected) {
    if (text.empty() || text.front() != expected) return false;
    text.remove_prefix(1);
    return true;
}
}

std::optional<TimePoint> parse_time(std::string_view text) {
    const auto year = digits(text, 4);
    if (!year || !take(text, '-')) return std::nullopt;
    const auto month = digits(text, 2);
    if (!month || !take(text, '-')) return std::nullopt;
    const auto day = digits(text, 2);
    if (!day) return std::nullopt;
    if (!take(text, 'T') && !take(text, 't') && !take(text, ' ')) return std::nullopt;
    const auto hour = digits(text, 2);
    if (!hour || !take(text, ':')) return std::nullopt;
    const auto minute = digits(text, 2);
    if (!minute || !take(text, ':')) return std::nullopt;
    const auto second = digits(text, 2);
    if (!second || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;

    std::int64_t fraction = 0;
    if (take(text, '.')) {
        int scale = 100000;
        int count = 0;
        while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
            if (++count > 9) return std::nullopt;
            fraction += (text.front() - '0') * scale;
            scale /= 10;
            text.remove_prefix(1);
        }
        if (count == 0) return std::nullopt;
    }

    Duration offset{0};
    if (!take(text, 'Z') && !take(text, 'z')) {
        const bool behind = !text.empty() && text.front() == '-';
        if (!take(text, '+') && !take(text, '-')) return std::nullopt;
        const auto offset_hours = digits(text, 2);
        if (!offset_hours) return std::nullopt;
        int offset_minutes = 0;
        if (!text.empty()) {
            take(text, ':');
            const auto read = digits(text, 2);
            if (!read || *read > 59) return std::nullopt;
            offset_minutes = *read;
        }
        offset = hours{*offset_hours} + minutes{offset_minutes};
        if (behind) offset = -offset;
    }
    if (!text.empty()) return std::nullopt;

    const std::chrono::year_month_day date{std::chrono::year{*year}, std::chrono::month(static_cast<unsigned>(*month)),
                                           std::chrono::day(static_cast<unsigned>(*day))};
    if (!date.ok()) return std::nullopt;
    const TimePoint at = TimePoint{std::chrono::sys_days{date}} + hours{*hour} + minutes{*minute} + seconds{*second} +
                         Duration{fraction} - offset;
    if (at < kFirstTime || at > kLastTime) return std::nullopt;
    return at;
}

std::string human(Duration length) {
    const auto total = length.count();
    char text[48];
    if (total < 1000) {
        std::snprintf(text, sizeof text, "%ldus", static_cast<long>(total));
    } else if (total < 1000000) {
        std::snprintf(text, sizeof text, "%.0fms", static_cast<double>(total) / 1e3);
    } else if (total < 60000000) {
        std::snprintf(text, sizeof text, "%.1fs", static_cast<double>(total) / 1e6);
    } else if (total < 3600000000) {
        std::snprintf(text, sizeof text, "%ldm %02lds", static_cast<long>(total / 60000000),
                      static_cast<long>(total / 1000000 % 60));
    } else {
        std::snprintf(text, sizeof text, "%ldh %02ldm", static_cast<long>(total / 3600000000),
                      static_cast<long>(total / 60000000 % 60));
    }
    return text;
}

}
