#pragma once
// Typed identifiers: an ExecutionId never fits where an AttemptId goes.

#include <array>
#include <bit>
#include <compare>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace impresario::domain {

/// The 16 bytes of a UUID in text, 8-4-4-4-12, lower case.
std::string uuid_text(const std::array<std::uint8_t, 16>& bytes);

/// Reads a UUID in the 8-4-4-4-12 form, either case; anything else is nullopt.
std::optional<std::array<std::uint8_t, 16>> parse_uuid(std::string_view text);

/// A UUID that names one kind of thing. Made by platform::IdSource (version 7) or by the database.
template <class Tag>
struct Id {
    std::array<std::uint8_t, 16> value{};

    // Two comparisons of numbers, where those of the bytes call memcmp: ids are what almost everything is looked up by.
    friend bool operator==(const Id& a, const Id& b) { return a.half(0) == b.half(0) && a.half(8) == b.half(8); }
    /// As their bytes, and so as PostgreSQL orders them.
    friend std::strong_ordering operator<=>(const Id& a, const Id& b) {
        const auto high = a.number(0) <=> b.number(0);
        return high != 0 ? high : a.number(8) <=> b.number(8);
    }

    /// True for the all-zero id, which names nothing.
    bool nil() const { return *this == Id{}; }
    std::string text() const { return uuid_text(value); }

    static std::optional<Id> parse(std::string_view text) {
        const auto bytes = parse_uuid(text);
        if (!bytes) return std::nullopt;
        return Id{*bytes};
    }

    /// Eight of its bytes, in the machine's order.
    std::uint64_t half(std::size_t at) const {
        std::uint64_t number = 0;
        std::memcpy(&number, value.data() + at, 8);
        return number;
    }
    /// The same, the first byte the highest.
    std::uint64_t number(std::size_t at) const {
        const auto read = half(at);
        if constexpr (std::endian::native == std::endian::big) return read;
        return __builtin_bswap64(read);
    }
};

using ExecutionId = Id<struct ExecutionTag>;
using AttemptId = Id<struct AttemptTag>;
using BatchId = Id<struct BatchTag>;
using BudgetId = Id<struct BudgetTag>;
using EndpointId = Id<struct EndpointTag>;
using LaneId = Id<struct LaneTag>;
using NodeId = Id<struct NodeTag>;
using ApiKeyId = Id<struct ApiKeyTag>;

}

template <class Tag>
struct std::hash<impresario::domain::Id<Tag>> {
    std::size_t operator()(const impresario::domain::Id<Tag>& id) const noexcept {
        return static_cast<std::size_t>(id.half(0) ^ (id.half(8) * 0x9e3779b97f4a7c15ULL));
    }
};
