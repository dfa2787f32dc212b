#pragma once
// Row × what happened × now → the row afterwards and everything that must be written with it. Pure: apply.cc does it.

#include <optional>
#include <string>
#include <vector>

#include "domain/event.h"
#include "orchestrator/command.h"
#include "orchestrator/lane_times.h"
#include "priority_queue/dead_letter_store.h"
#include "priority_queue/queue_store.h"
#include "resource_manager/ledger_store.h"
#include "resource_manager/provider_store.h"
#include "resource_manager/usage_store.h"
#include "webhooks/attempt_store.h"

namespace impresario::orchestrator {

/// What the decision may look at, beside the row.
struct Circumstances {
    /// The execution's workflow type; null when it has been removed.
    const subworkflows::WorkflowType* type = nullptr;
    domain::TimePoint now;
    double unit = 0.5;
    /// There are budgets, so that money is booked also where none was reserved.
    bool budgets = false;
    /// For a callback that is not about the live attempt: the closed one it is about.
    std::optional<webhooks::FoundAttempt> found;
};

/// A child execution to be made of the failed items of a partial result; it takes its parent's input.
struct ChildWanted {
    domain::Execution execution;
    /// JSON array of the item keys it is about.
    std::string item_keys;
};

/// Everything that one transaction writes for one command. Empty where nothing changes.
struct Decision {
    /// The row afterwards; compare `changed`.
    domain::Execution after;
    bool changed = false;
    /// In which columns `after` may differ from the row in the table; whoever has that row says so.
    priority_queue::Columns columns = priority_queue::every_column();
    std::vector<domain::Event> events;
    std::vector<webhooks::ClosedAttempt> closed;
    std::vector<webhooks::ClosedAttempt> amended;
    std::optional<priority_queue::ResultRecord> result;
    std::optional<priority_queue::DeadLetter> dead_letter;
    std::optional<priority_queue::Resolution> resolution;
    std::vector<webhooks::DeliveryRecord> deliveries;
    std::vector<webhooks::RefusedCallback> refused;
    std::vector<resource_manager::UsageRecord> usage;
    /// What an attempt says it took of providers, where that may be more than its grant took.
    std::vector<resource_manager::UsageCharge> charges;
    /// What a grant was given of providers, and a grant whose request certainly was not sent.
    std::vector<resource_manager::PermitRecord> permits;
    std::optional<resource_manager::ProviderStore::Unsent> unsent;
    /// What a grant asks of budgets, and what has become of the money since.
    std::optional<resource_manager::Movement> reservation;
    std::vector<resource_manager::LedgerStore::Recorded> money;
    /// What an attempt has used, for the estimates of the next ones.
    std::optional<resource_manager::Consumption> consumed;
    /// Where the type's pace asks when one of it last started or ended.
    std::optional<LaneTimes> lane_times;
    std::optional<ChildWanted> child;
    std::optional<std::string> new_input;
    /// The execution ended: its parent, if it has one, is to be looked at.
    bool ended = false;

    Answer answer;
    std::optional<EndpointNews> endpoint;
    std::vector<resource_manager::ProviderNews> providers;
    std::optional<PeerCancelled> cancelled_peer;
};

Decision decide(const domain::Execution& row, const Command& command, const Circumstances& circumstances);

/// What a grant makes of a claimable row: attempt, lease, deadline. nullopt when the row is not claimable after all.
struct GrantTerms {
    domain::AttemptId fresh_attempt;
    domain::NodeId node;
    /// The scheduler's own grants begin as sending; another node's as granted.
    bool own = true;
    domain::EndpointId endpoint;
    /// What it was granted: each of its providers is charged, and its cost is reserved where a budget is for it.
    domain::Demand demand = {};
    bool budgeted = false;
    domain::Thrift thrift = {};
    domain::Duration lease{std::chrono::seconds{15}};
};
std::optional<Decision> decide_grant(const domain::Execution& row, const GrantTerms& terms,
                                     const Circumstances& circumstances);

/// Records that a gate of its own stops it (or no longer does). nullopt when the row says so already or is not waiting.
std::optional<Decision> decide_gate(const domain::Execution& row, const std::optional<domain::Gate>& gate,
                                    domain::TimePoint now);

/// Settles a parent whose children have all ended (protocol R12); `results` is its own partial result.
Decision decide_parent(const domain::Execution& row, const std::vector<priority_queue::ChildResult>& children,
                       const priority_queue::ResultRecord& result, const Circumstances& circumstances);

/// A parent that was ended (cancelled, or by SQL) while children of its partial result were open: it has none any more
/// once they have been cancelled. nullopt: it is not such a one.
std::optional<Decision> decide_orphans(const domain::Execution& row);

/// The same text for the same kind of error: numbers and ids are left out, then hashed.
std::string error_fingerprint(std::string_view workflow_type, std::string_view reason, std::string_view error);

}
