#include "resource_manager/budget_window.h"

#include <algorithm>
#include <array>

#include "domain/name_table.h"
#include "platform/zone.h"

namespace impresario::resource_manager {

using domain::Duration;
using domain::TimePoint;

namespace {

constexpr domain::NameTable<WindowUnit, 5> kUnits{{
    {WindowUnit::day, "day"},
    {WindowUnit::week, "week"},
    {WindowUnit::month, "month"},
    {WindowUnit::rolling, "rolling"},
    {WindowUnit::batch, "batch"},
}};

/// Days, weeks or months counted from 1970, each by the local time at which it begins.
struct Calendar {
    const WindowRule& rule;
    const date::time_zone* zone;

    date::local_days first_day(int number) const {
        switch (rule.unit) {
            case WindowUnit::month:
                return date::local_days{date::year{1970} / date::January / 1 + date::months{number}};
            case WindowUnit::week:
                // 1970-01-05 was a Monday.
                return date::local_days{date::days{4 + (rule.first_weekday - 1) + 7 * number}};
            default:
                return date::local_days{date::days{number}};
        }
    }
    TimePoint begin(int number) const {
        return platform::first_reached(zone, first_day(number) + std::chrono::hours{rule.reset_hour});
    }
    /// About the one that `at` is in: one more or less where clocks change.
    int near(TimePoint at) const {
        const auto local = at.time_since_epoch() + platform::offset_at(zone, at) - std::chrono::hours{rule.reset_hour};
        const date::local_days day{std::chrono::floor<date::days>(local)};
        if (rule.unit == WindowUnit::month) {
            const date::year_month_day civil{day};
            return (static_cast<int>(civil.year()) - 1970) * 12 + static_cast<int>(unsigned{civil.month()}) - 1;
        }
        const int days = day.time_since_epoch().count();
        if (rule.unit == WindowUnit::day) return days;
        const int since = days - 4 - (rule.first_weekday - 1);
        return since >= 0 ? since / 7 : -((6 - since) / 7);
    }
};

}

std::string_view name(WindowUnit unit) { return domain::name_in(kUnits, unit); }

std::optional<WindowUnit> parse_window_unit(std::string_view text) { return domain::value_in(kUnits, text); }

namespace {
BudgetWindow find_window(const WindowRule& rule, TimePoint at) {
    constexpr auto kYear = std::chrono::days{366};
    at = std::clamp(at, domain::kFirstTime + kYear, domain::kLastTime - kYear);
    if (rule.unit == WindowUnit::rolling) {
        const Duration slice = std::chrono::minutes{rule.hours};
        const auto beyond = at.time_since_epoch() % slice;
        const TimePoint start = at - beyond - (beyond < Duration{0} ? slice : Duration{0});
        return {start, start + slice};
    }
    const Calendar calendar{rule, platform::find_zone(rule.zone)};
    int number = calendar.near(at) + 1;
    auto start = calendar.begin(number);
    while (start > at) start = calendar.begin(--number);
    auto end = calendar.begin(++number);
    // A day that the zone never had (Apia, 30 December 2011) begins with the one after it.
    while (end <= at) {
        start = end;
        end = calendar.begin(++number);
    }
    return {start, end};
}

/// The last window of each rule: every start is asked for those of now, again and again, and a calendar takes its time.
class LastWindows {
  public:
    BudgetWindow at(const WindowRule& rule, TimePoint at) {
        for (const auto& last : last_)
            if (last.window.contains(at) && last.rule == rule) return last.window;
        return (last_[next_++ % last_.size()] = {rule, find_window(rule, at)}).window;
    }

  private:
    struct Last {
        WindowRule rule;
        /// At first of no time.
        BudgetWindow window{domain::kLastTime, domain::kFirstTime};
    };
    std::array<Last, 16> last_;
    std::size_t next_ = 0;
};

}

BudgetWindow window_at(const WindowRule& rule, TimePoint at) {
    if (rule.unit == WindowUnit::batch) return {};
    thread_local LastWindows last;
    return last.at(rule, at);
}

TimePoint counts_until(const WindowRule& rule, const BudgetWindow& window) {
    if (rule.unit != WindowUnit::rolling) return window.end;
    return domain::saturating_add(window.end, std::chrono::hours{rule.hours});
}

bool within_hours(const std::string& zone, int from, int to, TimePoint at) {
    const auto began = window_at({WindowUnit::day, zone, from}, at).start;
    const auto ended = window_at({WindowUnit::day, zone, to}, at).start;
    return began > ended;
}

TimePoint next_hour(const std::string& zone, int hour, TimePoint at) {
    return window_at({WindowUnit::day, zone, hour}, at).end;
}

}
