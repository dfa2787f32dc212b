#pragma once
// Alerts that nobody is to be told of for a while: somebody knows.

#include <optional>
#include <string>
#include <vector>

#include "alerts/matcher.h"
#include "domain/definition_fault.h"
#include "domain/id.h"
#include "domain/time.h"

namespace impresario::alerts {

using SilenceId = domain::Id<struct SilenceTag>;

/// From `starts_at` until just before `ends_at`. It means the alerts of all organizations: for who may speak for one
/// only, the door adds a matcher on the label organization. Ended early, its end is set to now: it is never deleted, so
/// that one can see who silenced what.
struct Silence {
    SilenceId id;
    Matchers matchers;
    domain::TimePoint starts_at{};
    domain::TimePoint ends_at{};
    std::string by;
    /// Why; must not be empty.
    std::string comment;

    bool active(domain::TimePoint now) const { return starts_at <= now && now < ends_at; }
};

inline constexpr domain::Duration kLongestSilence = std::chrono::hours{24 * 366};

/// What is wrong with one that somebody wants to make now. One that would silence everything by mistake, because each
/// of its matchers matches the empty text, is refused, as in Alertmanager.
domain::DefinitionFaults faults_of(const Silence& silence, domain::TimePoint now);

/// The first that silences it now; nullptr: none.
const Silence* silenced_by(const std::vector<Silence>& silences, const Labels& labels, domain::TimePoint now);

/// When the next one begins or ends.
std::optional<domain::TimePoint> next_change(const std::vector<Silence>& silences, domain::TimePoint now);

}
