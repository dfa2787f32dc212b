#pragma once
// A registered sub-workflow: where it is, how it is asked, what it may use. Data, not an enum.

#include <optional>
#include <string>
#include <vector>

#include "domain/breaker.h"
#include "domain/definition_fault.h"
#include "domain/demand.h"
#include "domain/id.h"
#include "domain/importance.h"
#include "domain/lane.h"
#include "domain/money.h"
#include "domain/retry.h"
#include "domain/time.h"
#include "platform/peer_secrets.h"
#include "subworkflows/input_needs.h"
#include "subworkflows/run_windows.h"

namespace impresario::subworkflows {

struct Endpoint {
    domain::EndpointId id;
    std::string url;
    int weight = 1;
    /// Asked about an attempt whose start is unknown; `{execution_id}` is replaced. Empty: there is none.
    std::string status_url;
    /// Most requests under way at once.
    int max_in_flight = 64;
    /// Declared by the operator; nullopt: what it has answered counts (learnt_deduplicates).
    std::optional<bool> deduplicates;
    bool learnt_deduplicates = false;

    std::optional<domain::TimePoint> held_until;
    std::optional<domain::TimePoint> held_since;
    std::string held_reason;
    std::string held_detail;
    /// How often in a row it was held: the wait doubles with it.
    int holds = 0;
    domain::BreakerRecord breaker;

    /// Whether the same webhook-id sent twice is certain to run once.
    bool known_to_deduplicate() const { return deduplicates.value_or(learnt_deduplicates); }
};

using domain::Importance;

inline constexpr std::size_t kLongestLockName = 200;
inline constexpr int kMostWaiting = 100'000'000;
inline constexpr int kMostMemoryMb = 16'777'216;

struct WorkflowType {
    domain::Lane lane;
    domain::LaneId lane_id;
    bool enabled = true;
    Importance importance = Importance::normal;
    domain::Duration timeout = std::chrono::seconds{300};
    /// No heartbeat extends an attempt beyond this.
    domain::Duration max_runtime = std::chrono::hours{1};
    /// Running at once; nullopt: as many as the endpoints take.
    std::optional<int> max_concurrency;
    /// JSON pointer into the input, "" for none; at most `concurrency_key_limit` run at once for each value there.
    std::string concurrency_key;
    int concurrency_key_limit = 1;
    domain::Duration max_wait = std::chrono::hours{4};
    domain::RetryPolicy retry;
    /// Other 4xx than the endpoint's own faults are tried again instead of going to the dead letters.
    bool retry_rejected = false;
    /// A result that comes after its deadline is taken while no newer attempt lives.
    bool accept_late = false;
    /// Statuses after which the peer may have started (protocol R7).
    std::vector<int> unknown_statuses{502, 504, 520, 521, 522, 523, 524};
    std::optional<domain::MicroUsd> cost_estimate;
    /// How it is asked while a budget says `cheaper_variant`; nullopt: as always.
    struct CheaperVariant {
        /// JSON object that the trigger carries.
        std::string parameters = "{}";
        std::optional<domain::MicroUsd> cost_estimate;
    };
    std::optional<CheaperVariant> cheaper_variant;
    /// What one execution is expected to ask of its providers; at most one of each.
    std::vector<domain::Need> needs;
    /// Those of their amounts that the input says: taken once, when an execution is enqueued.
    std::vector<InputNeed> from_input;
    /// Reserved while one of its executions holds a slot; nullopt: nothing.
    std::optional<int> memory_mb;
    /// How many may wait: beyond the first, who enqueues is asked to come later; beyond the second the lowest score is
    /// shed. nullopt: any number.
    std::optional<int> queue_soft_limit;
    std::optional<int> queue_hard_limit;
    /// Who has waited longer since it became due is cancelled; nullopt: what the hub says for all.
    std::optional<domain::Duration> queue_ttl;
    /// The least time from one start to the next; nullopt: none.
    std::optional<domain::Duration> execution_interval;
    /// How long nothing starts after one has ended; nullopt: not at all.
    std::optional<domain::Duration> cool_down;
    /// Held by each of its executions while an attempt of it is under way (docs/locks.md); empty: none.
    std::string lock;
    /// Nothing starts outside of them; nullopt: it may at any time.
    std::optional<RunWindows> run_windows;

    /// What its endpoints know us by.
    platform::PeerSecrets secrets;

    std::vector<Endpoint> endpoints;
    std::string source = "api";
    int version = 1;
    domain::TimePoint updated_at;

    const Endpoint* endpoint(const domain::EndpointId& id) const;
    /// What must not be told of it: its secrets, and what follows the ? of its addresses.
    std::vector<domain::Secret> every_secret() const;
    /// Whether what may have arrived there can be sent again at once without running twice: it deduplicates, and there
    /// is no other that the next delivery could go to. Not where it has to keep a lock: that is held by what may be
    /// running, and what waits to be sent again would have let go of it.
    bool repeats_safely(const domain::EndpointId& id) const;
};

/// An endpoint's status URL for one execution.
std::string status_url_of(const Endpoint& endpoint, const domain::ExecutionId& execution);

using domain::DefinitionFault;

/// Everything that is wrong with a definition; empty when it is good.
std::vector<DefinitionFault> check(const WorkflowType& type);

}
