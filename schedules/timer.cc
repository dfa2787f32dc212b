#include "schedules/timer.h"

#include <algorithm>
#include <array>

namespace impresario::schedules {

namespace {
constexpr std::array<std::string_view, 3> kStates{"waiting", "due", "cancelled"};
}

std::string_view name(TimerState state) { return kStates[static_cast<std::size_t>(state)]; }

std::optional<TimerState> parse_timer_state(std::string_view text) {
    const auto found = std::find(kStates.begin(), kStates.end(), text);
    if (found == kStates.end()) return std::nullopt;
    return static_cast<TimerState>(found - kStates.begin());
}

}
