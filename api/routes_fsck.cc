// Whether the tables keep what is promised.
#include "api/api.h"
#include "api/problem.h"
#include "api/request_reader.h"
#include "api/turn.h"
#include "orchestrator/fsck.h"
#include "platform/json_text.h"
#include "platform/json_writer.h"

namespace impresario::api {

using orchestrator::Check;
using orchestrator::Checked;
using orchestrator::Fsck;
using platform::HttpResponse;
using platform::JsonWriter;
using platform::Task;
using platform::Tx;

namespace {

struct FsckRequest {
    bool repair = false;
    std::vector<Check> checks;
    std::vector<FieldFault> faults;
};

FsckRequest read_fsck(std::string_view text) {
    FsckRequest request;
    request.checks = Fsck::checks();
    if (text.empty()) return request;
    BodyReader body(text);
    if (const auto repair = body.raw("repair")) {
        request.repair = *repair == "true";
        if (*repair != "true" && *repair != "false") body.wrong("repair", "must be true or false");
    }
    if (const auto checks = body.raw("checks")) {
        request.checks.clear();
        if (platform::json_type(*checks) == platform::JsonType::array)
            for (const auto element : platform::json_elements(*checks))
                if (const auto* check = Fsck::find(platform::json_string(element))) request.checks.push_back(*check);
        if (request.checks.empty() || request.checks.size() != platform::json_elements(*checks).size())
            body.wrong("checks", "must be names of checks; GET /v1/fsck lists them");
    }
    body.nothing_else();
    request.faults = body.faults();
    return request;
}

void write_check(JsonWriter& json, const Check& check) {
    json.field("name", check.name).field("promise", check.promise).field("says", check.says);
}

void write_checked(JsonWriter& json, const Check& check, const Checked& checked) {
    json.open();
    write_check(json, check);
    json.field("found", checked.found).field("repaired", checked.repaired);
    json.open("held", '[');
    for (const auto& lane : checked.held) {
        json.open();
        json.field("organization_id", lane.organization_id).field("workflow_type", lane.workflow_type);
        json.close();
    }
    json.close(']');
    json.open("findings", '[');
    for (const auto& finding : checked.findings) {
        json.open();
        json.field_or_null("organization_id", finding.lane.organization_id);
        json.field_or_null("workflow_type", finding.lane.workflow_type);
        json.field("subject", finding.subject).field("what", finding.what).field("repairable", finding.repairable);
        json.field_or_null("done", finding.done);
        json.close();
    }
    json.close(']');
    json.close();
}

HttpResponse for_default_only() {
    return problem(403, "forbidden",
                   "fsck looks at every organization: it is asked for with an admin key of the organization default");
}

}

Task<HttpResponse> Api::list_checks(Call call) {
    if (!call.caller.looks_after_all()) co_return for_default_only();
    JsonWriter json;
    json.open();
    json.open("checks", '[');
    for (const auto& check : Fsck::checks()) {
        json.open();
        write_check(json, check);
        json.close();
    }
    json.close(']');
    json.close();
    co_return json_response(200, std::move(json).text());
}

Task<HttpResponse> Api::fsck(Call call) {
    if (!call.caller.looks_after_all()) co_return for_default_only();
    if (!call.request.body.empty())
        if (auto refused = BodyReader::refuse_body(call.request.body)) co_return *std::move(refused);
    const auto request = read_fsck(call.request.body);
    if (!request.faults.empty()) co_return invalid(request.faults);
    if (fsck_under_way_) co_return problem(409, "under-way", "this node is at an fsck already; wait for its end");
    const Turn turn(fsck_under_way_);

    // Not of the pool's connections: its statements are planned for whole tables and may take minutes.
    const auto executor = co_await platform::asio::this_coro::executor;
    platform::Database database(executor, settings_.fsck, nullptr);
    JsonWriter json;
    json.open();
    json.field("repair", request.repair);
    json.open("checks", '[');
    std::int64_t found = 0;
    std::int64_t repaired = 0;
    std::size_t held = 0;
    for (const auto& check : request.checks) {
        auto checking = database.transact(
            [this, check, repair = request.repair, catalogue = node_.catalogue(), by = call.caller.name](Tx& tx) {
                if (repair) return Fsck().mend(tx, check, {node_.catalogue_store(), *catalogue, node_.id(), by});
                tx.run("set transaction read only");
                return Fsck().look(tx, check);
            });
        const auto checked = co_await std::move(checking);
        write_checked(json, check, checked);
        found += checked.found;
        repaired += checked.repaired;
        held += checked.held.size();
        if (checked.held.empty()) continue;
        co_await node_.refresh_catalogue();
        hub_.wake();
    }
    json.close(']');
    json.field("found", found).field("repaired", repaired).field("held", held);
    json.close();
    co_return json_response(200, std::move(json).text());
}

}
