#pragma once
// Looks at the readings, decides who must be told of what, and tells them, as long as this node leads.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "alerts/alert_store.h"
#include "alerts/settings.h"
#include "orchestrator/alert_sender.h"
#include "orchestrator/leader_loop.h"
#include "platform/semaphore.h"

namespace impresario::orchestrator {

/// One per process. Network thread only.
class AlertRunner final : public LeaderLoop {
  public:
    /// What is given outlives it. `others`: what is read elsewhere, as this node knows it.
    AlertRunner(Node& node, Hub& hub, AlertSender& sender, const alerts::Settings& settings, std::string hub_url,
                std::function<alerts::Readings()> others);

    const alerts::Settings& settings() const { return settings_; }
    /// Somebody has silenced, acknowledged or told something: what follows from it is not put off.
    void look() {
        looking_ = true;
        wake();
    }
    /// Takes nothing up any more, and waits up to that long for messages under way.
    platform::Task<void> drain(std::chrono::steady_clock::duration longest);
    /// Sends a message to try a receiver; nothing of it is kept.
    platform::Task<alerts::DeliveryResult> test(std::string receiver, std::string by);

  private:
    platform::Task<std::chrono::steady_clock::duration> turn() override;
    void forget() override { looking_ = true; }
    void stand_down() override;
    platform::Task<alerts::Readings> read();
    void add_own_readings(alerts::Readings& readings, domain::TimePoint now) const;
    struct Decided {
        alerts::NotifierPlan plan;
        std::vector<alerts::Message> messages;
        /// They may leave until then: afterwards others may send them.
        std::chrono::steady_clock::time_point not_after;
        std::optional<domain::TimePoint> wake;
        domain::TimePoint now;
        std::size_t firing = 0;
    };
    /// In one transaction: what is raised, what resolves, who is told. Nothing has left yet.
    Decided decide(platform::Tx& tx, std::int64_t epoch, const alerts::Readings& readings) const;
    std::vector<alerts::Alert> take_over(platform::Tx& tx, const alerts::Readings& readings, domain::TimePoint now,
                                         Decided& decided) const;
    platform::Task<void> deliver(alerts::Message message, std::chrono::steady_clock::time_point not_after);
    platform::Task<alerts::DeliveryResult> send(alerts::Message message,
                                                std::chrono::steady_clock::time_point not_after);
    /// Without what is no receiver any more; its messages are over.
    alerts::NotifierState known_receivers(platform::Tx& tx, const alerts::NotifierState& state) const;
    platform::Task<void> settle(alerts::Notification notification, alerts::DeliveryResult result);
    platform::Task<void> housekeeping();

    AlertSender& sender_;
    const alerts::Settings& settings_;
    std::string hub_url_;
    std::function<alerts::Readings()> others_;
    /// What is read of how far everybody has been told, and written, is of one at a time.
    platform::Semaphore database_;
    /// Messages that leave at once.
    platform::Semaphore sending_;
    int under_way_ = 0;
    std::map<std::string, domain::Duration> pace_;
    std::set<std::string> keepers_;
    /// Since when a reading could not be taken.
    std::map<std::string, domain::TimePoint> failing_;
    /// Since when a receiver takes nothing.
    std::map<std::string, domain::TimePoint> receivers_failing_;
    std::chrono::steady_clock::time_point read_at_{};
    std::chrono::steady_clock::time_point decided_at_{};
    /// Since when this node leads; kNever: it does not.
    domain::TimePoint leads_since_ = domain::kNever;
    std::chrono::steady_clock::time_point forgot_at_{};
    alerts::Readings readings_;
    bool looking_ = true;
};

}
