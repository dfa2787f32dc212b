#pragma once
// One signed POST and what became of it: how triggers and outgoing events leave.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/secret.h"
#include "platform/clock.h"
#include "platform/http_client.h"
#include "platform/peer_secrets.h"
#include "webhooks/outcome.h"

namespace impresario::webhooks {

struct SignedPost {
    std::string url;
    std::shared_ptr<const platform::PeerSecrets> secrets;
    /// webhook-id.
    std::string id;
    /// Beside those of the signature.
    platform::Headers headers;
    std::string body;
    OutcomeRules rules;
    /// Not sent after that: somebody else may be trying anew by then.
    std::optional<platform::SteadyPoint> not_after;
    /// For the answer; nullopt: as the client is set.
    std::optional<std::chrono::milliseconds> deadline;
    /// What else a careless peer could echo.
    std::vector<domain::Secret> also_secret;
};

struct Posted {
    DeliveryOutcome outcome;
    domain::TimePoint at{};
    domain::Duration duration{0};
    std::string address;
    std::optional<int> status;
    /// The first 4 KiB of the answer, storable, secrets removed.
    std::string answer;
};

/// Never throws for what a network does. Network thread only; both are to outlive it.
platform::Task<Posted> post_signed(platform::HttpClient& client, platform::Clock& clock, SignedPost post);

/// The first `bytes` of an answer, storable, without the secrets that a careless peer may have echoed.
std::string loggable_answer(std::string_view body, const std::vector<const domain::Secret*>& secrets,
                            std::size_t bytes = 4096);

}
