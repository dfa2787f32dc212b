#include "orchestrator/decide_delivery.h"

#include "orchestrator/decide_callback.h"
#include "platform/callback_json.h"
#include "platform/crypto.h"

namespace impresario::orchestrator {

using domain::AttemptState;
using domain::Execution;
using domain::Status;
using domain::TimePoint;
using platform::JsonWriter;

namespace event = domain::event;

namespace {

constexpr std::string_view kUnknownReason = "unknown";

void wait_in_queue(Draft& draft, const std::string& detail, TimePoint until) {
    // The peer has not taken it and no try is counted: the same attempt goes again when the endpoint's gate opens.
    Execution& row = draft.row();
    release_money(draft);
    row.attempt->state = AttemptState::waiting_redelivery;
    row.timeout_at.reset();
    row.reason = "endpoint";
    if (row.status == Status::running) {
        if (!draft.move(Status::retrying)) return;
        row.due_at = until;
        row.ready = false;
    } else {
        if (!draft.move(Status::queued)) return;
        row.ready = true;
        if (!row.ready_at) row.ready_at = draft.now();
    }
    JsonWriter json = Draft::payload();
    json.field("gate", "endpoint")
        .field("detail", detail)
        .field("until", domain::rfc3339(until))
        .field("attempt", row.attempts);
    draft.tell(event::deferred, std::move(json));
}

}

void unknown_outcome(Draft& draft, const std::string& reason, bool deduplicates) {
    Execution& row = draft.row();
    if (deduplicates && row.retry_count < row.max_retries) {
        // The same webhook-id again can do no harm; the first time at once.
        const auto node = row.attempt->node;
        const bool first = row.attempt->deliveries <= 1;
        release_money(draft);
        row.attempt->state = AttemptState::waiting_redelivery;
        apply_recovery(draft, {FailureCause::delivery, std::nullopt, true}, "unknown", reason, {}, node, true);
        if (first && row.status == Status::retrying) row.due_at = draft.now();
        return;
    }
    if (row.status == Status::dispatching && !draft.move(Status::running)) return;
    suspend_money(draft);
    row.attempt->state = AttemptState::unknown;
    row.reason = kUnknownReason;
    JsonWriter json = Draft::payload();
    json.field("reason", reason).field("attempt", row.attempts);
    if (row.timeout_at) json.field("waiting_until", domain::rfc3339(*row.timeout_at));
    draft.tell(event::unknown, std::move(json));
}

namespace {
/// A 4xx that its type wants tried again: the peer has looked at it.
bool refused(const DeliveryReported& report) {
    const int status = report.record.status.value_or(0);
    return status >= 400 && status <= 499 && status != 408 && status != 425;
}
}

EndpointNews news_of(const DeliveryReported& report, bool taken) {
    using Kind = EndpointNews::Kind;
    EndpointNews news;
    news.endpoint = report.endpoint;
    news.kind = Kind::trouble;
    news.detail = webhooks::reason(report.outcome);
    news.began = report.record.at;
    if (const auto* accepted = std::get_if<webhooks::Accepted>(&report.outcome)) {
        news.kind = Kind::accepted;
        news.learnt_deduplicates = accepted->deduplicates;
    } else if (const auto* done = std::get_if<webhooks::Done>(&report.outcome)) {
        news.kind = Kind::accepted;
        news.learnt_deduplicates = done->deduplicates;
    } else if (taken) {
        news.kind = Kind::strained;
    } else if (std::holds_alternative<webhooks::Rejected>(report.outcome)) {
        news.kind = Kind::accepted;
        news.detail.clear();
    } else if (const auto* overload = std::get_if<webhooks::Overload>(&report.outcome)) {
        news.kind = Kind::overload;
        news.retry_after = overload->retry_after;
    } else if (std::holds_alternative<webhooks::EndpointFault>(report.outcome)) {
        news.kind = Kind::fault;
    } else if (refused(report)) {
        news.kind = Kind::strained;
    }
    return news;
}

std::optional<CallbackReceived> result_in(const webhooks::Done& done, const DeliveryReported& report,
                                          const domain::ExecutionId& execution,
                                          const subworkflows::WorkflowType* type) {
    auto callback = platform::parse_callback(done.callback);
    if (!callback || (callback->execution_id && *callback->execution_id != execution)) return std::nullopt;
    CallbackReceived received{report.attempt, *std::move(callback),
                              std::string(platform::view(platform::sha256(done.callback))), done.callback};
    auto clean = without_secrets(received, type);
    return clean ? *std::move(clean) : std::move(received);
}

void live_delivery(Draft& draft, const DeliveryReported& report) {
    Execution& row = draft.row();
    auto& attempt = *row.attempt;
    const bool taken_already = attempt.state == AttemptState::accepted;
    const auto accept = [&] {
        if (taken_already) return;
        attempt.state = AttemptState::accepted;
        attempt.accepted_at = draft.now();
        row.reason.clear();
        if (row.status == Status::dispatching && !draft.move(Status::running)) return;
        JsonWriter json = Draft::payload();
        json.field("attempt", row.attempts)
            .field("delivery", attempt.deliveries)
            .field("duration_ms", report.record.duration.count() / 1000);
        if (report.record.status) json.field("status", *report.record.status);
        draft.tell(event::accepted, std::move(json));
    };
    const auto node = attempt.node;

    std::visit(
        [&](const auto& outcome) {
            using T = std::decay_t<decltype(outcome)>;
            if constexpr (std::is_same_v<T, webhooks::Accepted>) {
                accept();
            } else if constexpr (std::is_same_v<T, webhooks::Done>) {
                const auto received = result_in(outcome, report, row.id, draft.at().type);
                if (!received) return accept();
                live_callback(draft, *received);
            } else if (taken_already) {
                return;
            } else if constexpr (std::is_same_v<T, webhooks::Transient>) {
                release_money(draft);
                attempt.state = AttemptState::waiting_redelivery;
                apply_recovery(draft, {FailureCause::delivery, outcome.retry_after, true}, "delivery_failed",
                               outcome.reason, {}, node, true);
            } else if constexpr (std::is_same_v<T, webhooks::Overload>) {
                wait_in_queue(draft, outcome.reason, draft.now() + outcome.retry_after);
            } else if constexpr (std::is_same_v<T, webhooks::EndpointFault>) {
                wait_in_queue(draft, outcome.reason, draft.now() + std::chrono::seconds{5});
            } else if constexpr (std::is_same_v<T, webhooks::Rejected>) {
                if (row.status == Status::retrying && !draft.move(Status::dispatching)) return;
                draft.close_attempt("rejected", outcome.reason);
                if (!draft.move(Status::dead)) return;
                draft.end("rejected_by_peer");
                priority_queue::ResultRecord result;
                result.execution = row.id;
                result.opening = row.opening;
                JsonWriter error;
                error.open();
                error.field("message", outcome.reason).field("answer", report.record.answer);
                error.close();
                result.error_data = std::move(error).text();
                draft.decision().result = std::move(result);
                JsonWriter json = Draft::payload();
                json.field("reason", row.reason).field("error", outcome.reason).field("attempt", row.attempts);
                draft.tell(event::dead, std::move(json));
                draft.dead_letter(outcome.reason, node);
            } else if constexpr (std::is_same_v<T, webhooks::Unknown>) {
                unknown_outcome(draft, outcome.reason, report.deduplicates);
            }
        },
        report.outcome);
}

}
