#include "journal/event_json.h"

#include <charconv>

#include "domain/id.h"
#include "platform/json_writer.h"

namespace impresario::journal {

namespace {
using StreamId = domain::Id<struct StreamTag>;
constexpr std::string_view kPrefix = "evt_";
constexpr std::size_t kIdLength = 36;
}

std::string event_json(const NumberedEvent& event) {
    platform::JsonWriter json;
    json.open();
    json.field("kind", event.kind)
        .field("stream_id", StreamId{event.stream}.text())
        .field("seq", event.seq)
        .field("organization_id", event.organization_id)
        .field("workflow_type", event.workflow_type)
        .field("type", event.type)
        .field("at", event.at)
        .raw("payload", event.payload);
    json.close();
    return std::move(json).text();
}

std::string event_key(const NumberedEvent& event) {
    return std::string(kPrefix) + StreamId{event.stream}.text() + "_" + std::to_string(event.seq);
}

std::optional<EventKey> parse_event_key(std::string_view text) {
    if (!text.starts_with(kPrefix) || text.size() < kPrefix.size() + kIdLength + 2) return std::nullopt;
    text.remove_prefix(kPrefix.size());
    const auto stream = StreamId::parse(text.substr(0, kIdLength));
    if (!stream || text[kIdLength] != '_') return std::nullopt;
    text.remove_prefix(kIdLength + 1);
    EventKey key{stream->value, 0};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), key.seq);
    if (error != std::errc{} || end != text.data() + text.size() || key.seq < 1) return std::nullopt;
    return key;
}

}
