#pragma once
// What became of a delivery, and whose fault it was (design, Outcome of a delivery). Pure.

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "domain/time.h"
#include "platform/http_client.h"

namespace impresario::webhooks {

/// The peer has it, and will call back.
struct Accepted {
    /// It said that it deduplicates on webhook-id.
    bool deduplicates = false;
};
/// The answer was the callback itself.
struct Done {
    std::string callback;
    bool deduplicates = false;
};
/// Certainly not begun; the same delivery may be repeated.
struct Transient {
    std::string reason;
    std::optional<domain::Duration> retry_after;
};
/// The peer, or a provider behind it, has had enough for now. Everyone waits; no attempt is burnt.
struct Overload {
    std::string reason;
    domain::Duration retry_after{0};
};
/// The address is wrong, closed to us or broken: nothing the execution could help.
struct EndpointFault {
    std::string reason;
};
/// The peer looked at it and will not have it.
struct Rejected {
    std::string reason;
};
/// It may be running and costing money, or not.
struct Unknown {
    std::string reason;
};

using DeliveryOutcome = std::variant<Accepted, Done, Transient, Overload, EndpointFault, Rejected, Unknown>;

/// "accepted", "transient" …: for the delivery log and metrics.
std::string_view name(const DeliveryOutcome& outcome);
std::string_view reason(const DeliveryOutcome& outcome);

struct OutcomeRules {
    /// The same webhook-id twice is certain to run once: 502 and its like are then only transient.
    bool deduplicates = false;
    /// Other 4xx are tried again.
    bool retry_rejected = false;
    std::vector<int> unknown_statuses;
};

DeliveryOutcome classify(const platform::HttpOutcome& http, const OutcomeRules& rules, domain::TimePoint now);

/// Retry-After as seconds or an HTTP date, clamped to 1 s … 24 h; nullopt when it is neither.
std::optional<domain::Duration> retry_after(std::string_view value, domain::TimePoint now);

}
