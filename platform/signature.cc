#include "platform/signature.h"

#include <charconv>

#include "platform/crypto.h"

namespace impresario::platform {

std::optional<std::string> signing_key(const domain::Secret& secret) {
    std::string_view text = secret.reveal();
    if (text.starts_with("whsec_")) text.remove_prefix(6);
    auto key = decode_base64(text);
    if (!key || key->empty()) return std::nullopt;
    return key;
}

std::string sign(std::string_view key, std::string_view id, std::int64_t timestamp, std::string_view body) {
    std::string signed_text;
    signed_text.reserve(id.size() + body.size() + 24);
    signed_text += id;
    signed_text += '.';
    signed_text += std::to_string(timestamp);
    signed_text += '.';
    signed_text += body;
    return "v1," + base64(view(hmac_sha256(key, signed_text)));
}

std::string sign_all(const std::vector<domain::Secret>& secrets, std::string_view id, std::int64_t timestamp,
                     std::string_view body) {
    std::string signatures;
    for (const auto& secret : secrets) {
        const auto key = signing_key(secret);
        if (!key) continue;
        if (!signatures.empty()) signatures += ' ';
        signatures += sign(*key, id, timestamp, body);
    }
    return signatures;
}

std::string_view explain(SignatureFault fault) {
    switch (fault) {
        case SignatureFault::missing:
            return "webhook-id, webhook-timestamp or webhook-signature is missing";
        case SignatureFault::bad_timestamp:
            return "webhook-timestamp is not a number of seconds";
        case SignatureFault::too_old:
            return "webhook-timestamp is too old";
        case SignatureFault::too_new:
            return "webhook-timestamp lies in the future";
        case SignatureFault::no_match:
            return "no signature matches";
    }
    return "";
}

std::optional<SignatureFault> verify(const std::vector<domain::Secret>& secrets, std::string_view id,
                                     std::string_view timestamp, std::string_view signatures, std::string_view body,
                                     domain::TimePoint now, domain::Duration tolerance) {
    if (id.empty() || timestamp.empty() || signatures.empty()) return SignatureFault::missing;
    std::int64_t seconds = 0;
    const auto read = std::from_chars(timestamp.data(), timestamp.data() + timestamp.size(), seconds);
    if (read.ec != std::errc{} || read.ptr != timestamp.data() + timestamp.size() || seconds < 0 ||
        seconds > 100'000'000'000)
        return SignatureFault::bad_timestamp;
    const domain::TimePoint at{std::chrono::seconds{seconds}};
    if (at < now - tolerance) return SignatureFault::too_old;
    if (at > now + tolerance) return SignatureFault::too_new;

    for (const auto& secret : secrets) {
        const auto key = signing_key(secret);
        if (!key) continue;
        const std::string expected = sign(*key, id, seconds, body);
        std::string_view rest = signatures;
        while (!rest.empty()) {
            const auto blank = rest.find(' ');
            const auto one = rest.substr(0, blank);
            rest = blank == std::string_view::npos ? std::string_view{} : rest.substr(blank + 1);
            if (one.starts_with("v1,") && constant_time_equal(one, expected)) return std::nullopt;
        }
    }
    return SignatureFault::no_match;
}

}
