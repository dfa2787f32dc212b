#pragma once
// The hub's state machine of seed 003 as a table of allowed moves. Pure; only the scheduler shows it.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/result.h"
#include "domain/time.h"

namespace impresario::orchestrator {

enum class HubState { idle, analyzing, dispatching, monitoring, error_recovery, cooldown };
inline constexpr int kHubStates = 6;

/// As in 003: IDLE, ANALYZING …
std::string_view name(HubState state);
std::optional<HubState> parse_hub_state(std::string_view text);

/// 003's edges, plus MONITORING ↔ ANALYZING, ANALYZING or MONITORING → COOLDOWN, COOLDOWN → ANALYZING and
/// ERROR_RECOVERY → MONITORING.
bool may_move(HubState from, HubState to);

/// The shortest way by allowed moves, without `from`; empty where it is there already. Every state can be reached.
std::vector<HubState> way(HubState from, HubState to);

struct IllegalHubMove {
    HubState from;
    HubState to;
};

class StateMachine {
  public:
    explicit StateMachine(domain::TimePoint now) : since_(now) {}

    /// Validates the move; a refused one changes nothing. Moving to where it is only renews `why`.
    domain::Result<void, IllegalHubMove> move(HubState to, domain::TimePoint now, std::string why);

    HubState state() const { return state_; }
    domain::TimePoint since() const { return since_; }
    const std::string& why() const { return why_; }
    /// Time spent in each state up to now, the present one included.
    std::array<domain::Duration, kHubStates> time_in(domain::TimePoint now) const;
    /// Grows with every move.
    int moves() const { return moves_; }

  private:
    HubState state_ = HubState::idle;
    domain::TimePoint since_;
    std::string why_ = "started";
    std::array<domain::Duration, kHubStates> spent_{};
    int moves_ = 0;
};

}
