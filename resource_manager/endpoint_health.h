#pragma once
// How much an endpoint is asked at once, and when it is left alone: a pure value fed with what happened to deliveries.

#include <optional>
#include <string>

#include "domain/time.h"

namespace impresario::resource_manager {

/// Begins with a few requests at once, grows with every acceptance, shrinks with trouble. An endpoint at fault, or one
/// that has had enough, is held; then one execution probes it.
struct EndpointHealth {
    static constexpr int kFirstWindow = 4;
    static constexpr domain::Duration kFirstHold = std::chrono::seconds{5};
    static constexpr domain::Duration kLongestHold = std::chrono::minutes{5};

    int window = kFirstWindow;
    /// Holds in a row for being at fault; the wait doubles with it.
    int holds = 0;
    std::optional<domain::TimePoint> held_until;
    std::optional<domain::TimePoint> held_since;
    /// fault or overload.
    std::string reason;
    std::string detail;

    bool held(domain::TimePoint now) const { return held_until && *held_until > now; }

    /// Each returns true when what must be remembered across a restart has changed.
    bool accepted(int max_in_flight);
    bool overloaded(domain::TimePoint now, domain::Duration retry_after, const std::string& what);
    bool at_fault(domain::TimePoint now, const std::string& what);
    /// A failure that may be the execution's: asked less at once, not held.
    void trouble();
};

}
