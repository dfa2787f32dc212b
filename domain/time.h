#pragma once
// Time as values. Nothing here reads a clock: see platform/clock.h.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace impresario::domain {

/// Microseconds, the resolution of PostgreSQL, so that C++ and SQL compare alike.
using Duration = std::chrono::microseconds;
using TimePoint = std::chrono::sys_time<Duration>;

inline constexpr TimePoint kNever = TimePoint::max();

/// The years that RFC 3339 can write and every PostgreSQL client can read: 1 to 9999.
inline constexpr TimePoint kFirstTime{std::chrono::sys_days{std::chrono::year{1} / 1 / 1}};
inline constexpr TimePoint kLastTime{std::chrono::sys_days{std::chrono::year{10000} / 1 / 1} - Duration{1}};

/// As metrics, JSON and people have it.
inline double in_seconds(Duration length) { return static_cast<double>(length.count()) / 1e6; }

inline std::int64_t micros(TimePoint at) { return at.time_since_epoch().count(); }
inline TimePoint from_micros(std::int64_t value) { return TimePoint{Duration{value}}; }

/// `at + by`, staying at kNever instead of overflowing.
TimePoint saturating_add(TimePoint at, Duration by);

/// Of two times that may be absent the earlier.
inline std::optional<TimePoint> earlier(std::optional<TimePoint> a, std::optional<TimePoint> b) {
    if (!a || (b && *b < *a)) return b;
    return a;
}

/// RFC 3339 in UTC with microseconds: 2026-11-27T22:23:11.123456Z. Earlier than kFirstTime is written as that, later
/// than kLastTime as that.
std::string rfc3339(TimePoint at);

/// Reads RFC 3339 (any offset, up to nine fractional digits, rest cut off) and PostgreSQL's text form in UTC
/// (`2026-11-27 22:23:11.1+00`). Impossible dates are nullopt, and so is what lies outside the years 1 to 9999 in UTC.
std::optional<TimePoint> parse_time(std::string_view text);

/// "2m 03s", "4.2s", "15ms": for people.
std::string human(Duration length);

}
