// Circuit breakers by hand.
#include "api/api.h"
#include "api/problem.h"
#include "api/request_reader.h"
#include "orchestrator/lane_events.h"
#include "platform/json_writer.h"
#include "subworkflows/workflow_type_json.h"

namespace impresario::api {

using platform::HttpResponse;
using platform::JsonWriter;
using platform::Task;
using platform::Tx;

/// Nothing goes to the endpoint until then, or until it is reset.
Task<HttpResponse> Api::trip_breaker(Call call) {
    domain::BreakerRecord breaker;
    breaker.state = domain::BreakerState::open;
    breaker.openings = 1;
    auto said = read_by_hand(call.request.body, 500, node_.clock().now());
    if (said.refused) co_return *std::move(said.refused);
    breaker.detail = std::move(said.reason);
    breaker.until = said.until;
    auto setting = set_breaker(std::move(call), std::move(breaker));
    co_return co_await std::move(setting);
}

/// The endpoint is asked again, as if nothing had been.
Task<HttpResponse> Api::reset_breaker(Call call) {
    domain::BreakerRecord breaker;
    auto said = read_by_hand(call.request.body, 500);
    if (said.refused) co_return *std::move(said.refused);
    breaker.detail = std::move(said.reason);
    auto setting = set_breaker(std::move(call), std::move(breaker));
    co_return co_await std::move(setting);
}

/// The row says so, the lane's stream who and why; the catalogue brings it to whoever leads.
Task<HttpResponse> Api::set_breaker(Call call, domain::BreakerRecord breaker) {
    const domain::Lane lane{call.caller.organization_id, call.path["name"]};
    const auto id = domain::EndpointId::parse(call.path["endpoint_id"]);
    if (!id) co_return problem(404, "not-found", "an endpoint's id is a UUID; GET the workflow type to see them");
    breaker.by = call.caller.name;
    auto asked_endpoint = node_.database().transact([this, lane, id = *id, breaker](Tx& tx) {
        const auto& catalogue = node_.catalogue_store();
        const auto set = catalogue.set_breaker(tx, lane, id, breaker);
        if (set)
            orchestrator::append_lane_event(tx, catalogue, lane, node_.id(),
                                            orchestrator::breaker_event(set->breaker.state),
                                            orchestrator::breaker_payload(*set));
        return set;
    });
    const auto endpoint = co_await std::move(asked_endpoint);
    if (!endpoint)
        co_return problem(
            404, "not-found",
            "there is no such workflow type, or it has no such endpoint; GET the workflow type to see its "
            "endpoints");
    co_await node_.refresh_catalogue();
    hub_.wake();
    JsonWriter json;
    json.open();
    json.field("endpoint_id", endpoint->id.text())
        .field("url", endpoint->url)
        .raw("breaker", subworkflows::breaker_json(endpoint->breaker));
    json.close();
    co_return json_response(200, std::move(json).text());
}

}
