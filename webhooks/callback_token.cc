#include "webhooks/callback_token.h"

#include <cstring>

namespace impresario::webhooks {

namespace {
constexpr std::string_view kPrefix = "icb_";
constexpr std::string_view kPurpose = "callback";

std::string bound(const domain::ExecutionId& execution, std::string_view attempt) {
    std::string bytes(reinterpret_cast<const char*>(execution.value.data()), execution.value.size());
    bytes += attempt;
    return bytes;
}
}

domain::Secret callback_token(const platform::KeyRing& keys, const domain::ExecutionId& execution,
                              const domain::AttemptId& attempt) {
    std::string bytes(reinterpret_cast<const char*>(attempt.value.data()), attempt.value.size());
    bytes += platform::view(keys.derive(kPurpose, bound(execution, bytes)));
    return domain::Secret(std::string(kPrefix) + platform::base64url(bytes));
}

std::optional<domain::AttemptId> verify_callback_token(const platform::KeyRing& keys,
                                                       const domain::ExecutionId& execution, std::string_view token) {
    if (!token.starts_with(kPrefix)) return std::nullopt;
    const auto bytes = platform::decode_base64url(token.substr(kPrefix.size()));
    if (!bytes || bytes->size() != 16 + 32) return std::nullopt;
    domain::AttemptId attempt;
    std::memcpy(attempt.value.data(), bytes->data(), 16);
    if (!keys.derived(std::string_view(*bytes).substr(16), kPurpose,
                      bound(execution, std::string_view(*bytes).substr(0, 16))))
        return std::nullopt;
    return attempt;
}

}
