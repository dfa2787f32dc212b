#include "resource_manager/endpoint_health.h"

#include <algorithm>

namespace impresario::resource_manager {

bool EndpointHealth::accepted(int max_in_flight) {
    const bool was_held = held_until.has_value();
    held_until.reset();
    held_since.reset();
    reason.clear();
    detail.clear();
    holds = 0;
    window = std::min(window + 1, max_in_flight);
    return was_held;
}

bool EndpointHealth::overloaded(domain::TimePoint now, domain::Duration retry_after, const std::string& what) {
    window = 1;
    const auto until = now + retry_after;
    if (held_until && *held_until >= until) return false;
    if (!held(now)) held_since = now;
    held_until = until;
    reason = "overload";
    detail = what;
    return true;
}

bool EndpointHealth::at_fault(domain::TimePoint now, const std::string& what) {
    window = 1;
    // Those that were under way together are one fault.
    if (held(now)) return false;
    const int doublings = std::min(holds, 20);
    const auto wait = std::min<domain::Duration>(kFirstHold * (std::int64_t{1} << doublings), kLongestHold);
    ++holds;
    if (!held_since) held_since = now;
    held_until = now + wait;
    reason = "fault";
    detail = what;
    return true;
}

void EndpointHealth::trouble() { window = std::max(1, window / 2); }

}
