#include "orchestrator/decide_callback.h"

#include <algorithm>

#include "platform/json_text.h"
#include "platform/redact.h"

namespace impresario::orchestrator {

using domain::AttemptState;
using domain::CallbackStatus;
using domain::Duration;
using domain::Execution;
using domain::Status;
using platform::JsonWriter;

namespace event = domain::event;

namespace {

/// Refusals beyond this many events of one execution are still kept as evidence, but no longer told.
constexpr int kMostRefusalEvents = 1000;

/// Attempts of one execution that its provider refused and that are not counted as tries.
constexpr int kMostThrottled = 100;
constexpr Duration kLeastPatience = std::chrono::seconds{1};

/// Books what the attempt has cost and used, and returns its cost. `so_far`: what it had said before; it stands where
/// this callback says nothing. `booked`: what of it is in the execution's cost already.
std::optional<domain::MicroUsd> book_usage(Draft& draft, const domain::Callback& callback,
                                           const domain::AttemptId& attempt, std::optional<domain::MicroUsd> so_far,
                                           domain::MicroUsd booked = {}) {
    Execution& row = draft.row();
    auto& usage = draft.decision().usage;
    const std::string prefix = attempt.text() + "/";
    if (callback.database_queries.value_or(0) > 0)
        usage.push_back({row.id, "database_query", "", *callback.database_queries, std::nullopt, prefix + "database"});
    // Where the sub-workflow has not measured it, what was reserved for it.
    auto memory = callback.memory_mb;
    if (!memory && draft.at().type) memory = draft.at().type->memory_mb;
    if (memory.value_or(0) > 0) usage.push_back({row.id, "memory_usage", "", *memory, std::nullopt, prefix + "memory"});
    const auto told = cost_in(callback);
    const auto cost = told ? told : so_far;
    std::optional<domain::MicroUsd> more;
    if (cost && (cost->value > booked.value || booked.value == 0)) {
        more = domain::MicroUsd{cost->value - booked.value};
        row.cost = row.cost.value_or(domain::MicroUsd{}) + *more;
    }
    if (callback.usage.empty()) {
        if (callback.api_calls.value_or(0) > 0 || more.value_or(domain::MicroUsd{}).value > 0)
            usage.push_back({row.id, "api_call", "", callback.api_calls.value_or(0), more, prefix + "0"});
        return cost;
    }
    // Of what is booked already, from heartbeats before a deadline, each provider's share is not known: the first ones
    // bear it.
    domain::MicroUsd bears = booked;
    bool priced = false;
    int index = 0;
    for (const auto& each : callback.usage) {
        auto price = each.cost;
        if (price) {
            priced = true;
            const domain::MicroUsd off{std::min(price->value, bears.value)};
            bears.value -= off.value;
            price->value -= off.value;
        }
        usage.push_back({row.id, "api_call", each.provider, each.api_calls, price, prefix + std::to_string(index++)});
        if (each.tokens > 0)
            usage.push_back(
                {row.id, "tokens", each.provider, each.tokens, std::nullopt, prefix + std::to_string(index++)});
    }
    if (!priced && more.value_or(domain::MicroUsd{}).value > 0)
        usage.push_back({row.id, "api_call", "", 0, more, prefix + std::to_string(index)});
    return cost;
}

priority_queue::ResultRecord result_of(const Execution& row, const domain::Callback& callback) {
    priority_queue::ResultRecord result;
    result.execution = row.id;
    result.opening = row.opening;
    result.result_data = callback.result_data;
    result.error_data = callback.error_data;
    if (!callback.items.empty()) {
        JsonWriter json;
        json.open('[');
        for (const auto& item : callback.items) json.element(item.json);
        json.close(']');
        result.items = std::move(json).text();
    }
    result.sanitised = callback.sanitised;
    result.peer_reference = callback.peer_reference;
    return result;
}

std::vector<domain::Secret> secrets_of(const subworkflows::WorkflowType* type) {
    return type ? type->every_secret() : std::vector<domain::Secret>{};
}

void refuse_callback(Draft& draft, const domain::AttemptId& attempt, const std::string& sha256, const std::string& body,
                     CallbackStatus status, std::string problem, std::string detail) {
    webhooks::RefusedCallback refused;
    refused.execution = draft.row().id;
    refused.attempt = attempt;
    refused.sha256 = sha256;
    refused.status = name(status);
    refused.problem = problem;
    refused.body = platform::redacted(body, secrets_of(draft.at().type));
    draft.decision().refused.push_back(std::move(refused));
    if (draft.row().last_seq < kMostRefusalEvents) {
        JsonWriter json = Draft::payload();
        json.field("callback", name(status)).field("problem", problem).field("attempt_id", attempt.text());
        draft.tell(event::refused, std::move(json));
    }
    draft.refuse(409, std::move(problem), std::move(detail));
}

/// The callback has been taken: what it is answered now and whenever it comes again.
void answer_callback(Draft& draft, const domain::Callback& callback, webhooks::ClosedAttempt* closed) {
    const Execution& row = draft.row();
    JsonWriter json;
    json.open();
    json.field("ok", true).field("execution_id", row.id.text()).field("status", name(row.status));
    if (row.status == Status::retrying && row.due_at) json.field("retry_at", domain::rfc3339(*row.due_at));
    if (row.timeout_at) json.field("timeout_at", domain::rfc3339(*row.timeout_at));
    if (callback.sanitised) json.field("sanitised", true);
    if (callback.cost_rounded) json.field("cost_rounded_up", true);
    json.close();
    draft.decision().answer.body = std::move(json).text();
    if (closed) closed->callback_answer = draft.decision().answer.body;
}

void heartbeat(Draft& draft, const CallbackReceived& received) {
    Execution& row = draft.row();
    if (!draft.bring_to_dispatch()) return;
    if (row.status == Status::dispatching && !draft.move(Status::running)) return;
    auto& attempt = *row.attempt;
    if (attempt.state != AttemptState::accepted) {
        attempt.state = AttemptState::accepted;
        attempt.accepted_at = draft.now();
    }
    row.ready = false;
    row.due_at.reset();
    row.gate.reset();
    row.gate_since.reset();
    row.reason.clear();
    const Duration timeout = draft.at().type ? draft.at().type->timeout : Duration{std::chrono::seconds{300}};
    const Duration most = draft.at().type ? draft.at().type->max_runtime : Duration{std::chrono::hours{1}};
    row.timeout_at = std::min(draft.now() + timeout, attempt.granted_at + most);
    row.progress = received.callback.progress;
    JsonWriter json = Draft::payload();
    json.raw("progress", received.callback.progress)
        .field("attempt", row.attempts)
        .field("timeout_at", domain::rfc3339(*row.timeout_at));
    // Cumulative, so it never falls: a heartbeat that was overtaken by the next changes nothing.
    if (const auto cost = cost_in(received.callback); cost && (!attempt.cost || attempt.cost->value < cost->value)) {
        attempt.cost = cost;
        top_up_money(draft, *cost, received.callback);
    }
    charge_usage(draft, attempt.id, attempt.reserved, attempt.cost, received.callback);
    if (attempt.cost) json.field("cost_usd", domain::decimal(*attempt.cost));
    draft.tell(event::progress, std::move(json));
    answer_callback(draft, received.callback, nullptr);
}

void complete(Draft& draft, const domain::Callback& callback) {
    Execution& row = draft.row();
    if (!draft.move(Status::completed)) return;
    if (callback.duration_ms) row.duration_ms = callback.duration_ms;
    if (callback.items_processed) row.items_processed = callback.items_processed;
    draft.end("");
    draft.decision().result = result_of(row, callback);
    JsonWriter json = Draft::payload();
    json.field("attempt", row.attempts);
    if (row.duration_ms) json.field("duration_ms", *row.duration_ms);
    if (row.items_processed) json.field("items_processed", *row.items_processed);
    if (row.cost) json.field("cost_usd", domain::decimal(*row.cost));
    add_consumption(json, draft.decision().consumed);
    draft.tell(event::completed, std::move(json));
}

void partial(Draft& draft, const CallbackReceived& received) {
    Execution& row = draft.row();
    const auto& callback = received.callback;
    if (callback.items_processed) row.items_processed = callback.items_processed;
    std::size_t failed = 0;
    JsonWriter keys;
    keys.open('[');
    for (const auto& item : callback.items)
        if (item.failed) {
            ++failed;
            keys.element(platform::json_quoted(item.key));
        }
    keys.close(']');

    const int remaining = row.max_retries - row.retry_count;
    if (remaining <= 0) {
        if (!draft.move(Status::dead)) return;
        draft.end("attempts_exhausted");
        auto result = result_of(row, callback);
        const std::string error = std::to_string(failed) + " of " + std::to_string(callback.items.size()) +
                                  " items failed and no retries are left";
        if (result.error_data.empty()) {
            JsonWriter json;
            json.open();
            json.field("message", error);
            json.close();
            result.error_data = std::move(json).text();
        }
        draft.decision().result = std::move(result);
        JsonWriter json = Draft::payload();
        json.field("reason", row.reason).field("error", error).field("attempt", row.attempts);
        add_consumption(json, draft.decision().consumed);
        draft.tell(event::dead, std::move(json));
        draft.dead_letter(error, std::nullopt);
        return;
    }
    if (row.status == Status::dispatching && !draft.move(Status::running)) return;
    row.open_children = 1;
    row.progress = callback.progress;
    static const domain::RetryPolicy none;
    const auto& policy = draft.at().type ? draft.at().type->retry : none;
    const auto wait = domain::retry_wait(policy, row.retry_count + 1, draft.at().unit);

    ChildWanted child;
    Execution& e = child.execution;
    e.lane = row.lane;
    e.status = Status::queued;
    e.priority = row.priority;
    e.created_at = draft.now();
    e.scheduled_at = domain::saturating_add(draft.now(), wait);
    e.due_at = e.scheduled_at;
    e.max_retries = remaining - 1;
    e.parent = row.id;
    e.parent_attempt = received.attempt;
    e.batch = row.batch;
    e.concurrency_key = row.concurrency_key;
    e.size_class = row.size_class;
    e.need_amounts = row.need_amounts;
    e.limit_keys = row.limit_keys;
    e.last_seq = 1;
    child.item_keys = std::move(keys).text();
    draft.decision().result = result_of(row, callback);

    JsonWriter json = Draft::payload();
    json.field("partial", true)
        .field("items", static_cast<std::int64_t>(callback.items.size()))
        .field("failed", static_cast<std::int64_t>(failed))
        .field("retry_at", domain::rfc3339(e.scheduled_at));
    add_consumption(json, draft.decision().consumed);
    draft.tell(event::progress, std::move(json));
    draft.decision().child = std::move(child);
}

/// What its share is corrected by, and, if it is typical, those after it are estimated by.
void learn_from(Draft& draft, const domain::LiveAttempt& attempt, std::optional<domain::MicroUsd> cost,
                const domain::Callback& callback) {
    resource_manager::Consumption consumed;
    consumed.cost = cost;
    consumed.tokens = tokens_in(callback);
    consumed.duration = draft.now() - std::min(attempt.granted_at, draft.now());
    consumed.typical = callback.status == CallbackStatus::completed && !attempt.thrift.asked();
    draft.decision().consumed = consumed;
}

/// Its deadline was recorded. A `timeout` that the peer has called back is its word: another one contradicts it.
bool ran_out(const webhooks::FoundAttempt& found) {
    return found.callback_sha256.empty() && (found.outcome == "timeout" || found.outcome == "lost");
}

}

std::optional<CallbackReceived> without_secrets(const CallbackReceived& received,
                                                const subworkflows::WorkflowType* type) {
    const auto& said = received.callback;
    if (said.error_data.empty() && said.progress.empty() && said.items.empty()) return std::nullopt;
    auto clean = received;
    const auto secrets = secrets_of(type);
    // Of a secret with quotes in it, what surrounds it may be taken for a part: better nothing than no JSON.
    const auto clean_json = [&](std::string& json) {
        json = platform::redacted(json, secrets);
        if (!json.empty() && !platform::check_json(json)) json = platform::json_quoted(domain::kRedacted);
    };
    clean_json(clean.callback.error_data);
    clean_json(clean.callback.progress);
    for (auto& item : clean.callback.items) clean_json(item.json);
    clean.callback.error_message = platform::redacted(said.error_message, secrets);
    return clean;
}

void live_callback(Draft& draft, const CallbackReceived& received) {
    const auto& callback = received.callback;
    if (callback.status == CallbackStatus::running) return heartbeat(draft, received);
    if (!draft.bring_to_dispatch()) return;
    Execution& row = draft.row();
    row.ready = false;
    row.due_at.reset();
    row.gate.reset();
    row.gate_since.reset();
    const auto attempt = *row.attempt;
    const auto node = attempt.node;
    auto& closed = draft.close_attempt(std::string(name(callback.status)), callback.error_message, true);
    closed.callback_sha256 = received.sha256;
    const auto cost = book_usage(draft, callback, received.attempt, attempt.cost);
    closed.attempt.cost = cost;
    settle_money(draft, attempt, cost, callback);
    charge_usage(draft, attempt.id, attempt.reserved, cost, callback);
    learn_from(draft, attempt, cost, callback);
    const std::size_t closed_at = draft.decision().closed.size() - 1;
    switch (callback.status) {
        case CallbackStatus::completed:
            complete(draft, callback);
            break;
        case CallbackStatus::partial:
            partial(draft, received);
            break;
        case CallbackStatus::failed:
        case CallbackStatus::timeout: {
            if (callback.duration_ms) row.duration_ms = callback.duration_ms;
            if (callback.items_processed) row.items_processed = callback.items_processed;
            const bool late = callback.status == CallbackStatus::timeout;
            Failure failure{late ? FailureCause::timeout : FailureCause::reported, callback.retry_after,
                            callback.retry_recommended};
            // Its provider had had enough: no attempt is burnt, but for one that never gets anywhere.
            const auto patience = patience_asked(callback);
            const bool throttled =
                !late && patience && failure.retry_recommended && row.attempts - row.retry_count <= kMostThrottled;
            if (throttled) failure = {FailureCause::throttled, std::max(*patience, kLeastPatience), true};
            const std::string message = callback.error_message.empty() ? (late ? "the sub-workflow ran out of time"
                                                                               : "the sub-workflow reported failure")
                                                                       : callback.error_message;
            apply_recovery(draft, failure,
                           late        ? "timeout"
                           : throttled ? "throttled"
                                       : "reported",
                           message, callback.error_data, node, false);
            if (draft.decision().result) {
                draft.decision().result->result_data = callback.result_data;
                draft.decision().result->sanitised = callback.sanitised;
                draft.decision().result->peer_reference = callback.peer_reference;
            }
            break;
        }
        case CallbackStatus::running:
            break;
    }
    if (draft.decision().closed.size() > closed_at)
        answer_callback(draft, callback, &draft.decision().closed[closed_at]);
}

void take_late(Draft& draft, const domain::AttemptId& attempt, const domain::Callback& callback,
               const std::string& sha256, const std::string& by) {
    Execution& row = draft.row();
    if (terminal(row.status)) {
        priority_queue::Resolution resolution;
        resolution.execution = row.id;
        resolution.opening = row.opening;
        resolution.how = "accepted";
        resolution.by = by;
        if (row.status == Status::dead) draft.decision().resolution = resolution;
        ++row.opening;
        JsonWriter json = Draft::payload();
        json.field("from", name(row.status)).field("by", by).field("late_result", true);
        draft.tell(event::reopened, std::move(json));
    }
    const auto so_far = draft.at().found ? draft.at().found->cost : std::nullopt;
    webhooks::ClosedAttempt amended;
    amended.execution = row.id;
    amended.attempt.id = attempt;
    amended.attempt.cost = book_usage(draft, callback, attempt, so_far, so_far.value_or(domain::MicroUsd{}));
    if (amended.attempt.cost) correct_money(draft, attempt, *amended.attempt.cost, callback);
    charge_usage(draft, attempt, std::nullopt, amended.attempt.cost, callback);
    complete(draft, callback);
    amended.outcome = "late";
    amended.callback_sha256 = sha256;
    answer_callback(draft, callback, &amended);
    draft.decision().amended.push_back(std::move(amended));
}

bool late_is_possible(const Execution& row, const webhooks::FoundAttempt& found) {
    return ran_out(found) && !row.attempt && found.number == row.attempts && found.opening == row.opening &&
           (row.status == Status::retrying || row.status == Status::dead || row.status == Status::failed);
}

void closed_callback(Draft& draft, const CallbackReceived& received) {
    const Execution& row = draft.row();
    const auto& found = draft.at().found;
    if (found && !found->callback_sha256.empty() && found->callback_sha256 == received.sha256) {
        std::string body = found->callback_answer.empty() ? ok_body(row) : found->callback_answer;
        body.pop_back();
        draft.decision().answer = {200, {}, {}, body + ",\"replayed\":true}"};
        return;
    }
    // Whatever becomes of its result, what it has cost has been spent.
    const bool spoken = found && found->callback_sha256.empty() && received.callback.status != CallbackStatus::running;
    const auto late_cost = cost_in(received.callback);
    if (spoken && late_cost) correct_money(draft, received.attempt, *late_cost, received.callback);
    if (spoken) charge_usage(draft, received.attempt, std::nullopt, late_cost, received.callback);
    const bool possible = found && late_is_possible(row, *found);
    if (possible && received.callback.status == CallbackStatus::completed && draft.at().type &&
        draft.at().type->accept_late)
        return take_late(draft, received.attempt, received.callback, received.sha256, "policy accept_late");

    std::string detail;
    if (terminal(row.status)) {
        detail = "the execution is " + std::string(name(row.status));
        if (!row.reason.empty()) detail += " (" + row.reason + ")";
        if (possible)
            detail += "; an operator can take this result with POST /v1/executions/" + row.id.text() + "/accept-late";
        return refuse_callback(draft, received.attempt, received.sha256, received.body, received.callback.status,
                               "execution-already-finished", detail);
    }
    detail = "this attempt was closed" + (found ? " (" + found->outcome + ")" : std::string()) + "; the execution is " +
             std::string(name(row.status));
    refuse_callback(draft, received.attempt, received.sha256, received.body, received.callback.status, "attempt-closed",
                    detail);
}

}
