#include "subworkflows/run_windows.h"

#include <algorithm>
#include <cstdio>

#include "platform/ascii.h"
#include "platform/zone.h"

namespace impresario::subworkflows {

using domain::TimePoint;

namespace {
constexpr std::array<std::string_view, 7> kDays{"monday", "tuesday",  "wednesday", "thursday",
                                                "friday", "saturday", "sunday"};

struct Opening {
    TimePoint from;
    TimePoint to;
};

/// All that begin from the day before until so many days later, earliest first: what has begun yesterday may still be
/// open.
std::vector<Opening> openings(const RunWindows& windows, TimePoint now, int days) {
    const auto* zone = platform::find_zone(windows.zone);
    const auto local = now + platform::offset_at(zone, now);
    const auto today = date::local_days{std::chrono::floor<date::days>(local.time_since_epoch())};
    std::vector<Opening> found;
    for (int ahead = -1; ahead <= days; ++ahead) {
        const auto day = today + date::days{ahead};
        const auto of_week = date::weekday{day}.iso_encoding() - 1;
        for (const auto& window : windows.windows) {
            if (!window.days[of_week]) continue;
            const int length = window.to - window.from + (window.to > window.from ? 0 : 1440);
            Opening opening{platform::first_reached(zone, day + std::chrono::minutes{window.from}),
                            platform::first_reached(zone, day + std::chrono::minutes{window.from + length})};
            // A window that the clocks skip as a whole is none.
            if (opening.from < opening.to) found.push_back(opening);
        }
    }
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.from < b.from; });
    return found;
}
}

namespace {
WindowsNow look_ahead(const RunWindows& windows, TimePoint now, int days) {
    const auto found = openings(windows, now, days);
    WindowsNow state;
    for (const auto& each : found) {
        if (each.from <= now && now < each.to) {
            state.open = true;
            state.until = state.until ? std::max(*state.until, each.to) : each.to;
        } else if (state.open && each.from <= *state.until) {
            state.until = std::max(*state.until, each.to);
        } else if (!state.open && each.from > now) {
            state.until = each.from;
            return state;
        }
    }
    // One runs into the next all week.
    if (state.open && *state.until > now + date::days{7}) state.until.reset();
    return state;
}
}

WindowsNow look(const RunWindows& windows, TimePoint now) {
    // Whatever recurs every week is among the days of one, but where the clocks skip it.
    auto state = look_ahead(windows, now, 8);
    if (!state.open && !state.until) state = look_ahead(windows, now, 15);
    return state;
}

std::optional<domain::Gate> shut(const RunWindows& windows, const std::string& subject, TimePoint now) {
    return shut(windows, subject, look(windows, now));
}

std::optional<domain::Gate> shut(const RunWindows& windows, const std::string& subject, const WindowsNow& state) {
    if (state.open) return std::nullopt;
    domain::Gate gate{domain::GateKind::maintenance_window, subject, {}, {{"time_zone", windows.zone}}, state.until};
    gate.detail = "outside of its run windows (" + windows.zone + ")";
    if (state.until) gate.detail += "; the next begins at " + domain::rfc3339(*state.until);
    return gate;
}

std::optional<int> parse_time_of_day(std::string_view text) {
    const auto digit = [&](std::size_t at) { return text[at] >= '0' && text[at] <= '9'; };
    if (text.size() != 5 || text[2] != ':' || !digit(0) || !digit(1) || !digit(3) || !digit(4)) return std::nullopt;
    const int hours = (text[0] - '0') * 10 + text[1] - '0';
    const int rest = (text[3] - '0') * 10 + text[4] - '0';
    if (rest > 59 || hours * 60 + rest > 1440) return std::nullopt;
    return hours * 60 + rest;
}

std::string time_of_day(int minutes) {
    std::array<char, 8> text{};
    std::snprintf(text.data(), text.size(), "%02d:%02d", minutes / 60 % 100, minutes % 60);
    return text.data();
}

std::optional<int> parse_day_of_week(std::string_view text) {
    const auto lower = platform::lowered(text);
    for (std::size_t day = 0; day < kDays.size(); ++day)
        if (lower == kDays[day] || lower == kDays[day].substr(0, 3)) return static_cast<int>(day);
    return std::nullopt;
}

std::string_view day_of_week(int day) { return kDays[static_cast<std::size_t>(day)].substr(0, 3); }

}
