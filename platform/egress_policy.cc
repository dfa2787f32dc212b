#include "platform/egress_policy.h"

#include <arpa/inet.h>

#include <charconv>
#include <cstring>

namespace impresario::platform {

namespace {

using Bytes = std::array<std::uint8_t, 16>;

Bytes mapped(const std::uint8_t* v4) {
    Bytes bytes{};
    bytes[10] = bytes[11] = 0xff;
    std::memcpy(bytes.data() + 12, v4, 4);
    return bytes;
}

std::optional<Bytes> raw_address(std::string_view text, bool* v4) {
    const std::string copy(text);
    std::uint8_t four[4];
    if (inet_pton(AF_INET, copy.c_str(), four) == 1) {
        *v4 = true;
        return mapped(four);
    }
    Bytes bytes{};
    if (inet_pton(AF_INET6, copy.c_str(), bytes.data()) == 1) {
        *v4 = false;
        return bytes;
    }
    return std::nullopt;
}

bool starts_with(const Bytes& bytes, std::initializer_list<int> prefix) {
    std::size_t i = 0;
    for (const int each : prefix)
        if (bytes[i++] != each) return false;
    return true;
}

const std::vector<Cidr>& denied() {
    static const std::vector<Cidr> blocks = [] {
        // IANA special-purpose registries (RFC 6890 and its updates); what is not global.
        std::vector<Cidr> made;
        for (const char* text :
             {"0.0.0.0/8",      "10.0.0.0/8",   "100.64.0.0/10",  "127.0.0.0/8",    "169.254.0.0/16", "172.16.0.0/12",
              "192.0.0.0/24",   "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",  "198.51.100.0/24",
              "203.0.113.0/24", "224.0.0.0/4",  "240.0.0.0/4",    "::/127",         "100::/64",       "2001::/23",
              "2001:db8::/32",  "fc00::/7",     "fe80::/10",      "fec0::/10",      "ff00::/8"})
            made.push_back(*Cidr::parse(text));
        return made;
    }();
    return blocks;
}

}

std::optional<Bytes> address_bytes(std::string_view text) {
    const auto zone = text.find('%');
    bool v4 = false;
    auto bytes = raw_address(text.substr(0, zone), &v4);
    if (!bytes || v4) return bytes;
    if (starts_with(*bytes, {0x00, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0}))
        return mapped(bytes->data() + 12);                                    // NAT64
    if (starts_with(*bytes, {0x20, 0x02})) return mapped(bytes->data() + 2);  // 6to4
    // ::a.b.c.d, IPv4-compatible; ::1 and :: stay what they are.
    if (starts_with(*bytes, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}) && ((*bytes)[12] | (*bytes)[13]) != 0)
        return mapped(bytes->data() + 12);
    return bytes;
}

domain::Result<Cidr, domain::Fault> Cidr::parse(std::string_view text) {
    const auto slash = text.find('/');
    bool v4 = false;
    const auto base = raw_address(text.substr(0, slash), &v4);
    if (!base) return domain::Fault{"is not an address block such as 10.0.0.0/8"};
    Cidr block;
    block.base_ = *base;
    if (slash != std::string_view::npos) {
        const auto digits = text.substr(slash + 1);
        int bits = 0;
        const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
        if (read.ec != std::errc{} || read.ptr != digits.data() + digits.size() || bits < 0 || bits > (v4 ? 32 : 128))
            return domain::Fault{"has an impossible prefix length"};
        block.bits_ = v4 ? bits + 96 : bits;
    }
    return block;
}

bool Cidr::contains(const Bytes& address) const {
    const auto whole = static_cast<std::size_t>(bits_ / 8);
    if (std::memcmp(base_.data(), address.data(), whole) != 0) return false;
    const int rest = bits_ % 8;
    if (rest == 0) return true;
    const auto mask = static_cast<std::uint8_t>(0xff << (8 - rest));
    return (base_[whole] & mask) == (address[whole] & mask);
}

bool EgressPolicy::allows(std::string_view address) const {
    const auto bytes = address_bytes(address);
    if (!bytes) return false;
    for (const Cidr& block : allowed_)
        if (block.contains(*bytes)) return true;
    for (const Cidr& block : denied())
        if (block.contains(*bytes)) return false;
    return true;
}

std::string EgressPolicy::denial(std::string_view address) {
    const std::string text(address);
    return "the egress policy denies " + text + "; allow it with [egress] allow = [\"" + text + "\"]";
}


EgressPolicy EgressPolicy::everywhere() { return EgressPolicy({*Cidr::parse("0.0.0.0/0"), *Cidr::parse("::/0")}); }

}
