#pragma once
// Removes what has ended long ago, a little at a time, as long as this node leads.

#include <map>
#include <string>
#include <vector>

#include "journal/retention.h"
#include "journal/retention_store.h"
#include "orchestrator/leader_loop.h"
#include "priority_queue/ended_store.h"

namespace impresario::orchestrator {

struct RetentionSettings {
    journal::RetentionPolicy policy;
    /// From the end of one walk through the tables to the next.
    std::chrono::seconds every{3600};
};

/// What would go now.
struct RetentionPreview {
    /// By organization, type and status.
    std::map<std::pair<domain::Lane, domain::Status>, std::int64_t> executions;
    /// By table, about, without indexes.
    std::map<std::string, priority_queue::EndedStore::Size> sizes;
    /// What has ended long enough ago and stays: something that came from it lives, is an open dead letter or young, or
    /// a subscriber has not been told of it.
    std::int64_t held = 0;
    /// The walk was ended before its end: there is more.
    bool cut = false;
};

/// One per process. Network thread only.
class Retention final : public LeaderLoop {
  public:
    Retention(Node& node, Hub& hub, RetentionSettings settings);

    const RetentionSettings& settings() const { return settings_; }
    /// Walks through the tables without changing anything, for so long at most; of all organizations or of one.
    platform::Task<RetentionPreview> preview(std::string organization_id, std::chrono::steady_clock::duration longest);

  private:
    using Families = std::vector<domain::Family>;
    bool goes_on() const { return LeaderLoop::goes_on() && hub_.epoch() == epoch_; }
    platform::Task<std::chrono::steady_clock::duration> turn() override;
    /// What it knows is of its epoch.
    void forget() override {}
    platform::Task<void> pass();
    platform::Task<void> pass_organization(std::string organization_id);
    platform::Task<void> remove_all(const std::string& organization_id, const std::vector<domain::ExecutionId>& firsts);
    platform::Task<void> remove(const std::string& organization_id, const std::vector<domain::ExecutionId>& firsts);
    platform::Task<void> pass_events();
    platform::Task<void> pass_timers();
    platform::Task<void> rest(std::chrono::steady_clock::duration took);

    RetentionSettings settings_;
    std::int64_t epoch_ = 0;
    std::chrono::steady_clock::time_point next_{};
    /// Somebody has been told that the database refuses something.
    bool troubled_ = false;
};

}
