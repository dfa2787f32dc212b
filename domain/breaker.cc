#include "domain/breaker.h"

#include <array>

namespace impresario::domain {

namespace {
constexpr std::array<std::string_view, 3> kNames{"closed", "half_open", "open"};
}

std::string_view name(BreakerState state) { return kNames[static_cast<std::size_t>(state)]; }

std::optional<BreakerState> parse_breaker_state(std::string_view text) {
    for (std::size_t i = 0; i < kNames.size(); ++i)
        if (kNames[i] == text) return static_cast<BreakerState>(i);
    return std::nullopt;
}

}
