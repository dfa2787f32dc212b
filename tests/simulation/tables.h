#pragma once
// What the simulated database holds, as values: the rows that decisions read and write. Constraints are those of the
// migrations; breaking one is a fault of the hub.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "domain/event.h"
#include "orchestrator/lane_times.h"
#include "orchestrator/scheduler_store.h"
#include "priority_queue/dead_letter_store.h"
#include "priority_queue/queue_store.h"
#include "resource_manager/budget_state.h"
#include "resource_manager/estimate.h"
#include "resource_manager/fairness.h"
#include "resource_manager/ledger_store.h"
#include "resource_manager/provider_store.h"
#include "resource_manager/provider_weather.h"
#include "resource_manager/usage_store.h"
#include "schedules/lock_store.h"
#include "subworkflows/catalogue.h"
#include "webhooks/attempt_store.h"

namespace impresario::simulation {

class Auditor;

struct LoggedEvent {
    domain::Event event;
    /// Nil: an SQL caller.
    domain::NodeId writer;
    std::uint64_t xid = 0;
};

struct Letter {
    priority_queue::DeadLetter letter;
    std::string resolution;
};

struct NodeRow {
    bool draining = false;
    int session = 0;
    domain::TimePoint heartbeat_at;
    domain::TimePoint lease_until;
    int seq = 0;
};

struct SchedulerLine {
    std::int64_t epoch = 0;
    std::optional<domain::NodeId> node;
    int session = 0;
    std::optional<domain::TimePoint> renewed_at;
    domain::TimePoint lease_until = domain::TimePoint::min();
    std::optional<orchestrator::Outage> outage;
    /// Transactions that have not ended hold the row until then: FOR SHARE (protocol R2), or to change it.
    domain::TimePoint shared_until;
    domain::TimePoint locked_until;
};

struct Tables {
    using Opening = std::pair<domain::ExecutionId, int>;
    using AttemptKey = std::pair<domain::ExecutionId, domain::AttemptId>;

    std::map<domain::ExecutionId, domain::Execution> executions;
    std::map<AttemptKey, webhooks::ClosedAttempt> attempts;
    std::map<Opening, priority_queue::ResultRecord> results;
    std::map<Opening, Letter> letters;
    /// When each ended.
    std::map<std::tuple<domain::AttemptId, int>, domain::TimePoint> deliveries;
    std::map<std::pair<AttemptKey, std::string>, webhooks::RefusedCallback> refused;
    std::map<std::pair<domain::ExecutionId, std::string>, resource_manager::UsageRecord> usage;
    std::vector<resource_manager::Provider> providers;
    std::optional<resource_manager::FairnessPolicy> fairness;
    resource_manager::WeatherRecords provider_weather;
    std::map<domain::Lane, orchestrator::LaneTimes> lane_times;
    std::map<schedules::LockName, std::pair<domain::ExecutionId, domain::AttemptId>> locks;
    std::map<std::string, int> provider_seqs;
    struct Permit {
        resource_manager::PermitRecord record;
        domain::TimePoint granted_at;
    };
    std::vector<Permit> permits;
    /// With their balances.
    std::vector<resource_manager::BudgetState> budgets;
    std::map<domain::BudgetId, int> budget_seqs;
    std::map<domain::AttemptId, resource_manager::AttemptAccount> accounts;
    /// What SQL has closed and nobody has settled yet.
    std::vector<resource_manager::LedgerStore::Reported> reported;
    std::map<domain::Lane, resource_manager::TypeEstimates> estimates;
    /// By a transaction that has not ended.
    domain::TimePoint budgets_locked_until = domain::TimePoint::min();
    std::vector<LoggedEvent> events;
    std::map<domain::NodeId, NodeRow> nodes;
    SchedulerLine scheduler;
    subworkflows::Catalogue catalogue;
    std::map<domain::LaneId, int> lane_seqs;

    /// Rows that a transaction of the hub has locked which has not ended, until when.
    std::map<domain::ExecutionId, domain::TimePoint> locked;
    /// The same by somebody at a prompt.
    std::map<domain::ExecutionId, domain::TimePoint> held;
    std::map<domain::Lane, domain::TimePoint> held_lanes;
    /// Rows that cannot be written, until when.
    std::map<domain::ExecutionId, domain::TimePoint> poisoned;
    /// Sessions that listen.
    std::set<int> sessions;

    bool is_locked(const domain::ExecutionId& id, domain::TimePoint now) const {
        const auto in = [&](const auto& all) {
            const auto found = all.find(id);
            return found != all.end() && found->second > now;
        };
        return in(locked) || in(held);
    }
};

}
