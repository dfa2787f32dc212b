#pragma once
// Makes the reports that are due, and sends each to whoever is to have it, as long as this node leads.

#include <map>

#include "alerts/settings.h"
#include "orchestrator/alert_sender.h"
#include "orchestrator/leader_loop.h"
#include "reports/period.h"
#include "reports/report_store.h"

namespace impresario::orchestrator {

/// One per process. Network thread only.
class ReportRunner final : public LeaderLoop {
  public:
    /// What is given outlives it.
    ReportRunner(Node& node, Hub& hub, AlertSender& sender, const reports::Settings& settings);

    const reports::Settings& settings() const { return settings_; }
    /// Sends what is given to one of the receivers, and keeps nothing of it.
    platform::Task<alerts::DeliveryResult> send(const alerts::Receiver& receiver, reports::Delivery delivery);

  private:
    platform::Task<std::chrono::steady_clock::duration> turn() override;
    void forget() override {}
    platform::Task<void> make(reports::Kind kind);
    platform::Task<void> make_now(reports::Kind kind, reports::Period period);
    platform::Task<void> deliver();

    AlertSender& sender_;
    const reports::Settings& settings_;
    std::chrono::steady_clock::time_point forget_at_{};
    /// How often in a row the database would not sum one up, and when it is asked again.
    struct Refused {
        int times = 0;
        std::chrono::steady_clock::time_point next{};
    };
    std::map<reports::Kind, Refused> refused_;
};

}
