#pragma once
// The windows of a budget: which one an instant belongs to, and when it turns. Pure, but for the zones of the system.

#include <compare>
#include <string>
#include <string_view>

#include "domain/time.h"

namespace impresario::resource_manager {

enum class WindowUnit {
    day,
    week,
    month,
    /// The last so many hours, at any time.
    rolling,
    /// A batch's whole life.
    batch,
};
std::string_view name(WindowUnit unit);
std::optional<WindowUnit> parse_window_unit(std::string_view text);

struct WindowRule {
    WindowUnit unit = WindowUnit::day;
    /// IANA name, as in Europe/Berlin.
    std::string zone = "UTC";
    /// A day, week or month turns when the clocks of the zone first reach this full hour: where they skip it, at the
    /// skip; where they show it twice, at the first time.
    int reset_hour = 0;
    /// 1 is Monday, 7 is Sunday: when a week turns.
    int first_weekday = 1;
    /// Of a rolling window.
    int hours = 24;

    friend bool operator==(const WindowRule&, const WindowRule&) = default;
};

inline constexpr int kMostRollingHours = 31 * 24;

/// From `start` until before `end`. Its two ends name it: what is reserved in it is settled in it (protocol R18).
struct BudgetWindow {
    domain::TimePoint start = domain::kFirstTime;
    domain::TimePoint end = domain::kLastTime;

    bool contains(domain::TimePoint at) const { return start <= at && at < end; }
    friend auto operator<=>(const BudgetWindow&, const BudgetWindow&) = default;
};

/// The window that `at` belongs to. Those of a rule follow each other without gap or overlap. Those of a rolling rule
/// are slices, as many minutes long as the rule has hours: what is booked in one counts until counts_until(). A zone
/// that this machine does not know counts as UTC. After 2037 the clocks of all zones stay on winter time, the tables
/// of the system end there; before the year 2 and after 9998 nothing turns.
BudgetWindow window_at(const WindowRule& rule, domain::TimePoint at);

/// Until when what is booked in the window counts: to its end, in a rolling rule so many hours longer, so that no
/// span of them holds more than the limit.
domain::TimePoint counts_until(const WindowRule& rule, const BudgetWindow& window);

/// Whether the clocks of the zone show a time from hour `from` to before hour `to`, over midnight if `to` is earlier.
bool within_hours(const std::string& zone, int from, int to, domain::TimePoint at);
/// When they next reach the full hour, later than `at`.
domain::TimePoint next_hour(const std::string& zone, int hour, domain::TimePoint at);

}
