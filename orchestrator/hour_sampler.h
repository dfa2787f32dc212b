#pragma once
// Once an hour, on the node that leads: writes down what the hour came to, lane by lane, and compares it with what is
// usual at this hour of the week, for the rule `anomaly`. Hours that nobody looked at are made up for.

#include <optional>
#include <vector>

#include "alerts/reading.h"
#include "orchestrator/hour_store.h"
#include "orchestrator/leader_loop.h"

namespace impresario::orchestrator {

/// One per process. Network thread only.
class HourSampler final : public LeaderLoop {
  public:
    HourSampler(Node& node, Hub& hub) : LeaderLoop(node, hub, "what is usual is not looked at") {}

    /// anomaly_deviations; nullopt: it is not known yet.
    const std::optional<std::vector<alerts::Reading>>& readings() const { return readings_; }

  private:
    platform::Task<std::chrono::steady_clock::duration> turn() override;
    void forget() override {}
    void stand_down() override {
        readings_.reset();
        compared_ = {};
    }
    platform::Task<void> catch_up();
    platform::Task<void> sample(domain::TimePoint hour);
    platform::Task<void> compare_with_history(domain::TimePoint hour);

    std::optional<std::vector<alerts::Reading>> readings_;
    /// The hour that they are of.
    domain::TimePoint compared_{};
};

}
