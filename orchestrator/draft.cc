#include "orchestrator/draft.h"

namespace impresario::orchestrator {

using domain::Execution;
using domain::Status;
using platform::JsonWriter;

namespace event = domain::event;

std::string ok_body(const Execution& row) {
    JsonWriter json;
    json.open();
    json.field("ok", true).field("execution_id", row.id.text()).field("status", name(row.status));
    json.close();
    return std::move(json).text();
}

void apply_recovery(Draft& draft, const Failure& failure, const std::string& reason, const std::string& error,
                    const std::string& error_data, std::optional<domain::NodeId> node, bool redelivery) {
    Execution& row = draft.row();
    static const domain::RetryPolicy none;
    const auto& policy = draft.at().type ? draft.at().type->retry : none;
    const auto recovery = recover(failure, policy, row.retry_count, row.max_retries, draft.now(), draft.at().unit);
    row.timeout_at.reset();
    if (const auto* again = std::get_if<TryAgain>(&recovery)) {
        if (row.status != Status::retrying && !draft.move(Status::retrying)) return;
        if (failure.cause != FailureCause::throttled) ++row.retry_count;
        row.reason = reason;
        row.ready = false;
        row.ready_at.reset();
        row.due_at = again->at;
        JsonWriter json = Draft::payload();
        json.field("reason", reason)
            .field("failures", row.retry_count)
            .field("max_retries", row.max_retries)
            .field("retry_at", domain::rfc3339(again->at))
            .field("redelivery", redelivery);
        if (!error.empty()) json.field("error", error);
        add_consumption(json, draft.decision().consumed);
        draft.tell(event::retrying, std::move(json));
        return;
    }
    const auto& end = std::get<GiveUp>(recovery);
    ++row.retry_count;
    if (row.attempt) draft.close_attempt("exhausted", error);
    if (!draft.move(end.status)) return;
    draft.end(end.reason);
    priority_queue::ResultRecord result;
    result.execution = row.id;
    result.opening = row.opening;
    result.error_data = error_data;
    if (result.error_data.empty()) {
        JsonWriter json;
        json.open();
        json.field("message", error).field("reason", end.reason);
        json.close();
        result.error_data = std::move(json).text();
    }
    draft.decision().result = std::move(result);
    JsonWriter json = Draft::payload();
    json.field("reason", end.reason).field("attempt", row.attempts).field("failures", row.retry_count);
    if (!error.empty()) json.field("error", error);
    if (row.duration_ms) json.field("duration_ms", *row.duration_ms);
    add_consumption(json, draft.decision().consumed);
    draft.tell(end.status == Status::dead ? event::dead : event::failed, std::move(json));
    if (end.status == Status::dead) draft.dead_letter(error, node);
}

}
