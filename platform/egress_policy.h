#pragma once
// Where we may send to: decided on the resolved address, so that a name cannot smuggle in an inner one.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/result.h"

namespace impresario::platform {

/// An address block, IPv4 or IPv6 ("10.0.0.0/8", "fd00::/8", "127.0.0.1").
class Cidr {
  public:
    static domain::Result<Cidr, domain::Fault> parse(std::string_view text);
    /// `address` as 16 bytes; IPv4 as ::ffff:a.b.c.d.
    bool contains(const std::array<std::uint8_t, 16>& address) const;

  private:
    std::array<std::uint8_t, 16> base_{};
    int bits_ = 128;
};

/// Reads an IPv4 or IPv6 address into the 16 bytes that Cidr compares. IPv4 inside IPv6 (mapped, NAT64, 6to4) is read
/// as the IPv4 it leads to.
std::optional<std::array<std::uint8_t, 16>> address_bytes(std::string_view text);

/// Loopback, private, link-local (cloud metadata among them), shared, multicast and reserved ranges are denied unless
/// an allowed block contains the address. Immutable; any thread.
class EgressPolicy {
  public:
    EgressPolicy() = default;
    explicit EgressPolicy(std::vector<Cidr> allowed) : allowed_(std::move(allowed)) {}
    /// For what is the operator's own choice and not a user's.
    static EgressPolicy everywhere();
    bool allows(std::string_view address) const;
    /// Why nothing goes there, for people: what is denied, and how to allow it.
    static std::string denial(std::string_view address);

  private:
    std::vector<Cidr> allowed_;
};

}
