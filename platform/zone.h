#pragma once
// The zones of the system, and when their clocks show what.

#include <date/tz.h>

#include <string_view>

#include "domain/time.h"

namespace impresario::platform {

/// By its IANA name, as in Europe/Berlin; nullptr: this machine does not know it. After 2037 the clocks of all zones
/// stay on winter time: the tables of the system end there.
const date::time_zone* find_zone(std::string_view name);
inline bool known_zone(std::string_view name) { return find_zone(name) != nullptr; }

/// What the zone's clocks are set to at that time. No zone: UTC.
std::chrono::seconds offset_at(const date::time_zone* zone, domain::TimePoint at);

/// The first instant at which the clocks reach this time: where they skip it, at the skip; where they show it twice, at
/// the first time. Never earlier for a later time. No zone: UTC.
domain::TimePoint first_reached(const date::time_zone* zone, date::local_seconds local);

}
