#pragma once
// The token that a callback must carry: derived, so that any node can send it again and check it without the database.

#include <optional>
#include <string>
#include <string_view>

#include "domain/id.h"
#include "domain/secret.h"
#include "platform/crypto.h"

namespace impresario::webhooks {

/// "icb_" and base64url of the attempt's id and of its HMAC, with the execution's id, under the hub key.
domain::Secret callback_token(const platform::KeyRing& keys, const domain::ExecutionId& execution,
                              const domain::AttemptId& attempt);

/// The attempt that a token speaks for; nullopt when it is not one of ours for this execution. Constant time in what is
/// secret.
std::optional<domain::AttemptId> verify_callback_token(const platform::KeyRing& keys,
                                                       const domain::ExecutionId& execution, std::string_view token);

}
