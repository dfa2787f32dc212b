#pragma once
// Typed identifiers: an ExecutionId never fits where an AttemptId goes.

#include <array>
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

    friend auto operator<=>(const Id&, const Id&) = default;

    /// True for the all-zero id, which names nothing.
    bool nil() const { return *this == Id{}; }
    std::string text() const { return uuid_text(value); }

    static std::optional<Id> parse(std::string_view text) {
        const auto bytes = parse_uuid(text);
        if (!bytes) return std::nullopt;
        return Id{*bytes};
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
        std::uint64_t high = 0;
        std::uint64_t low = 0;
        std::memcpy(&high, id.value.data(), 8);
        std::memcpy(&low, id.value.data() + 8, 8);
        return static_cast<std::size_t>(high ^ (low * 0x9e3779b97f4a7c15ULL));
    }
};
