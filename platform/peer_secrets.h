#pragma once
// What a peer that we send to knows us by: the same for triggers, for outgoing events and for whatever else leaves.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/definition_fault.h"
#include "domain/secret.h"
#include "domain/time.h"
#include "platform/http.h"

namespace impresario::platform {

struct PeerSecrets {
    /// Sent as `Authorization: Bearer`; empty: none.
    domain::Secret bearer;
    /// whsec_…; two while one is being replaced.
    std::vector<domain::Secret> signing;
    /// Static headers; their values may be secret and are treated so.
    std::vector<std::pair<std::string, domain::Secret>> headers;

    /// Each of them, borrowed.
    std::vector<const domain::Secret*> all() const;
};

/// What cannot be, with its place in the definition.
domain::DefinitionFaults check(const PeerSecrets& secrets);

/// A fresh signing secret.
domain::Secret new_signing_secret();

/// What every request that we sign carries: who asks, `Authorization`, the three of Standard Webhooks, and the static
/// ones last.
Headers signed_headers(const PeerSecrets& secrets, std::string_view id, domain::TimePoint at, std::string_view body);

}
