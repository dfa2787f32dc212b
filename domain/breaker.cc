#include "domain/breaker.h"

#include "domain/name_table.h"

namespace impresario::domain {

namespace {
constexpr NameTable<BreakerState, 3> kNames{{
    {BreakerState::closed, "closed"},
    {BreakerState::half_open, "half_open"},
    {BreakerState::open, "open"},
}};
}

std::string_view name(BreakerState state) { return name_in(kNames, state); }

std::optional<BreakerState> parse_breaker_state(std::string_view text) { return value_in(kNames, text); }

}
