#include "platform/crypto.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <memory>
#include <stdexcept>

namespace impresario::platform {

namespace {
const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }
unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

constexpr std::size_t kNonce = 12;
constexpr std::size_t kTag = 16;

using Cipher = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;
Cipher cipher() { return {EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free}; }
}

Digest sha256(std::string_view bytes) {
    Digest digest;
    SHA256(bytes_of(bytes), bytes.size(), digest.data());
    return digest;
}

Digest hmac_sha256(std::string_view key, std::string_view bytes) {
    Digest digest;
    unsigned int length = 0;
    HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes_of(bytes), bytes.size(), digest.data(), &length);
    return digest;
}

bool constant_time_equal(std::string_view a, std::string_view b) {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string hex(std::string_view bytes) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text;
    text.reserve(bytes.size() * 2);
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

std::string base64(std::string_view bytes) {
    std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
    const int length = EVP_EncodeBlock(bytes_of(text), bytes_of(bytes), static_cast<int>(bytes.size()));
    text.resize(static_cast<std::size_t>(length));
    return text;
}

std::optional<std::string> decode_base64(std::string_view text) {
    if (text.size() % 4 != 0) return std::nullopt;
    const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
    std::string bytes(text.size() / 4 * 3 + 1, '\0');
    const int length = EVP_DecodeBlock(bytes_of(bytes), bytes_of(text), static_cast<int>(text.size()));
    if (length < 0) return std::nullopt;
    bytes.resize(static_cast<std::size_t>(length) - padding);
    // EVP_DecodeBlock skips white space, reads padding as zeros and drops odd bits at the end: bytes have one text
    // only.
    if (base64(bytes) != text) return std::nullopt;
    return bytes;
}

std::string base64url(std::string_view bytes) {
    std::string text = base64(bytes);
    while (!text.empty() && text.back() == '=') text.pop_back();
    for (char& c : text) {
        if (c == '+') c = '-';
        if (c == '/') c = '_';
    }
    return text;
}

std::optional<std::string> decode_base64url(std::string_view text) {
    std::string standard;
    standard.reserve(text.size() + 3);
    for (const char c : text) {
        if (c == '+' || c == '/' || c == '=') return std::nullopt;
        standard += c == '-' ? '+' : c == '_' ? '/' : c;
    }
    while (standard.size() % 4 != 0) standard += '=';
    return decode_base64(standard);
}

std::string random_bytes(std::size_t count) {
    std::string bytes(count, '\0');
    if (RAND_bytes(bytes_of(bytes), static_cast<int>(count)) != 1)
        throw std::runtime_error("the system's random generator gave no bytes");
    return bytes;
}

namespace {
std::optional<std::string> decode_hex(std::string_view text) {
    if (text.size() % 2 != 0) return std::nullopt;
    std::string bytes;
    for (std::size_t i = 0; i < text.size(); i += 2) {
        int value = 0;
        for (const char c : text.substr(i, 2)) {
            value <<= 4;
            if (c >= '0' && c <= '9') {
                value |= c - '0';
            } else if (c >= 'a' && c <= 'f') {
                value |= c - 'a' + 10;
            } else if (c >= 'A' && c <= 'F') {
                value |= c - 'A' + 10;
            } else {
                return std::nullopt;
            }
        }
        bytes += static_cast<char>(value);
    }
    return bytes;
}
}

KeyRing::KeyRing(const std::vector<domain::Secret>& keys) {
    if (keys.empty()) throw std::invalid_argument("the hub needs a key of 32 bytes");
    for (const auto& each : keys) {
        std::optional<std::string> raw;
        if (each.reveal().size() == 64) raw = decode_hex(each.reveal());
        if (!raw) raw = decode_base64(each.reveal());
        if (!raw || raw->size() != 32)
            throw std::invalid_argument(
                "a hub key must be 32 bytes, written as base64 (44 characters) or as 64 hex digits");
        // One secret, two keys: what seals never derives.
        Key key;
        key.sealing = std::string(view(hmac_sha256(*raw, "impresario seal v1")));
        key.deriving = std::string(view(hmac_sha256(*raw, "impresario derive v1")));
        key.id = hex(view(hmac_sha256(*raw, "impresario key id v1"))).substr(0, 8);
        keys_.push_back(std::move(key));
    }
}

std::string KeyRing::seal(const domain::Secret& plain, std::string_view context) const {
    const Key& key = keys_.front();
    const std::string nonce = random_bytes(kNonce);
    std::string sealed(plain.reveal().size(), '\0');
    std::string tag(kTag, '\0');
    const auto ctx = cipher();
    int length = 0;
    const bool ok =
        EVP_EncryptInit_ex(ctx.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key.sealing), bytes_of(nonce)) == 1 &&
        EVP_EncryptUpdate(ctx.get(), nullptr, &length, bytes_of(context), static_cast<int>(context.size())) == 1 &&
        EVP_EncryptUpdate(ctx.get(), bytes_of(sealed), &length, bytes_of(plain.reveal()),
                          static_cast<int>(plain.reveal().size())) == 1 &&
        EVP_EncryptFinal_ex(ctx.get(), bytes_of(sealed) + length, &length) == 1 &&
        EVP_CIPHER_CTX_ctrl(ctx.get(), EVP_CTRL_GCM_GET_TAG, kTag, tag.data()) == 1;
    if (!ok) throw std::runtime_error("OpenSSL could not seal a secret");
    return "v1:" + key.id + ":" + base64(nonce + sealed + tag);
}

