#include "domain/gate.h"

#include "domain/name_table.h"

namespace impresario::domain {

namespace {
constexpr NameTable<GateKind, 15> kNames{{
    {GateKind::paused, "paused"},
    {GateKind::not_due, "not_due"},
    {GateKind::lock, "lock"},
    {GateKind::concurrency, "concurrency"},
    {GateKind::key_concurrency, "key_concurrency"},
    {GateKind::execution_interval, "execution_interval"},
    {GateKind::cool_down, "cool_down"},
    {GateKind::endpoint, "endpoint"},
    {GateKind::breaker, "breaker"},
    {GateKind::key_limit, "key_limit"},
    {GateKind::provider, "provider"},
    {GateKind::memory, "memory"},
    {GateKind::database, "database"},
    {GateKind::budget, "budget"},
    {GateKind::maintenance_window, "maintenance_window"},
}};
}

std::string_view name(GateKind kind) { return name_in(kNames, kind); }

std::optional<GateKind> parse_gate_kind(std::string_view text) { return value_in(kNames, text); }

}
