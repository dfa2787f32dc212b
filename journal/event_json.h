#pragma once
// An event as whoever follows more than one stream is told of it.

#include <string>

#include "journal/stream_store.h"

namespace impresario::journal {

/// A JSON object: kind, stream_id, seq, organization_id, workflow_type, type, at, payload.
std::string event_json(const NumberedEvent& event);

/// "evt_<stream>_<seq>": the same for the same event, whoever is told and however often.
std::string event_key(const NumberedEvent& event);

struct EventKey {
    std::array<std::uint8_t, 16> stream{};
    int seq = 0;
};
/// nullopt: it is none.
std::optional<EventKey> parse_event_key(std::string_view text);

}
