#pragma once
// The words for the values of an enumeration: the same in SQL, JSON, metrics and logs.

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace impresario::domain {

template <class Value, std::size_t N>
using NameTable = std::array<std::pair<Value, std::string_view>, N>;

/// "" for a value that has no name.
template <class Value, std::size_t N>
constexpr std::string_view name_in(const NameTable<Value, N>& names, Value value) {
    for (const auto& [each, name] : names)
        if (each == value) return name;
    return {};
}

template <class Value, std::size_t N>
constexpr std::optional<Value> value_in(const NameTable<Value, N>& names, std::string_view name) {
    for (const auto& [each, known] : names)
        if (known == name) return each;
    return std::nullopt;
}

}
