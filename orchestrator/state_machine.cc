#include "orchestrator/state_machine.h"

#include <algorithm>

namespace impresario::orchestrator {

namespace {
constexpr std::array<std::string_view, kHubStates> kNames{"IDLE",       "ANALYZING",      "DISPATCHING",
                                                          "MONITORING", "ERROR_RECOVERY", "COOLDOWN"};
}

std::string_view name(HubState state) { return kNames[static_cast<std::size_t>(state)]; }

std::optional<HubState> parse_hub_state(std::string_view text) {
    for (std::size_t i = 0; i < kNames.size(); ++i)
        if (kNames[i] == text) return static_cast<HubState>(i);
    return std::nullopt;
}

bool may_move(HubState from, HubState to) {
    using enum HubState;
    switch (from) {
        case idle:
            return to == analyzing;
        case analyzing:
            return to == dispatching || to == idle || to == monitoring || to == cooldown;
        case dispatching:
            return to == monitoring || to == cooldown;
        case monitoring:
            return to == idle || to == error_recovery || to == analyzing || to == cooldown;
        case error_recovery:
            return to == dispatching || to == idle || to == monitoring;
        case cooldown:
            return to == idle || to == analyzing;
    }
    return false;
}

std::vector<HubState> way(HubState from, HubState to) {
    std::vector<std::vector<HubState>> ways{{from}};
    for (std::size_t i = 0; i < ways.size(); ++i) {
        if (ways[i].back() == to) return {ways[i].begin() + 1, ways[i].end()};
        for (int next = 0; next < kHubStates; ++next) {
            const auto state = static_cast<HubState>(next);
            if (!may_move(ways[i].back(), state)) continue;
            if (std::find(ways[i].begin(), ways[i].end(), state) != ways[i].end()) continue;
            auto longer = ways[i];
            longer.push_back(state);
            ways.push_back(std::move(longer));
        }
    }
    return {};
}

domain::Result<void, IllegalHubMove> StateMachine::move(HubState to, domain::TimePoint now, std::string why) {
    if (to == state_) {
        why_ = std::move(why);
        return {};
    }
    if (!may_move(state_, to)) return IllegalHubMove{state_, to};
    spent_[static_cast<std::size_t>(state_)] += now - since_;
    state_ = to;
    since_ = now;
    why_ = std::move(why);
    ++moves_;
    return {};
}

std::array<domain::Duration, kHubStates> StateMachine::time_in(domain::TimePoint now) const {
    auto spent = spent_;
    spent[static_cast<std::size_t>(state_)] += now - since_;
    return spent;
}

}