std::optional<domain::Secret> KeyRing::open(std::string_view sealed, std::string_view context) const {
    if (!sealed.starts_with("v1:")) return std::nullopt;
    sealed.remove_prefix(3);
    const auto colon = sealed.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto id = sealed.substr(0, colon);
    auto raw = decode_base64(sealed.substr(colon + 1));
    if (!raw || raw->size() < kNonce + kTag) return std::nullopt;
    for (const Key& key : keys_) {
        if (key.id != id) continue;
        const std::string nonce = raw->substr(0, kNonce);
        const std::string body = raw->substr(kNonce, raw->size() - kNonce - kTag);
        std::string tag = raw->substr(raw->size() - kTag);
        std::string plain(body.size(), '\0');
        const auto ctx = cipher();
        int length = 0;
        const bool ok =
            EVP_DecryptInit_ex(ctx.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key.sealing), bytes_of(nonce)) == 1 &&
            EVP_DecryptUpdate(ctx.get(), nullptr, &length, bytes_of(context), static_cast<int>(context.size())) == 1 &&
            EVP_DecryptUpdate(ctx.get(), bytes_of(plain), &length, bytes_of(body), static_cast<int>(body.size())) ==
                1 &&
            EVP_CIPHER_CTX_ctrl(ctx.get(), EVP_CTRL_GCM_SET_TAG, kTag, tag.data()) == 1 &&
            EVP_DecryptFinal_ex(ctx.get(), bytes_of(plain) + length, &length) == 1;
        if (ok) return domain::Secret(std::move(plain));
    }
    return std::nullopt;
}

namespace {
std::string purposed(std::string_view purpose, std::string_view bytes) {
    std::string text(purpose);
    text += '\0';
    text += bytes;
    return text;
}
}

Digest KeyRing::derive(std::string_view purpose, std::string_view bytes) const {
    return hmac_sha256(keys_.front().deriving, purposed(purpose, bytes));
}

bool KeyRing::derived(std::string_view mac, std::string_view purpose, std::string_view bytes) const {
    const std::string text = purposed(purpose, bytes);
    for (const Key& key : keys_)
        if (constant_time_equal(mac, view(hmac_sha256(key.deriving, text)))) return true;
    return false;
}

}
