#pragma once
// When executions of a type may start, by the clocks of a time zone. Pure.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "domain/gate.h"
#include "domain/time.h"

namespace impresario::subworkflows {

inline constexpr std::size_t kMostRunWindows = 32;

/// From a time of day on some days of the week until another; one that is not after the first is on the next day.
struct RunWindow {
    /// Monday first: on which days it begins.
    std::array<bool, 7> days{true, true, true, true, true, true, true};
    /// Minutes after midnight: 0 to 1439, and 0 to 1440.
    int from = 0;
    int to = 1440;
    friend bool operator==(const RunWindow&, const RunWindow&) = default;
};

/// Open in any of them.
struct RunWindows {
    std::string zone = "UTC";
    std::vector<RunWindow> windows;
    friend bool operator==(const RunWindows&, const RunWindows&) = default;
};

struct WindowsNow {
    bool open = false;
    /// When that changes; nullopt: never.
    std::optional<domain::TimePoint> until;
};

/// Where the clocks skip a time, it is at the skip; where they show it twice, at the first time (platform/zone.h). A
/// zone that this machine does not know: UTC.
WindowsNow look(const RunWindows& windows, domain::TimePoint now);

/// Why nothing of `subject` may start now, and until when; nullopt: it may.
std::optional<domain::Gate> shut(const RunWindows& windows, const std::string& subject, domain::TimePoint now);

/// The same by what is known already.
std::optional<domain::Gate> shut(const RunWindows& windows, const std::string& subject, const WindowsNow& state);

/// "22:30" and "24:00" as minutes after midnight; nullopt: it is neither.
std::optional<int> parse_time_of_day(std::string_view text);
std::string time_of_day(int minutes);

/// "mon", "tuesday" as 0 to 6; nullopt: it is no day.
std::optional<int> parse_day_of_week(std::string_view text);
std::string_view day_of_week(int day);

}
