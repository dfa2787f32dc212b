#pragma once
// Why something may not start now, and until when.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/time.h"

namespace impresario::domain {

/// In the order in which they are tried. A kind added here must be given a name in gate.cc and a limiter in
/// resource_manager; the visitors fail to compile until it has both.
enum class GateKind {
    paused,
    not_due,
    /// Somebody else holds the lock that the type names.
    lock,
    concurrency,
    key_concurrency,
    /// The last start of the lane was too short a time ago.
    execution_interval,
    /// The last end of the lane was.
    cool_down,
    endpoint,
    breaker,
    /// What one key may have of a provider's limit.
    key_limit,
    provider,
    memory,
    database,
    budget,
    /// Outside of the windows in which the lane may start.
    maintenance_window,
};

std::string_view name(GateKind kind);
std::optional<GateKind> parse_gate_kind(std::string_view text);

/// A closed gate. Numbers are what the decision compared, as the reader may check them ("limit" → "2", "in_use" → "2").
struct Gate {
    GateKind kind = GateKind::paused;
    /// What is closed: the lane, a concurrency key, an endpoint's address.
    std::string subject;
    /// One sentence for people, naming what would open it.
    std::string detail;
    std::vector<std::pair<std::string, std::string>> numbers;
    /// When it opens by itself; nullopt when that depends on something else happening.
    std::optional<TimePoint> opens_at;
    /// What it guards has refused and is left alone until then, rather than used up.
    bool cooling = false;

    /// Same gate, whatever its numbers are now: decides whether a new record is due.
    /// A provider's window moves with every request, an interval with every start: when it opens is a number of it.
    bool same_as(const Gate& other) const {
        return kind == other.kind && subject == other.subject &&
               (kind == GateKind::provider || kind == GateKind::key_limit || kind == GateKind::execution_interval ||
                kind == GateKind::cool_down || opens_at == other.opens_at);
    }
};

}
