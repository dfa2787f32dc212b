#pragma once
// Lets timers come due, each once, as long as this node leads: it sleeps until the earliest, however many there are.

#include <optional>

#include "orchestrator/leader_loop.h"

namespace impresario::orchestrator {

/// One per process. Network thread only.
class TimerRunner final : public LeaderLoop {
  public:
    TimerRunner(Node& node, Hub& hub) : LeaderLoop(node, hub, "timers have to wait") {}

    /// Timers may have been set or moved: which is the earliest is read again.
    void look() {
        forget();
        wake();
    }

  private:
    platform::Task<std::chrono::steady_clock::duration> turn() override;
    void forget() override { known_ = false; }
    platform::Task<void> read_next();
    platform::Task<bool> fire();

    /// When the earliest is due, if there is one.
    std::optional<domain::TimePoint> next_;
    bool known_ = false;
    std::chrono::steady_clock::time_point read_at_{};
};

}
