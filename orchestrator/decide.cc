#include "orchestrator/decide.h"

#include <algorithm>
#include <regex>
#include <set>

#include "orchestrator/recover.h"
#include "platform/callback_json.h"
#include "platform/crypto.h"
#include "platform/gate_json.h"
#include "platform/json_text.h"
#include "platform/json_writer.h"

namespace impresario::orchestrator {

using domain::AttemptState;
using domain::CallbackStatus;
using domain::Duration;
using domain::Execution;
using domain::Status;
using domain::TimePoint;
using platform::JsonWriter;

namespace event = domain::event;

namespace {

/// Refusals beyond this many events of one execution are still kept as evidence, but no longer told.
constexpr int kMostRefusalEvents = 1000;

constexpr std::string_view kUnknownReason = "unknown";
/// The reason of a dead letter that was taken out of the queue; its row there keeps why it died.
constexpr std::string_view kDiscarded = "discarded";

/// Builds one decision step by step. The row it shows is the one after the steps so far.
class Draft {
  public:
    Draft(const Execution& row, const Circumstances& c) : before_(row), c_(c) { d_.after = row; }

    Execution& row() { return d_.after; }
    const Execution& before() const { return before_; }
    const Circumstances& at() const { return c_; }
    TimePoint now() const { return c_.now; }
    Decision& decision() { return d_; }

    /// Appends an event to the execution's stream; `payload` has an open object.
    void tell(std::string_view type, JsonWriter payload) {
        payload.close();
        tell_text(type, std::move(payload).text());
    }
    void tell_text(std::string_view type, std::string payload) {
        domain::Event event;
        event.stream = row().id.value;
        event.seq = ++row().last_seq;
        event.organization_id = row().lane.organization_id;
        event.type = type;
        event.payload = std::move(payload);
        d_.events.push_back(std::move(event));
        d_.changed = true;
    }

    static JsonWriter payload() {
        JsonWriter json;
        json.open();
        return json;
    }

    /// Makes a legal move; an illegal one is refused and recorded, and everything drafted so far is dropped.
    bool move(Status to) {
        const auto moved = move_to(row(), to);
        if (moved) {
            d_.changed = true;
            return true;
        }
        const auto illegal = moved.error();
        const auto deliveries = std::move(d_.deliveries);
        d_ = Decision{};
        d_.after = before_;
        d_.deliveries = deliveries;
        JsonWriter json = payload();
        json.field("from", name(illegal.from)).field("to", name(illegal.to)).field("by", "hub");
        tell(event::refused, std::move(json));
        d_.answer = {409,
                     "illegal-move",
                     "the execution cannot move from " + std::string(name(illegal.from)) + " to " +
                         std::string(name(illegal.to)),
                     {}};
        return false;
    }

    /// A callback, or a late answer, about an attempt that waits in the queue: what it says has happened, so the row
    /// takes the way it would have taken.
    bool bring_to_dispatch() {
        if (row().status == Status::queued || row().status == Status::retrying) return move(Status::dispatching);
        return true;
    }

    /// The live attempt becomes history. What it had cost so far is spent, unless its own word on that is booked next.
    webhooks::ClosedAttempt& close_attempt(std::string outcome, std::string detail, bool books_itself = false) {
        if (row().attempt && row().attempt->cost && !books_itself) {
            row().cost = row().cost.value_or(domain::MicroUsd{}) + *row().attempt->cost;
            d_.usage.push_back(
                {row().id, "api_call", "", 0, row().attempt->cost, row().attempt->id.text() + "/so-far"});
        }
        webhooks::ClosedAttempt closed;
        closed.execution = row().id;
        closed.opening = row().opening;
        if (row().attempt) closed.attempt = *row().attempt;
        closed.outcome = std::move(outcome);
        closed.detail = std::move(detail);
        row().attempt.reset();
        row().timeout_at.reset();
        d_.closed.push_back(std::move(closed));
        d_.changed = true;
        return d_.closed.back();
    }

