#include "api/api.h"
#include "api/problem.h"
#include "api/request_reader.h"
#include "platform/json_writer.h"

namespace impresario::api {

using domain::ExecutionId;
using platform::HttpResponse;
using platform::JsonWriter;
using platform::Task;
using platform::Tx;

namespace {

std::string letter_json(const priority_queue::DeadLetterRow& row, bool whole) {
    JsonWriter json;
    json.open();
    json.field("execution_id", row.letter.execution.text())
        .field("opening", row.letter.opening)
        .field("workflow_type", row.letter.lane.workflow_type);
    json.field("reason", row.letter.reason)
        .field("error", row.letter.error)
        .field("fingerprint", row.letter.fingerprint)
        .field("attempts", row.letter.attempts);
    json.raw("node", row.letter.node ? "\"" + row.letter.node->text() + "\"" : "null");
    json.field("at", domain::rfc3339(row.at));
    json.field_or_null("resolution", row.resolution);
    if (row.resolved_at)
        json.field("resolved_at", domain::rfc3339(*row.resolved_at)).field("resolved_by", row.resolved_by);
    if (whole) json.raw("input", row.input).raw("original_input", row.original_input);
    json.close();
    return std::move(json).text();
}

}

Task<HttpResponse> Api::list_dead_letters(Call call) {
    std::vector<FieldFault> faults;
    const auto& request = call.request;
    priority_queue::DeadLetterFilter filter;
    filter.organization_id = call.caller.organization_id;
    filter.workflow_type = request.parameter("workflow_type").value_or("");
    filter.reason = request.parameter("reason").value_or("");
    filter.fingerprint = request.parameter("fingerprint").value_or("");
    filter.since = time_parameter(request, "since", faults);
    filter.resolved = request.parameter("resolved").value_or("false") == "true";
    filter.most = page_limit(request, 50, 500, faults) + 1;
    if (const auto text = request.parameter("cursor"); text && !text->empty()) {
        const auto cursor = parse_cursor(*text);
        filter.before_id = cursor ? ExecutionId::parse(cursor->id) : std::nullopt;
        if (cursor) filter.before_at = cursor->at;
        if (!filter.before_id) faults.push_back({"cursor", "is not a cursor of this list"});
    }
    if (!faults.empty()) co_return invalid(faults);
    auto asked_rows =
        node_.database().read([filter](Tx& tx) { return priority_queue::DeadLetterStore().list(tx, filter); });
    const auto rows = co_await std::move(asked_rows);
    JsonWriter json;
    json.open();
    json.open("dead_letters", '[');
    const std::size_t shown = std::min(rows.size(), static_cast<std::size_t>(filter.most - 1));
    for (std::size_t i = 0; i < shown; ++i) json.element(letter_json(rows[i], false));
    json.close(']');
    if (rows.size() > shown) {
        json.field("next_cursor", cursor_text({rows[shown - 1].at, rows[shown - 1].letter.execution.text()}));
    } else {
        json.raw("next_cursor", "null");
    }
    json.close();
    co_return json_response(200, std::move(json).text());
}

Task<HttpResponse> Api::get_dead_letter(Call call) {
    const auto id = ExecutionId::parse(call.path["id"]);
    if (!id) co_return problem(404, "not-found", "there is no such dead letter");
    auto asked_row = node_.database().read([wanted = *id, organization = call.caller.organization_id](Tx& tx) {
        return priority_queue::DeadLetterStore().find(tx, organization, wanted);
    });
    const auto row = co_await std::move(asked_row);
    if (!row) co_return problem(404, "not-found", "there is no such dead letter");
    co_return json_response(200, letter_json(*row, true));
}

Task<HttpResponse> Api::retry_dead_letter(Call call) { return retry_execution(std::move(call)); }

Task<HttpResponse> Api::discard_dead_letter(Call call) {
    const auto id = ExecutionId::parse(call.path["id"]);
    if (!id) co_return problem(404, "not-found", "there is no such dead letter");
    auto asked_reply = node_.submit(*id, orchestrator::Discard{call.caller.name}, call.caller.organization_id);
    const auto reply = co_await std::move(asked_reply);
    co_return respond(reply);
}

/// By filter, or since a time; at most 1,000 at once, and says whether there are more.
Task<HttpResponse> Api::retry_dead_letters(Call call) {
    if (auto refused = BodyReader::refuse_body(call.request.body)) co_return *std::move(refused);
    BodyReader body(call.request.body);
    priority_queue::DeadLetterFilter filter;
    filter.organization_id = call.caller.organization_id;
    filter.workflow_type = body.text("workflow_type");
    filter.reason = body.text("reason");
    filter.fingerprint = body.text("fingerprint");
    filter.since = body.time("since");
    filter.most = 1001;
    body.nothing_else();
    if (body.faults().empty() && filter.workflow_type.empty() && filter.reason.empty() && filter.fingerprint.empty() &&
        !filter.since)
        body.faults().push_back({"", "must name workflow_type, reason, fingerprint or since"});
    if (!body.faults().empty()) co_return invalid(body.faults());
    auto asked_rows =
        node_.database().read([filter](Tx& tx) { return priority_queue::DeadLetterStore().list(tx, filter); });
    const auto rows = co_await std::move(asked_rows);
    std::size_t retried = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(rows.size(), 1000); ++i) {
        auto asked_reply = node_.submit(rows[i].letter.execution, orchestrator::Reopen{std::nullopt, call.caller.name},
                                        call.caller.organization_id);
        const auto reply = co_await std::move(asked_reply);
        if (reply.answer.problem.empty()) ++retried;
    }
    JsonWriter json;
    json.open();
    json.field("ok", true).field("retried", retried).field("more", rows.size() > 1000);
    json.close();
    co_return json_response(200, std::move(json).text());
}

}
