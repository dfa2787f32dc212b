#include "orchestrator/lane_events.h"

#include "journal/event_store.h"
#include "platform/json_writer.h"
#include "platform/redact.h"

namespace impresario::orchestrator {

void append_lane_event(platform::Tx& tx, const subworkflows::CatalogueStore& catalogue, const domain::Lane& lane,
                       const domain::NodeId& writer, std::string_view type, std::string payload) {
    const auto place = catalogue.next_lane_seq(tx, lane);
    if (!place) return;
    domain::Event event;
    event.kind = "lane";
    event.stream = place->lane.value;
    event.seq = place->seq;
    event.organization_id = lane.organization_id;
    event.type = type;
    event.payload = std::move(payload);
    journal::EventStore().append(tx, {event}, writer);
}

domain::Event provider_event(std::string_view type, const std::array<std::uint8_t, 16>& stream, int seq,
                             const std::string& provider, const resource_manager::WeatherRecord& weather) {
    domain::Event event;
    event.kind = "provider";
    event.stream = stream;
    event.seq = seq;
    event.organization_id = domain::kDefaultOrganization;
    event.type = type;
    platform::JsonWriter json;
    json.open();
    json.field("provider", provider);
    if (weather.cooling_until) json.field("until", domain::rfc3339(*weather.cooling_until));
    if (weather.learnt) json.field("learnt", *weather.learnt);
    if (!weather.why.empty()) json.field("why", weather.why);
    if (!weather.by.empty()) json.field("by", weather.by);
    json.close();
    event.payload = std::move(json).text();
    return event;
}

void tell_lanes(platform::Tx& tx, const subworkflows::CatalogueStore& store, const subworkflows::Catalogue& catalogue,
                const subworkflows::PauseRecord& pause, const domain::NodeId& writer, std::string_view type) {
    platform::JsonWriter json;
    json.open();
    json.field("by", pause.by).field("reason", pause.reason).field("until", pause.until);
    if (!pause.provider.empty()) json.field("provider", pause.provider);
    if (!pause.condition.empty()) json.field("until_condition", pause.condition);
    json.close();
    for (const auto& [lane, known] : catalogue.types)
        if (pause.covers(known)) append_lane_event(tx, store, lane, writer, type, json.text());
}

std::string_view breaker_event(domain::BreakerState state) {
    switch (state) {
        case domain::BreakerState::open:
            return domain::event::breaker_opened;
        case domain::BreakerState::half_open:
            return domain::event::breaker_half_open;
        case domain::BreakerState::closed:
            break;
    }
    return domain::event::breaker_closed;
}

std::string breaker_payload(const subworkflows::Endpoint& endpoint) {
    const auto& breaker = endpoint.breaker;
    platform::JsonWriter json;
    json.open();
    json.field("endpoint_id", endpoint.id.text())
        .field("url", platform::shown_url(endpoint.url))
        .field("detail", breaker.detail)
        .field("openings", breaker.openings);
    if (breaker.until) json.field("until", domain::rfc3339(*breaker.until));
    if (!breaker.by.empty()) json.field("by", breaker.by);
    json.close();
    return std::move(json).text();
}

std::string endpoint_payload(const subworkflows::Endpoint& endpoint) {
    platform::JsonWriter json;
    json.open();
    json.field("endpoint_id", endpoint.id.text()).field("url", platform::shown_url(endpoint.url));
    if (endpoint.held_until)
        json.field("until", domain::rfc3339(*endpoint.held_until))
            .field("reason", endpoint.held_reason)
            .field("detail", endpoint.held_detail)
            .field("holds", endpoint.holds);
    json.close();
    return std::move(json).text();
}

}
