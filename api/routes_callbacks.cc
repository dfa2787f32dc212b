#include "api/api.h"
#include "api/problem.h"
#include "platform/callback_json.h"
#include "platform/json_text.h"
#include "webhooks/callback_token.h"

namespace impresario::api {

using platform::HttpResponse;
using platform::Task;

std::optional<domain::AttemptId> Api::attempt_of(const Call& call) const {
    const auto id = domain::ExecutionId::parse(call.path.at("id"));
    return id ? webhooks::verify_callback_token(node_.keys(), *id, call.request.bearer()) : std::nullopt;
}

HttpResponse Api::wrong_token() {
    return problem(401, "unauthorized",
                   "unknown execution or wrong token; send the trigger's authentication.token as bearer");
}

/// The answer of a sub-workflow. A wrong token never reaches the database, and does not learn whether the execution
/// exists. 2xx only after the commit.
Task<HttpResponse> Api::callback(Call call) {
    const auto begun = std::chrono::steady_clock::now();
    const auto begun_at = node_.clock().now();
    const auto id = domain::ExecutionId::parse(call.path["id"]);
    const auto attempt = attempt_of(call);
    std::optional<domain::TimePoint> settled_from;
    const auto done = [&](std::string_view status, HttpResponse response) {
        // Of whoever has no token there is no trace.
        if (auto* tracer = node_.tracer(); tracer && attempt)
            tracer->called_back(
                *id, *attempt, status, response.status, begun_at, settled_from,
                platform::parse_trace_context(call.request.header("traceparent"), call.request.header("tracestate")));
        node_.probe().callback(status, response.status,
                               std::chrono::duration_cast<domain::Duration>(std::chrono::steady_clock::now() - begun));
        return response;
    };
    if (!attempt) co_return done("unauthorized", wrong_token());

    auto callback = platform::parse_callback(call.request.body);
    if (!callback) {
        const auto& fault = callback.error();
        if (fault.status == 400)
            co_return done("invalid", problem(400, "invalid-json", "the body is not JSON: " + fault.what,
                                              {{fault.pointer, fault.what}}));
        co_return done("invalid", problem(422, "invalid-callback",
                                          (fault.pointer.empty() ? "the body" : fault.pointer) + " " + fault.what,
                                          {{fault.pointer, fault.what}}));
    }
    if (callback->execution_id && *callback->execution_id != *id)
        co_return done("invalid",
                       problem(422, "invalid-callback", "/execution_id is not the execution that the address names",
                               {{"/execution_id", "is not the execution that the address names"}}));

    const std::string status(name(callback->status));
    orchestrator::CallbackReceived received;
    received.attempt = *attempt;
    received.sha256 = std::string(platform::view(platform::sha256(call.request.body)));
    auto storable = platform::storable_json(call.request.body);
    received.body = storable ? std::move(storable->text) : std::string{};
    received.callback = *std::move(callback);
    settled_from = node_.clock().now();
    const auto reply = co_await node_.submit(*id, std::move(received));
    co_return done(status, respond(reply));
}

}
