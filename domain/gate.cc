#include "domain/gate.h"

#include <array>

namespace impresario::domain {

namespace {
constexpr std::array<std::pair<GateKind, std::string_view>, 8> kNames{{
    {GateKind::paused, "paused"},
    {GateKind::not_due, "not_due"},
    {GateKind::concurrency, "concurrency"},
    {GateKind::key_concurrency, "key_concurrency"},
    {GateKind::endpoint, "endpoint"},
    {GateKind::breaker, "breaker"},
    {GateKind::provider, "provider"},
    {GateKind::budget, "budget"},
}};
}

std::string_view name(GateKind kind) {
    for (const auto& [each, text] : kNames)
        if (each == kind) return text;
    return "";
}

std::optional<GateKind> parse_gate_kind(std::string_view text) {
    for (const auto& [each, known] : kNames)
        if (known == text) return each;
    return std::nullopt;
}

}
