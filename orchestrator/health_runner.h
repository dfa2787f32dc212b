#pragma once
// Once a minute, on the node that leads: how the hub is, what has stalled, what only the tables count, and whether the
// ledger agrees with itself; for the metrics, and a line `health` of orchestrator_metrics.

#include "orchestrator/health.h"
#include "orchestrator/leader_loop.h"

namespace impresario::orchestrator {

/// One per process. Network thread only.
class HealthRunner final : public LeaderLoop {
  public:
    HealthRunner(Node& node, Hub& hub) : LeaderLoop(node, hub, "health is not looked at") {}

  private:
    platform::Task<std::chrono::steady_clock::duration> turn() override;
    void forget() override {}
    platform::Task<void> count();
    platform::Task<void> check();
    platform::Task<void> check_ledger();

    std::chrono::steady_clock::time_point ledger_check_at_{};
};

}
