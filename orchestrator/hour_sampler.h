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

    /// nullopt: it could be read the last time.
    std::optional<domain::TimePoint> failing_since() const { return failing_since_; }

  private:
    platform::Task<std::chrono::steady_clock::duration> turn() override;
    void forget() override {}
    void stand_down() override {
        readings_.reset();
        failing_since_.reset();
        compared_ = {};
    }
    platform::Task<std::optional<std::map<LaneSeries, double>>> read(domain::TimePoint hour);
    platform::Task<void> write(domain::TimePoint hour, std::optional<std::map<LaneSeries, double>> values);
    platform::Task<void> compare_with_history(domain::TimePoint hour);
    platform::Task<std::map<LaneSeries, std::vector<std::string>>> find_evidence(domain::TimePoint hour,
                                                                                 std::vector<Unusual> compared);

    std::optional<std::vector<alerts::Reading>> readings_;
    std::optional<domain::TimePoint> failing_since_;
    /// The hour that was looked at last.
    domain::TimePoint compared_{};
};

}
