#include "api/api.h"
#include "api/definition_warnings.h"
#include "api/lane_runs.h"
#include "api/problem.h"
#include "api/request_reader.h"
#include "platform/json_writer.h"
#include "subworkflows/workflow_type_json.h"

namespace impresario::api {

using platform::HttpResponse;
using platform::JsonWriter;
using platform::Task;
using platform::Tx;

Task<HttpResponse> Api::list_types(Call call) {
    auto asked_runs = node_.database().read(
        [organization_id = call.caller.organization_id](Tx& tx) { return lane_runs(tx, organization_id); });
    auto runs = co_await std::move(asked_runs);
    JsonWriter json;
    json.open();
    json.open("workflow_types", '[');
    const auto catalogue = node_.catalogue();
    for (const auto& [lane, type] : catalogue->types)
        if (lane.organization_id == call.caller.organization_id)
            json.element(subworkflows::workflow_type_json(type, runs[lane.workflow_type]));
    json.close(']');
    json.close();
    co_return json_response(200, std::move(json).text());
}

Task<HttpResponse> Api::get_type(Call call) {
    const domain::Lane lane{call.caller.organization_id, call.path["name"]};
    // Another node may have registered it a moment ago.
    if (const auto known = node_.catalogue(); !known->find(lane)) co_await node_.refresh_catalogue();
    const auto catalogue = node_.catalogue();
    const auto* type = catalogue->find(lane);
    if (!type) co_return problem(404, "not-found", "there is no such workflow type");
    auto asked_runs =
        node_.database().read([lane](Tx& tx) { return lane_runs(tx, lane.organization_id, lane.workflow_type); });
    auto runs = co_await std::move(asked_runs);
    co_return json_response(200, subworkflows::workflow_type_json(*type, runs[lane.workflow_type]));
}

Task<HttpResponse> Api::put_type(Call call) {
    const domain::Lane lane{call.caller.organization_id, call.path["name"]};
    co_await node_.refresh_catalogue();
    const auto catalogue = node_.catalogue();
    auto type = subworkflows::parse_workflow_type(call.request.body, lane, catalogue->find(lane));
    if (!type) co_return invalid(type.error());
    const auto shared = hub_.settings().memory_total_mb;
    if (type->memory_mb.value_or(0) > shared)
        co_return invalid({{"/memory_mb", "is more than all executions share, " + std::to_string(shared) +
                                              " MB; raise memory.total_mb of the configuration first"}});
    type->source = "api";
    auto asked_created =
        node_.database().transact([this, made = *type](Tx& tx) { return node_.catalogue_store().put(tx, made); });
    const bool created = co_await std::move(asked_created);
    co_await node_.refresh_catalogue();
    const auto stored = node_.catalogue();
    const auto* now = stored->find(lane);
    const auto& shown = now ? *now : *type;
    co_return json_response(created ? 201 : 200, with_warnings(subworkflows::workflow_type_json(shown),
                                                               warnings_of(shown, *node_.providers())));
}

Task<HttpResponse> Api::delete_type(Call call) {
    const domain::Lane lane{call.caller.organization_id, call.path["name"]};
    auto asked_deleted =
        node_.database().transact([this, lane](Tx& tx) { return node_.catalogue_store().remove(tx, lane); });
    const auto deleted = co_await std::move(asked_deleted);
    using Deleted = subworkflows::CatalogueStore::Deleted;
    if (deleted == Deleted::unknown) co_return problem(404, "not-found", "there is no such workflow type");
    if (deleted == Deleted::in_use)
        co_return problem(409, "in-use",
                          "executions of this type are waiting or running; cancel them first, or switch it off with "
                          "\"enabled\": false");
    co_await node_.refresh_catalogue();
    HttpResponse response;
    response.status = 204;
    co_return response;
}

/// A fresh signing secret, shown this once; the newest old one stays alive beside it until the next rotation.
Task<HttpResponse> Api::rotate_signing_secret(Call call) {
    const domain::Lane lane{call.caller.organization_id, call.path["name"]};
    co_await node_.refresh_catalogue();
    const auto catalogue = node_.catalogue();
    const auto* type = catalogue->find(lane);
    if (!type) co_return problem(404, "not-found", "there is no such workflow type");
    const auto fresh = platform::new_signing_secret();
    std::vector<domain::Secret> secrets{fresh};
    if (!type->secrets.signing.empty()) secrets.push_back(type->secrets.signing.front());
    auto rotating = node_.database().transact(
        [this, lane, secrets](Tx& tx) { node_.catalogue_store().set_signing(tx, lane, secrets); });
    co_await std::move(rotating);
    co_await node_.refresh_catalogue();
    JsonWriter json;
    json.open();
    json.field("signing_secret", fresh.reveal())
        .field("live_secrets", secrets.size())
        .field("detail", "shown once; triggers are signed with all live secrets");
    json.close();
    co_return json_response(200, std::move(json).text());
}

}
