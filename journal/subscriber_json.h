#pragma once
// Subscribers as JSON: as they are given, and as they are shown and stored.

#include <string>
#include <string_view>

#include "domain/result.h"
#include "journal/event_json.h"
#include "journal/subscriber.h"
#include "platform/definition_json.h"

namespace impresario::journal {

/// Reads what somebody wrote. The name and the organization are the caller's; secrets that are absent stay as
/// `existing` has them.
domain::Result<Subscriber, domain::DefinitionFaults> parse_subscriber(std::string_view body,
                                                                      const Subscriber* existing);
/// Without its secrets: as it is stored, and as it could be given again.
std::string definition_json(const Subscriber& subscriber);

/// What somebody asks to be told once more: one event, what was given up, or what has happened since then.
struct ReplayRequest {
    std::optional<EventKey> event;
    bool failed = false;
    std::optional<domain::TimePoint> since;
    std::optional<domain::TimePoint> until;
    EventChoice choice;
};
domain::Result<ReplayRequest, domain::DefinitionFaults> parse_replay(std::string_view body);

/// `topics`, `types` and `workflow_types`.
void read_choice(platform::DefinitionReader& members, EventChoice& into);
/// An object of those that choose something.
std::string choice_json(const EventChoice& choice);
EventChoice stored_choice(std::string_view json);

}