    void refuse(int status, std::string problem, std::string detail) {
        d_.answer = {status, std::move(problem), std::move(detail), {}};
    }

    void end(std::string reason) {
        row().reason = std::move(reason);
        row().completed_at = now();
        row().ready_at.reset();
        if (!row().duration_ms && row().started_at) row().duration_ms = (now() - *row().started_at).count() / 1000;
        d_.ended = true;
    }

    void dead_letter(std::string error, std::optional<domain::NodeId> node) {
        priority_queue::DeadLetter letter;
        letter.execution = row().id;
        letter.opening = row().opening;
        letter.lane = row().lane;
        letter.reason = row().reason;
        letter.fingerprint = error_fingerprint(row().lane.workflow_type, row().reason, error);
        letter.error = std::move(error);
        letter.node = node;
        letter.attempts = row().attempts;
        d_.dead_letter = std::move(letter);
    }

  private:
    const Execution& before_;
    const Circumstances& c_;
    Decision d_;
};

std::string ok_body(const Execution& row) {
    JsonWriter json;
    json.open();
    json.field("ok", true).field("execution_id", row.id.text()).field("status", name(row.status));
    json.close();
    return std::move(json).text();
}

/// What comes after a failed delivery or attempt. The attempt has been closed, or waits for its redelivery.
void apply_recovery(Draft& draft, const Failure& failure, const std::string& reason, const std::string& error,
                    const std::string& error_data, std::optional<domain::NodeId> node, bool redelivery) {
    Execution& row = draft.row();
    static const domain::RetryPolicy none;
    const auto& policy = draft.at().type ? draft.at().type->retry : none;
    const auto recovery = recover(failure, policy, row.retry_count, row.max_retries, draft.now(), draft.at().unit);
    row.timeout_at.reset();
    if (const auto* again = std::get_if<TryAgain>(&recovery)) {
        if (row.status != Status::retrying && !draft.move(Status::retrying)) return;
        ++row.retry_count;
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
    draft.tell(end.status == Status::dead ? event::dead : event::failed, std::move(json));
    if (end.status == Status::dead) draft.dead_letter(error, node);
}

// ---- callbacks ------------------------------------------------------------------------------------------------------

/// What a callback says the attempt has cost: its total, or else the sum over providers; nullopt where it says nothing.
std::optional<domain::MicroUsd> cost_in(const domain::Callback& callback) {
    if (callback.cost) return callback.cost;
    std::optional<domain::MicroUsd> sum;
    for (const auto& each : callback.usage)
        if (each.cost) sum = sum.value_or(domain::MicroUsd{}) + *each.cost;
    return sum;
}

/// Books what the attempt has cost and used, and returns its cost. `so_far`: what it had said before; it stands where
/// this callback says nothing. `booked`: what of it is in the execution's cost already.
std::optional<domain::MicroUsd> book_usage(Draft& draft, const domain::Callback& callback,
                                           const domain::AttemptId& attempt, std::optional<domain::MicroUsd> so_far,
                                           domain::MicroUsd booked = {}) {
    Execution& row = draft.row();
    auto& usage = draft.decision().usage;
    const std::string prefix = attempt.text() + "/";
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

void refuse_callback(Draft& draft, const domain::AttemptId& attempt, const std::string& sha256, const std::string& body,
                     CallbackStatus status, std::string problem, std::string detail) {
    webhooks::RefusedCallback refused;
    refused.execution = draft.row().id;
    refused.attempt = attempt;
    refused.sha256 = sha256;
    refused.status = name(status);
    refused.problem = problem;
    refused.body = body;
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
    if (const auto cost = cost_in(received.callback); cost && (!attempt.cost || attempt.cost->value < cost->value))
        attempt.cost = cost;
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
    e.last_seq = 1;
    child.item_keys = std::move(keys).text();
    draft.decision().result = result_of(row, callback);

    JsonWriter json = Draft::payload();
    json.field("partial", true)
        .field("items", static_cast<std::int64_t>(callback.items.size()))
        .field("failed", static_cast<std::int64_t>(failed))
        .field("retry_at", domain::rfc3339(e.scheduled_at));
    draft.tell(event::progress, std::move(json));
    draft.decision().child = std::move(child);
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
    const auto node = row.attempt->node;
    const auto so_far = row.attempt->cost;
    auto& closed = draft.close_attempt(std::string(name(callback.status)), callback.error_message, true);
    closed.callback_sha256 = received.sha256;
    closed.attempt.cost = book_usage(draft, callback, received.attempt, so_far);
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
            const Failure failure{late ? FailureCause::timeout : FailureCause::reported, callback.retry_after,
                                  callback.retry_recommended};
            const std::string message = callback.error_message.empty() ? (late ? "the sub-workflow ran out of time"
                                                                               : "the sub-workflow reported failure")
                                                                       : callback.error_message;
            apply_recovery(draft, failure, late ? "timeout" : "reported", message, callback.error_data, node, false);
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

/// A result for an attempt whose deadline had been recorded, taken after all.
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
    complete(draft, callback);
    amended.outcome = "late";
    amended.callback_sha256 = sha256;
    answer_callback(draft, callback, &amended);
    draft.decision().amended.push_back(std::move(amended));
}

bool ran_out(const webhooks::FoundAttempt& found) { return found.outcome == "timeout" || found.outcome == "lost"; }

/// While no newer attempt lives, and nothing has been decided since that a result could contradict.
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

// ---- deliveries -----------------------------------------------------------------------------------------------------

void wait_in_queue(Draft& draft, const std::string& detail, TimePoint until, std::string_view news) {
    // The peer has not taken it and no try is counted: the same attempt goes again when the endpoint's gate opens.
    Execution& row = draft.row();
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
    // For a scheduler on another node: what it is to think of the endpoint.
    json.field("endpoint_id", row.attempt->endpoint.text())
        .field("news", news)
        .field("retry_after_ms", (until - draft.now()).count() / 1000);
    draft.tell(event::deferred, std::move(json));
}

void unknown_outcome(Draft& draft, const std::string& reason, bool deduplicates) {
    Execution& row = draft.row();
    if (deduplicates && row.retry_count < row.max_retries) {
        // The same webhook-id again can do no harm; the first time at once.
        const auto node = row.attempt->node;
        const bool first = row.attempt->deliveries <= 1;
        row.attempt->state = AttemptState::waiting_redelivery;
        apply_recovery(draft, {FailureCause::delivery, std::nullopt, true}, "unknown", reason, {}, node, true);
        if (first && row.status == Status::retrying) row.due_at = draft.now();
        return;
    }
    if (row.status == Status::dispatching && !draft.move(Status::running)) return;
    row.attempt->state = AttemptState::unknown;
    row.reason = kUnknownReason;
    JsonWriter json = Draft::payload();
    json.field("reason", reason).field("attempt", row.attempts);
    if (row.timeout_at) json.field("waiting_until", domain::rfc3339(*row.timeout_at));
    draft.tell(event::unknown, std::move(json));
}

/// What an answer says about who gave it, whatever became of the execution meanwhile. `taken`: it has called back
/// already, so that what went wrong with the answer to our request matters little.
EndpointNews news_of(const DeliveryReported& report, bool taken) {
    using Kind = EndpointNews::Kind;
    EndpointNews news{report.endpoint, Kind::trouble, std::string(webhooks::reason(report.outcome)), {}, false};
    if (const auto* accepted = std::get_if<webhooks::Accepted>(&report.outcome)) {
        news.kind = Kind::accepted;
        news.learnt_deduplicates = accepted->deduplicates;
    } else if (const auto* done = std::get_if<webhooks::Done>(&report.outcome)) {
        news.kind = Kind::accepted;
        news.learnt_deduplicates = done->deduplicates;
    } else if (taken) {
        return news;
    } else if (std::holds_alternative<webhooks::Rejected>(report.outcome)) {
        news.kind = Kind::accepted;
        news.detail.clear();
    } else if (const auto* overload = std::get_if<webhooks::Overload>(&report.outcome)) {
        news.kind = Kind::overload;
        news.retry_after = overload->retry_after;
    } else if (std::holds_alternative<webhooks::EndpointFault>(report.outcome)) {
        news.kind = Kind::fault;
    }
    return news;
}

/// The result that an answer carries; nullopt when it is none, or another execution's.
std::optional<CallbackReceived> result_in(const webhooks::Done& done, const DeliveryReported& report,
                                          const domain::ExecutionId& execution) {
    auto callback = platform::parse_callback(done.callback);
    if (!callback || (callback->execution_id && *callback->execution_id != execution)) return std::nullopt;
    return CallbackReceived{report.attempt, *std::move(callback),
                            std::string(platform::view(platform::sha256(done.callback))), done.callback};
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
        json.field("endpoint_id", attempt.endpoint.text()).field("news", "accepted");
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
                const auto received = result_in(outcome, report, row.id);
                if (!received) return accept();
                live_callback(draft, *received);
            } else if (taken_already) {
                return;
            } else if constexpr (std::is_same_v<T, webhooks::Transient>) {
                attempt.state = AttemptState::waiting_redelivery;
                apply_recovery(draft, {FailureCause::delivery, outcome.retry_after, true}, "delivery_failed",
                               outcome.reason, {}, node, true);
            } else if constexpr (std::is_same_v<T, webhooks::Overload>) {
                wait_in_queue(draft, outcome.reason, draft.now() + outcome.retry_after, "overload");
            } else if constexpr (std::is_same_v<T, webhooks::EndpointFault>) {
                wait_in_queue(draft, outcome.reason, draft.now() + std::chrono::seconds{5}, "fault");
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

// ---- everything else ------------------------------------------------------------------------------------------------

class Decider {
  public:
    explicit Decider(Draft& draft) : draft_(draft) {}

    void operator()(const CallbackReceived& received) {
        if (row().attempt && row().attempt->id == received.attempt) {
            live_callback(draft_, received);
        } else {
            closed_callback(draft_, received);
        }
    }

    void operator()(const DeliveryReported& report) {
        draft_.decision().deliveries.push_back(report.record);
        const bool live = row().attempt && row().attempt->id == report.attempt;
        const bool taken = live && row().attempt->state == AttemptState::accepted;
        // Who was taken for dead and was not knows what the others only wait to learn.
        const bool told =
            live && (row().attempt->fence == report.fence ||
                     (row().attempt->state == AttemptState::unknown && row().attempt->fence == report.fence + 1));
        if (told && row().attempt->state != AttemptState::waiting_redelivery) {
            live_delivery(draft_, report);
        } else if (const auto* done = std::get_if<webhooks::Done>(&report.outcome)) {
            late_answer(report, *done, live);
        }
        // Whatever became of the execution, and also when the move was refused.
        draft_.decision().endpoint = news_of(report, taken);
    }

    void operator()(const SendingBegun& begun) {
        const bool holder = holds(begun.attempt, begun.fence) && row().attempt->node == begun.node;
        if (!holder || row().attempt->lease_until <= draft_.now() ||
            (row().attempt->state != AttemptState::granted && row().attempt->state != AttemptState::sending))
            return draft_.refuse(409, "lease-lost", "the attempt has passed to another node");
        if (row().attempt->state == AttemptState::sending) {
            // Said again by a node that was in doubt whether it had said so.
            draft_.decision().changed = true;
            return;
        }
        row().attempt->state = AttemptState::sending;
        ++row().attempt->deliveries;
        draft_.decision().changed = true;
        JsonWriter json = Draft::payload();
        json.field("attempt", row().attempts)
            .field("delivery", row().attempt->deliveries)
            .field("sending", true)
            .field("node", begun.node.text());
        draft_.tell(event::dispatched, std::move(json));
    }

    void operator()(const LeaseLost& lost) {
        if (!holds(lost.attempt, lost.fence)) return;
        if (row().attempt->state == AttemptState::granted)
            return give_back("the node it was given to did not begin in time");
        ++row().attempt->fence;
        if (row().attempt->state == AttemptState::sending)
            unknown_outcome(draft_, "the node that was sending it has gone", lost.deduplicates);
    }

    void operator()(const NeverSent& never) {
        if (!holds(never.attempt, never.fence)) return;
        if (row().attempt->state == AttemptState::sending) --row().attempt->deliveries;
        if (row().attempt->state == AttemptState::sending || row().attempt->state == AttemptState::granted)
            give_back("the node it was given to could not be sure in time that it was to send it");
    }

    void operator()(const DeadlinePassed& passed) {
        if (!row().attempt || row().attempt->id != passed.attempt || !row().attempt->holds_slot() ||
            !row().timeout_at || *row().timeout_at > draft_.now())
            return;
        const bool accepted = row().attempt->state == AttemptState::accepted;
        const auto node = row().attempt->node;
        const std::string reason = accepted ? "timeout" : "lost";
        const std::string error =
            accepted ? "no result by the deadline" : "no answer to the request and no callback by the deadline";
        draft_.close_attempt(reason, error);
        apply_recovery(draft_, {accepted ? FailureCause::timeout : FailureCause::lost, std::nullopt, true}, reason,
                       error, {}, node, false);
    }

    void operator()(const BecameDue&) {
        if (!row().due_at || *row().due_at > draft_.now()) return;
        // Whatever is decided, it is not due any more: a row that stayed so would be decided about without end.
        const auto due = *row().due_at;
        row().due_at.reset();
        draft_.decision().changed = true;
        if (row().awaits_decision())
            return apply_recovery(draft_, {FailureCause::asked, std::nullopt, true}, "asked_by_sql",
                                  "a retry was asked for by SQL", {}, std::nullopt, false);
        const bool waits =
            row().status == Status::queued || row().status == Status::retrying || row().status == Status::analyzing;
        if (!waits) return;
        row().ready = true;
        row().ready_at = due;
        JsonWriter json = Draft::payload();
        json.field("due_at", domain::rfc3339(due));
        if (row().status == Status::analyzing) {
            row().ready_at = draft_.now();
            if (!draft_.move(Status::queued)) return;
            json.field("detail", "nobody decided within 60 s");
        }
        draft_.tell(event::due, std::move(json));
    }

    void operator()(const ChildrenEnded&) {}  // decide_parent

    void operator()(const Cancel& cancel) {
        if (row().status == Status::cancelled) {
            draft_.decision().answer.body = ok_body(row());
            return;
        }
        if (terminal(row().status)) return refuse_finished();
        const auto attempt = row().attempt;
        if (attempt) {
            if (attempt->state != AttemptState::granted && attempt->state != AttemptState::waiting_redelivery)
                draft_.decision().cancelled_peer = PeerCancelled{row().id, row().lane, attempt->id, attempt->endpoint};
            draft_.close_attempt("cancelled", cancel.reason);
        }
        if (!draft_.move(Status::cancelled)) return;
        draft_.end(cancel.reason.empty() ? "cancelled" : cancel.reason);
        JsonWriter json = Draft::payload();
        json.field("by", cancel.by).field("reason", row().reason).field("from", name(draft_.before().status));
        draft_.tell(event::cancelled, std::move(json));
        draft_.decision().answer.body = ok_body(row());
    }

    void operator()(const Reprioritise& change) {
        if (row().status != Status::queued && row().status != Status::retrying && row().status != Status::analyzing)
            return draft_.refuse(
                409, "not-waiting",
                "the execution is " + std::string(name(row().status)) + "; only what waits can be moved");
        JsonWriter json = Draft::payload();
        json.field("by", change.by);
        if (change.priority) {
            json.field("priority", *change.priority).field("from", row().priority);
            row().priority = *change.priority;
        }
        if (change.scheduled_at && row().status == Status::queued && !row().attempt) {
            row().scheduled_at = *change.scheduled_at;
            const bool now = *change.scheduled_at <= draft_.now();
            row().ready = now;
            // Whether a gate of its own stops it is found out anew.
            row().gate.reset();
            row().gate_since.reset();
            if (now) {
                if (!row().ready_at) row().ready_at = draft_.now();
                row().due_at.reset();
            } else {
                row().ready_at.reset();
                row().due_at = *change.scheduled_at;
            }
            json.field("scheduled_at", domain::rfc3339(*change.scheduled_at));
        }
        draft_.tell(event::updated, std::move(json));
        draft_.decision().answer.body = ok_body(row());
    }

    void operator()(const Reopen& reopen) {
        if (row().status != Status::dead && row().status != Status::failed) {
            if (terminal(row().status))
                return draft_.refuse(
                    409, "cannot-reopen",
                    "the execution is " + std::string(name(row().status)) + ", which never reopens; enqueue it anew");
            return draft_.refuse(409, "not-finished",
                                 "the execution is " + std::string(name(row().status)) + " and has not ended");
        }
        if (discarded())
            return draft_.refuse(409, "discarded", "the dead letter was discarded for good; enqueue it anew");
        const auto from = row().status;
        if (from == Status::dead)
            draft_.decision().resolution =
                priority_queue::Resolution{row().id, row().opening, "retried", reopen.by, reopen.input.has_value()};
        if (!draft_.move(Status::queued)) return;
        ++row().opening;
        row().retry_count = 0;
        row().reason.clear();
        row().started_at.reset();
        row().duration_ms.reset();
        row().items_processed.reset();
        row().progress.clear();
        row().open_children = 0;
        row().scheduled_at = draft_.now();
        row().ready = true;
        row().ready_at = draft_.now();
        draft_.decision().new_input = reopen.input;
        JsonWriter json = Draft::payload();
        json.field("from", name(from))
            .field("by", reopen.by)
            .field("input_edited", reopen.input.has_value())
            .field("opening", row().opening);
        draft_.tell(event::reopened, std::move(json));
        draft_.decision().answer.body = ok_body(row());
    }

    void operator()(const Discard& discard) {
        if (row().status != Status::dead)
            return draft_.refuse(
                409, "not-dead",
                "the execution is " + std::string(name(row().status)) + " and not in the dead-letter queue");
        if (discarded()) {
            draft_.decision().answer.body = ok_body(row());
            return;
        }
        row().reason = kDiscarded;
        draft_.decision().resolution =
            priority_queue::Resolution{row().id, row().opening, "discarded", discard.by, false};
        JsonWriter json = Draft::payload();
        json.field("dead_letter", "discarded").field("by", discard.by);
        draft_.tell(event::updated, std::move(json));
        draft_.decision().answer.body = ok_body(row());
    }

    void operator()(const AcceptLate& late) {
        const auto& found = draft_.at().found;
        if (discarded() || !found || !late_is_possible(row(), *found) ||
            late.callback.status != CallbackStatus::completed)
            return draft_.refuse(
                409, "cannot-accept",
                "only a completed result of the last attempt can be accepted, while no newer attempt lives");
        take_late(draft_, late.attempt, late.callback, late.sha256, late.by);
    }

  private:
    Execution& row() { return draft_.row(); }
    bool holds(const domain::AttemptId& attempt, int fence) {
        return row().attempt && row().attempt->id == attempt && row().attempt->fence == fence;
    }
    /// Nothing has left: it goes back into the queue as it was.
    void give_back(std::string_view why) {
        ++row().attempt->fence;
        row().attempt->state = AttemptState::waiting_redelivery;
        row().timeout_at.reset();
        if (!draft_.move(Status::queued)) return;
        row().ready = true;
        if (!row().ready_at) row().ready_at = draft_.now();
        JsonWriter json = Draft::payload();
        json.field("gate", "node").field("detail", why).field("attempt", row().attempts);
        draft_.tell(event::deferred, std::move(json));
    }
    /// A result in an answer is worth what the same callback would be: it says what has happened, for an attempt that
    /// waits to be delivered again, or was closed by something else than a result.
    void late_answer(const DeliveryReported& report, const webhooks::Done& done, bool live) {
        const auto received = result_in(done, report, row().id);
        if (!received) return;
        if (live) return live_callback(draft_, *received);
        const auto& found = draft_.at().found;
        if (found && found->callback_sha256.empty()) closed_callback(draft_, *received);
    }
    bool discarded() const { return draft_.before().status == Status::dead && draft_.before().reason == kDiscarded; }
    void refuse_finished() {
        draft_.refuse(409, "execution-already-finished", "the execution is " + std::string(name(row().status)));
    }

    Draft& draft_;
};

}

std::string error_fingerprint(std::string_view workflow_type, std::string_view reason, std::string_view error) {
    // The same as in migrations/0007_sql_api: long hex runs first, then numbers.
    static const std::regex varying("[0-9a-fA-F-]{8,}|[0-9]+");
    const std::string shape = std::regex_replace(std::string(error.substr(0, 2000)), varying, "#");
    const std::string text = std::string(workflow_type) + "|" + std::string(reason) + "|" + shape;
    return platform::hex(platform::view(platform::sha256(text))).substr(0, 16);
}

Decision decide(const Execution& row, const Command& command, const Circumstances& circumstances) {
    Draft draft(row, circumstances);
    std::visit(Decider(draft), command.happening);
    return std::move(draft.decision());
}

std::optional<Decision> decide_grant(const Execution& before, const GrantTerms& terms,
                                     const Circumstances& circumstances) {
    if (!before.claimable()) return std::nullopt;
    Draft draft(before, circumstances);
    Execution& row = draft.row();
    if (!draft.move(Status::dispatching)) return std::nullopt;
    if (!row.attempt) {
        row.attempt = domain::LiveAttempt{};
        row.attempt->id = terms.fresh_attempt;
        row.attempt->number = ++row.attempts;
    }
    auto& attempt = *row.attempt;
    attempt.state = terms.own ? AttemptState::sending : AttemptState::granted;
    attempt.node = terms.node;
    ++attempt.fence;
    attempt.lease_until = draft.now() + terms.lease;
    attempt.granted_at = draft.now();
    attempt.accepted_at.reset();
    attempt.endpoint = terms.endpoint;
    if (terms.own) ++attempt.deliveries;
    row.ready = false;
    row.gate.reset();
    row.gate_since.reset();
    row.reason.clear();
    if (!row.started_at) row.started_at = draft.now();
    row.timeout_at =
        draft.now() + (circumstances.type ? circumstances.type->timeout : Duration{std::chrono::seconds{300}});
    JsonWriter json = Draft::payload();
    json.field("attempt", attempt.number)
        .field("attempt_id", attempt.id.text())
        .field("endpoint_id", attempt.endpoint.text())
        .field("node", attempt.node.text());
    if (terms.own) json.field("delivery", attempt.deliveries);
    if (row.ready_at) json.field("waited_ms", (draft.now() - *row.ready_at).count() / 1000);
    draft.tell(event::dispatched, std::move(json));
    return std::move(draft.decision());
}

std::optional<Decision> decide_gate(const Execution& before, const std::optional<domain::Gate>& gate, TimePoint now) {
    if (!before.claimable()) return std::nullopt;
    if (gate ? before.gate && before.gate->same_as(*gate) : !before.gate) return std::nullopt;
    Circumstances circumstances;
    circumstances.now = now;
    Draft draft(before, circumstances);
    Execution& row = draft.row();
    row.ready = !gate;
    row.gate = gate;
    row.gate_since = gate ? std::optional(now) : std::nullopt;
    if (gate) {
        draft.tell_text(event::deferred, platform::gate_json(*gate));
    } else {
        JsonWriter json = Draft::payload();
        json.field("gate", name(before.gate->kind)).field("opened", true);
        draft.tell(event::due, std::move(json));
    }
    return std::move(draft.decision());
}

}
