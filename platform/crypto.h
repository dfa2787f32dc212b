#pragma once
// The few pieces of OpenSSL that we use, as values.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/secret.h"

namespace impresario::platform {

using Digest = std::array<std::uint8_t, 32>;

Digest sha256(std::string_view bytes);
Digest hmac_sha256(std::string_view key, std::string_view bytes);

/// Compares without telling by its duration where the two differ. Different lengths are unequal at once.
bool constant_time_equal(std::string_view a, std::string_view b);

std::string hex(std::string_view bytes);
std::string base64(std::string_view bytes);
/// Standard alphabet with padding; anything else is nullopt.
std::optional<std::string> decode_base64(std::string_view text);
/// URL alphabet without padding.
std::string base64url(std::string_view bytes);
std::optional<std::string> decode_base64url(std::string_view text);

/// From the system's generator; throws when it has none.
std::string random_bytes(std::size_t count);

inline std::string_view view(const Digest& digest) {
    return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

/// The hub's keys: the first seals and signs, all open and verify, so that a key can be replaced without a stop.
/// Immutable after construction; any thread.
class KeyRing {
  public:
    /// Each key is 32 bytes as base64 or 64 hex digits; throws std::invalid_argument naming what is wrong with it.
    explicit KeyRing(const std::vector<domain::Secret>& keys);

    /// AES-256-GCM, "v1:<key id>:<base64>". `context` (what the secret belongs to) is authenticated with it, so that a
    /// sealed text cannot be moved to another row.
    std::string seal(const domain::Secret& plain, std::string_view context) const;
    /// nullopt when no key of the ring opens it.
    std::optional<domain::Secret> open(std::string_view sealed, std::string_view context) const;

    /// HMAC of `bytes` for `purpose` under the first key.
    Digest derive(std::string_view purpose, std::string_view bytes) const;
    /// Whether `mac` is what one of the keys derives.
    bool derived(std::string_view mac, std::string_view purpose, std::string_view bytes) const;

  private:
    struct Key {
        std::string id;
        std::string sealing;
        std::string deriving;
    };
    std::vector<Key> keys_;
};

}
