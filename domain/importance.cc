#include "domain/importance.h"

#include <array>
#include <utility>

namespace impresario::domain {

namespace {
constexpr std::array<std::pair<Importance, std::string_view>, 4> kNames{{
    {Importance::critical, "critical"},
    {Importance::high, "high"},
    {Importance::normal, "normal"},
    {Importance::low, "low"},
}};
}

std::string_view name(Importance importance) { return kNames[static_cast<std::size_t>(importance)].second; }

std::optional<Importance> parse_importance(std::string_view text) {
    for (const auto& [importance, known] : kNames)
        if (known == text) return importance;
    return std::nullopt;
}

}
