#pragma once
// While the scheduler cannot reach the database nobody can call back and nobody can say that he is alive: what that
// time does to deadlines and takeovers (protocol R9). Pure.

#include <optional>

#include "domain/time.h"

namespace impresario::orchestrator {

/// The last time out of reach, kept in the scheduler's row so that it outlives a rebuild, a restart and a takeover.
struct Outage {
    domain::TimePoint from;
    domain::TimePoint until;
    /// How long it really was; less than from..until where several that follow closely count as one.
    domain::Duration length{0};

    /// What a deadline that passed meanwhile is given: time stood still, plus half a minute to call back in.
    domain::Duration grace() const { return length + std::chrono::seconds{30}; }
    /// When a deadline is acted on.
    domain::TimePoint acted_on(domain::TimePoint deadline) const {
        return deadline < from || deadline > until ? deadline : domain::saturating_add(deadline, grace());
    }
    /// Until then nothing of another node is taken over: a whole lease in which everybody can say that he is there.
    domain::TimePoint no_takeover_before(domain::Duration lease) const { return domain::saturating_add(until, lease); }
    friend bool operator==(const Outage&, const Outage&) = default;
};

/// What the row says after it has been written again at `now`, the last time before at `renewed_at` (nullopt: never).
/// A gap longer than half a lease is an outage; one that begins before the grace of the last has run out continues it.
std::optional<Outage> outage_after(const std::optional<Outage>& before, std::optional<domain::TimePoint> renewed_at,
                                   domain::TimePoint now, domain::Duration lease);

}
