#pragma once
// Which days a report is about, and when it is due: by the calendar and the clocks of one zone. Pure.

#include <date/tz.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/name_table.h"
#include "domain/time.h"

namespace impresario::reports {

enum class Kind { daily, weekly };

inline constexpr domain::NameTable<Kind, 2> kKinds{{{Kind::daily, "daily"}, {Kind::weekly, "weekly"}}};
constexpr std::string_view name(Kind kind) { return domain::name_in(kKinds, kind); }

/// From the configuration; 003: daily at 8:00, weekly on Monday at 9:00.
struct Settings {
    bool enabled = true;
    /// IANA name.
    std::string zone = "UTC";
    int daily_hour = 8;
    int weekly_hour = 9;
    /// ISO 8601: 1 is Monday.
    int weekly_weekday = 1;
    /// Names of receivers of alerts: of kind slack, email or webhook.
    std::vector<std::string> receivers = {};
};

/// [from, to).
struct Period {
    domain::TimePoint from{};
    domain::TimePoint to{};
    friend bool operator==(const Period&, const Period&) = default;
};

struct Due {
    Period period;
    domain::TimePoint at{};
};

/// Midnight at the beginning of the day by the zone's clocks.
domain::TimePoint begin_of(date::local_days day, const date::time_zone* zone);
/// The day that it is there.
date::local_days day_at(domain::TimePoint at, const date::time_zone* zone);

/// The day itself, or the week (as it is reported about) that holds it.
Period period_of(Kind kind, date::local_days day, const Settings& settings);
/// The latest that is due: a daily one about the day before, a weekly one about the seven days before.
Due latest_due(Kind kind, domain::TimePoint now, const Settings& settings);
domain::TimePoint next_due(Kind kind, domain::TimePoint now, const Settings& settings);

/// 2026-11-27; nullopt: it is no day of the calendar between the years 1970 and 9998.
std::optional<date::local_days> parse_day(std::string_view text);
std::string day_text(date::local_days day);
/// "2026-11-27", or "2026-11-23 to 2026-11-29".
std::string period_text(const Period& period, const date::time_zone* zone);

}
