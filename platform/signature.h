#pragma once
// Standard Webhooks signatures: what we send, and what a sub-workflow checks.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/secret.h"
#include "domain/time.h"

namespace impresario::platform {

/// The key inside a `whsec_…` secret (the prefix is optional); nullopt when it is not base64.
std::optional<std::string> signing_key(const domain::Secret& secret);

/// "v1,<base64 HMAC-SHA256 of id.timestamp.body>".
std::string sign(std::string_view key, std::string_view id, std::int64_t timestamp, std::string_view body);

/// One signature for each live secret, joined by a blank: old and new receivers both find theirs.
std::string sign_all(const std::vector<domain::Secret>& secrets, std::string_view id, std::int64_t timestamp,
                     std::string_view body);

enum class SignatureFault { missing, bad_timestamp, too_old, too_new, no_match };
std::string_view explain(SignatureFault fault);

/// Checks the three headers against any of `secrets`; `now` within `tolerance` of the timestamp. nullopt: it is good.
/// Signatures of other versions are passed over.
std::optional<SignatureFault> verify(const std::vector<domain::Secret>& secrets, std::string_view id,
                                     std::string_view timestamp, std::string_view signatures, std::string_view body,
                                     domain::TimePoint now, domain::Duration tolerance = std::chrono::minutes{5});

}
