// What an execution says while it runs: it appends by its callback token, and whoever looks after it reads.
#include "api/api.h"
#include "api/own_execution.h"
#include "api/problem.h"
#include "api/request_reader.h"
#include "domain/event.h"
#include "orchestrator/output_store.h"
#include "platform/json_text.h"
#include "platform/json_writer.h"

namespace impresario::api {

using domain::ExecutionId;
using orchestrator::OutputEntry;
using orchestrator::OutputReply;
using orchestrator::OutputStore;
using platform::HttpResponse;
using platform::JsonWriter;
using platform::Task;
using platform::Tx;

namespace {

/// Of one request.
constexpr std::size_t kMostEntries = 500;
constexpr std::size_t kLongestText = 32 * 1024;
constexpr std::size_t kLongestMeta = 8 * 1024;
/// Somebody else holds the execution: it is tried so often, and for so long.
constexpr std::chrono::milliseconds kHeldPause{20};
constexpr std::chrono::seconds kHeldPatience{4};

OutputEntry read_chunk(BodyReader& body) {
    OutputEntry entry{domain::event::output, body.text("event_id"), {}};
    const auto text = body.text("text", kLongestText);
    if (text.empty() && body.faults().empty()) body.wrong("text", "is missing: what there is to append");
    entry.members = "\"text\":" + platform::json_quoted(text);
    return entry;
}

OutputEntry read_line(BodyReader& body) {
    OutputEntry entry{domain::event::log, body.text("event_id"), {}};
    auto level = body.text("level", 20);
    if (level.empty()) level = "info";
    if (level != "debug" && level != "info" && level != "warn" && level != "error")
        body.wrong("level", "must be debug, info, warn or error");
    const auto message = body.text("message", kLongestText);
    if (message.empty() && body.faults().empty()) body.wrong("message", "is missing: what there is to say");
    entry.members = "\"level\":" + platform::json_quoted(level) + ",\"message\":" + platform::json_quoted(message);
    if (const auto meta = body.raw("meta"); meta && *meta != "null") {
        const auto storable = platform::storable_json(*meta);
        if (!meta->starts_with('{') || !storable) {
            body.wrong("meta", "must be an object");
        } else if (storable->text.size() > kLongestMeta) {
            body.wrong("meta", "must have at most " + std::to_string(kLongestMeta) + " bytes");
        } else {
            entry.members += ",\"meta\":" + storable->text;
        }
    }
    return entry;
}

/// One entry, or a list of them under `many`.
template <class Read>
std::vector<OutputEntry> read_entries(std::string_view text, const char* many, Read read,
                                      std::vector<FieldFault>& faults) {
    std::vector<OutputEntry> entries;
    BodyReader body(text);
    const auto list = body.raw(many);
    if (!list) {
        entries.push_back(read(body));
        body.nothing_else();
    } else {
        body.nothing_else();
        const auto elements = platform::json_elements(*list);
        if (elements.empty() || elements.size() > kMostEntries)
            body.wrong(many, "must be a list of 1 to " + std::to_string(kMostEntries));
        for (std::size_t i = 0; i < std::min(elements.size(), kMostEntries); ++i) {
            BodyReader each(elements[i], "/" + std::string(many) + "/" + std::to_string(i));
            entries.push_back(read(each));
            each.nothing_else();
            faults.insert(faults.end(), each.faults().begin(), each.faults().end());
        }
    }
    faults.insert(faults.begin(), body.faults().begin(), body.faults().end());
    return entries;
}

}

Task<HttpResponse> Api::append_output(Call call) {
    return append(std::move(call), [](std::string_view text, std::vector<FieldFault>& faults) {
        return read_entries(text, "chunks", read_chunk, faults);
    });
}

Task<HttpResponse> Api::append_logs(Call call) {
    return append(std::move(call), [](std::string_view text, std::vector<FieldFault>& faults) {
        return read_entries(text, "lines", read_line, faults);
    });
}

Task<HttpResponse> Api::append(Call call, ReadEntries read) {
    const auto id = ExecutionId::parse(call.path["id"]);
    const auto attempt = attempt_of(call);
    if (!attempt) co_return wrong_token();
    if (auto refused = BodyReader::refuse_body(call.request.body)) co_return *std::move(refused);
    std::vector<FieldFault> faults;
    const auto entries = read(call.request.body, faults);
    if (!faults.empty()) co_return invalid(faults);
    // Its own heartbeats and answers hold it for moments.
    std::optional<OutputReply> written;
    const auto give_up = std::chrono::steady_clock::now() + kHeldPatience;
    while (!written) {
        try {
            auto writing =
                node_.database().transact([execution = *id, attempt = *attempt, entries, node = node_.id()](Tx& tx) {
                    return OutputStore().append(tx, execution, attempt, entries, node);
                });
            written = co_await std::move(writing);
        } catch (const platform::StatementRefused& refused) {
            if (!refused.later() || std::chrono::steady_clock::now() > give_up) throw;
        }
        if (!written) co_await platform::pause_for(kHeldPause);
    }
    const auto& reply = *written;
    if (reply.outcome == OutputReply::Outcome::closed)
        co_return problem(409, "attempt-closed",
                          "this attempt does not run any more: what it has to say comes before its last callback");
    if (reply.outcome == OutputReply::Outcome::full)
        co_return problem(422, "too-much-output",
                          "an execution says at most " + std::to_string(orchestrator::kMostOutput) +
                              " chunks and lines; nothing of this was written");
    JsonWriter json;
    json.open();
    json.field("written", reply.written).field("known", reply.known);
    json.close();
    co_return json_response(200, std::move(json).text());
}

Task<HttpResponse> Api::read_output(Call call) { return read_said(std::move(call), domain::event::output, "chunks"); }

Task<HttpResponse> Api::read_logs(Call call) { return read_said(std::move(call), domain::event::log, "lines"); }

Task<HttpResponse> Api::read_said(Call call, std::string_view type, const char* many) {
    const auto id = ExecutionId::parse(call.path["id"]);
    std::vector<FieldFault> faults;
    const int limit = page_limit(call.request, 200, 1000, faults);
    const int after = after_seq(call.request, faults);
    if (!faults.empty()) co_return invalid(faults);
    if (!id) co_return no_such_execution();
    auto reading = node_.database().read(
        [execution = *id, organization = call.caller.organization_id, type = std::string(type), after, limit](Tx& tx) {
            return of_execution(tx, execution, organization,
                                [&](Tx& t) { return OutputStore().read(t, execution, type, after, limit + 1); });
        });
    auto events = co_await std::move(reading);
    if (!events) co_return no_such_execution();
    const bool more = events->size() > static_cast<std::size_t>(limit);
    if (more) events->pop_back();
    JsonWriter json;
    json.open();
    json.open(many, '[');
    for (const auto& event : *events) {
        json.open();
        json.field("seq", event.seq).field("at", event.at);
        for (const auto& member : platform::json_members(event.payload)) json.raw(member.key, member.value);
        json.close();
    }
    json.close(']');
    json.field("more", more);
    json.close();
    co_return json_response(200, std::move(json).text());
}

}
