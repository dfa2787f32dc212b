#pragma once
// What can happen to one execution, as values. All of them go through decide (pure) and apply (one transaction).

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "domain/callback.h"
#include "domain/execution.h"
#include "platform/json_writer.h"
#include "resource_manager/estimate.h"
#include "resource_manager/provider_weather.h"
#include "subworkflows/catalogue.h"
#include "webhooks/attempt_store.h"
#include "webhooks/outcome.h"

namespace impresario::orchestrator {

/// The sub-workflow has called back, with a token that was good for `attempt`.
struct CallbackReceived {
    domain::AttemptId attempt;
    domain::Callback callback;
    /// SHA-256 of the raw body: what "the same again" means (protocol R11).
    std::string sha256;
    /// The body as it came, made storable: evidence if it is refused.
    std::string body;
};

/// A request that left for the sub-workflow has ended one way or another.
struct DeliveryReported {
    domain::AttemptId attempt;
    int fence = 0;
    domain::EndpointId endpoint;
    webhooks::DeliveryOutcome outcome;
    webhooks::DeliveryRecord record;
    /// Whether the endpoint is known to deduplicate on webhook-id.
    bool deduplicates = false;
};

/// A node is about to send what it was granted (protocol R5).
struct SendingBegun {
    domain::AttemptId attempt;
    int fence = 0;
    domain::NodeId node;
};

/// The node that held it is gone, or has not begun in time.
struct LeaseLost {
    domain::AttemptId attempt;
    int fence = 0;
    bool deduplicates = false;
};

/// The node that held it knows that no request has left: the commit was in doubt, or came too late.
struct NeverSent {
    domain::AttemptId attempt;
    int fence = 0;
};

/// timeout_at has passed; the row decides whether that is still so (protocol R8).
struct DeadlinePassed {
    domain::AttemptId attempt;
};

/// due_at has come.
struct BecameDue {};

/// Children of a partial result have ended, or may have; or the parent has, and theirs is no longer wanted.
struct ChildrenEnded {};

struct Cancel {
    std::string by;
    std::string reason;
};

/// It leaves the queue without having run: the queue is longer than its hard bound, or it has waited longer than it
/// may.
struct Dropped {
    /// "shed" or "expired".
    std::string reason;
    /// For people, and the numbers that were compared.
    std::string detail;
    std::vector<std::pair<std::string, std::int64_t>> numbers;
    /// Of one that has waited too long: not if it became due later than this.
    std::optional<domain::TimePoint> ready_before;
};

struct Reprioritise {
    std::optional<int> priority;
    std::optional<domain::TimePoint> scheduled_at;
    std::string by;
};

/// Opens a dead or failed execution again.
struct Reopen {
    /// JSON text that replaces the input; nullopt leaves it.
    std::optional<std::string> input;
    std::string by;
};

/// Takes a dead letter out of the queue for good.
struct Discard {
    std::string by;
};

/// A result that came after its deadline is taken after all; it is found among the refused callbacks.
struct AcceptLate {
    domain::AttemptId attempt;
    domain::Callback callback;
    std::string sha256;
    std::string by;
};

using Happening = std::variant<CallbackReceived, DeliveryReported, SendingBegun, LeaseLost, NeverSent, DeadlinePassed,
                               BecameDue, ChildrenEnded, Cancel, Dropped, Reprioritise, Reopen, Discard, AcceptLate>;

struct Command {
    domain::ExecutionId execution;
    Happening happening;
    /// The dice's word on jitter, drawn where the command was made, so that deciding stays pure.
    double unit = 0.5;
    /// What the types said when it was made.
    subworkflows::CataloguePtr catalogue;
    /// Only for executions of this organization; others answer as if they did not exist.
    std::optional<std::string> organization_id;
    /// Of a callback: the delivery it came for, where that has not been recorded yet. It is decided first.
    std::optional<DeliveryReported> delivery = {};
};

/// What the caller is answered.
struct Answer {
    /// HTTP's number for it: 200 done, 401 unknown or not yours, 404, 409 …
    int status = 200;
    /// Short name of the problem; empty when it is none.
    std::string problem;
    std::string detail;
    /// JSON object text for a 2xx.
    std::string body;
};

/// News for the scheduler and the node, beside the row itself.
struct EndpointNews {
    domain::EndpointId endpoint;
    /// strained: it works, though this one went wrong; it is asked less at once, and its breaker counts no failure.
    enum class Kind { accepted, strained, trouble, overload, fault } kind = Kind::accepted;
    std::string detail;
    domain::Duration retry_after{0};
    /// When the request began: what began before a breaker opened says nothing about the endpoint of now.
    domain::TimePoint began{};
    bool learnt_deduplicates = false;
    /// What its execution asked of its providers beyond what its type says.
    std::string need_amounts = {};
};

/// An execution's event carries them to a scheduler on another node.
void add_endpoint_news(platform::JsonWriter& payload, const EndpointNews& news);
std::optional<EndpointNews> endpoint_news_in(std::string_view payload);
/// The same for what an attempt has used, where that is known.
void add_consumption(platform::JsonWriter& payload, const std::optional<resource_manager::Consumption>& consumed);
std::optional<resource_manager::Consumption> consumption_in(std::string_view payload);
/// Whether an event of this type may carry it.
bool tells_consumption(std::string_view event_type);

/// A peer that should be told that its work is no longer wanted.
struct PeerCancelled {
    domain::ExecutionId execution;
    domain::Lane lane;
    domain::AttemptId attempt;
    domain::EndpointId endpoint;
};

/// An attempt that has been closed.
struct AttemptOver {
    domain::ExecutionId execution;
    domain::Lane lane;
    int opening = 1;
    domain::AttemptId attempt;
    int number = 1;
    domain::TimePoint granted_at;
    std::string outcome;
    std::string detail;
    /// Until when it had time, as it was last moved.
    std::optional<domain::TimePoint> timeout_at;
};

/// What a command has come to, for whoever counts it.
struct Counts {
    struct Ended {
        domain::Lane lane;
        domain::Status status = domain::Status::completed;
        std::optional<std::int64_t> duration_ms;
        std::optional<std::int64_t> items;
    };
    struct Retry {
        domain::Lane lane;
        std::string reason;
        /// Until it is tried again.
        domain::Duration delay{0};
    };
    struct Used {
        domain::Lane lane;
        std::string what;
        std::string provider;
        std::int64_t amount = 0;
        std::optional<domain::MicroUsd> cost;
    };
    std::vector<Ended> ended;
    std::vector<Retry> retries;
    std::vector<Used> used;
};

struct Reply {
    Answer answer;
    /// Another transaction holds the row: nothing was decided, ask again.
    bool held = false;
    /// The row as it is now, when the command changed it; null otherwise.
    std::optional<domain::Execution> after;
    /// Other rows the same transaction changed: children made, parents settled.
    std::vector<domain::Execution> others;
    std::optional<EndpointNews> endpoint;
    std::optional<resource_manager::Consumption> consumed;
    std::vector<resource_manager::ProviderNews> providers;
    /// What was used of providers may be more than was granted.
    bool tells_usage = false;
    std::vector<PeerCancelled> cancelled_peers;
    std::vector<AttemptOver> over;
    Counts counts;
    /// Parents that could not be looked at, because somebody holds them or their children: ChildrenEnded once more.
    std::vector<domain::ExecutionId> unsettled;
};

}
