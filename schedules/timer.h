#pragma once
// What waits for a time: a name, and the waiting token that stands for the wait as it is now.

#include <optional>
#include <string>
#include <string_view>

#include "domain/id.h"
#include "domain/name_table.h"
#include "domain/time.h"

namespace impresario::schedules {

using TimerId = domain::Id<struct TimerTag>;
/// Another one whenever a timer is moved or cancelled: what comes for an older one is stale.
using WaitingToken = domain::Id<struct WaitingTokenTag>;

enum class TimerState { waiting, due, cancelled };
inline constexpr domain::NameTable<TimerState, 3> kTimerStates{
    {{TimerState::waiting, "waiting"}, {TimerState::due, "due"}, {TimerState::cancelled, "cancelled"}}};
constexpr std::string_view name(TimerState state) { return domain::name_in(kTimerStates, state); }
constexpr std::optional<TimerState> parse_timer_state(std::string_view text) {
    return domain::value_in(kTimerStates, text);
}

inline constexpr std::size_t kLongestTimerName = 200;
/// Bytes.
inline constexpr std::size_t kLargestTimerPayload = 16 * 1024;

struct Timer {
    /// Of its stream of events, too.
    TimerId id;
    std::string organization_id;
    /// 1 to 200 characters.
    std::string name;
    WaitingToken token;
    TimerState state = TimerState::waiting;
    domain::TimePoint due;
    /// JSON text; handed on when it comes due.
    std::string payload = "{}";
    /// When it came due or was cancelled.
    std::optional<domain::TimePoint> ended;
    domain::TimePoint updated_at;
    std::string updated_by;
};

}
