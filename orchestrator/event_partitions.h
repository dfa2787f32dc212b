#pragma once
// Sees to the journal's partitions as long as this node leads: the next ones are there before they are needed, and
// those that retention has emptied go, with their space.

#include <chrono>

#include "journal/horizon.h"
#include "orchestrator/leader_loop.h"

namespace impresario::orchestrator {

struct EventPartitionsSettings {
    /// From one look at how far the numbers have come to the next.
    std::chrono::milliseconds look_every{1000};
    /// From one look for empty partitions to the next.
    std::chrono::seconds drop_every{60};
    /// Partitions with an end that lie wholly beyond the latest number.
    int ahead = 2;
};

/// One per process. Network thread only.
class EventPartitions final : public LeaderLoop {
  public:
    EventPartitions(Node& node, Hub& hub, EventPartitionsSettings settings);

  private:
    platform::Task<std::chrono::steady_clock::duration> turn() override;
    /// What it knows is of its epoch.
    void forget() override {}
    platform::Task<void> look();
    platform::Task<void> make();
    platform::Task<void> drop();
    void put_off(const char* what, const std::string& error);

    EventPartitionsSettings settings_;
    std::int64_t epoch_ = 0;
    /// From that number on there are fewer partitions ahead than there should be.
    std::int64_t wanted_from_ = 0;
    /// No event comes any more up to the number that is settled.
    journal::Horizon horizon_;
    std::chrono::steady_clock::time_point drop_at_{};
    /// While somebody is at the journal: since when, and how long it is left alone before the next try.
    std::chrono::steady_clock::time_point put_off_since_{};
    std::chrono::milliseconds put_off_{0};
    bool said_ = false;
};

}
