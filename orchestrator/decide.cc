#include "orchestrator/decide.h"

#include <regex>

#include "orchestrator/decide_callback.h"
#include "orchestrator/decide_delivery.h"
#include "platform/crypto.h"
#include "platform/gate_json.h"

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

/// The reason of a dead letter that was taken out of the queue; its row there keeps why it died.
constexpr std::string_view kDiscarded = "discarded";

class Decider {
  public:
    explicit Decider(Draft& draft) : draft_(draft) {}

    void operator()(const CallbackReceived& came) {
        const auto clean = without_secrets(came, draft_.at().type);
        const auto& received = clean ? *clean : came;
        hear(received);
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
        auto news = news_of(report, taken);
        news.need_amounts = row().need_amounts;
        draft_.carry(news);
        draft_.carry(provider_news_of(report, draft_.at().type));
        if (const auto* done = std::get_if<webhooks::Done>(&report.outcome))
            if (const auto received = result_in(*done, report, row().id, draft_.at().type)) hear(*received);
        if (told && row().attempt->state != AttemptState::waiting_redelivery) {
            live_delivery(draft_, report);
        } else if (const auto* done = std::get_if<webhooks::Done>(&report.outcome)) {
            late_answer(report, *done, live);
        }
        // Whatever became of the execution, and also when the move was refused.
        draft_.decision().endpoint = news;
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

    void operator()(const Dropped& dropped) {
        // What has begun meanwhile, or waits anew, is not what was meant.
        if (!row().claimable() || row().awaits_decision()) return;
        if (dropped.ready_before && row().ready_at.value_or(row().created_at) >= *dropped.ready_before) return;
        if (row().attempt) draft_.close_attempt("cancelled", dropped.detail);
        if (!draft_.move(Status::cancelled)) return;
        draft_.end(dropped.reason);
        JsonWriter json = Draft::payload();
        json.field("by", "hub")
            .field("reason", dropped.reason)
            .field("from", name(draft_.before().status))
            .field("detail", dropped.detail)
            .field("priority", row().priority);
        for (const auto& [key, value] : dropped.numbers) json.field(key, value);
        json.field("restore", "impresario replay " + row().id.text());
        draft_.tell(event::cancelled, std::move(json));
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
    /// What it says of providers is so, whatever becomes of it; said again it is old.
    void hear(const CallbackReceived& received) {
        const auto& found = draft_.at().found;
        const bool again = found && !found->callback_sha256.empty() && found->callback_sha256 == received.sha256;
        if (received.callback.usage.empty() || again) return;
        const bool live = row().attempt && row().attempt->id == received.attempt;
        const auto began = live ? row().attempt->granted_at : domain::kFirstTime;
        draft_.carry(provider_news_of(received.callback, row().id, began, draft_.now(), draft_.at().type));
    }
    bool holds(const domain::AttemptId& attempt, int fence) {
        return row().attempt && row().attempt->id == attempt && row().attempt->fence == fence;
    }
    /// Nothing has left: it goes back into the queue as it was.
    void give_back(std::string_view why) {
        draft_.decision().unsent = {row().attempt->id, row().attempt->fence};
        release_money(draft_);
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
        const auto received = result_in(done, report, row().id, draft_.at().type);
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
    const bool fresh = !row.attempt;
    if (fresh) {
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
    attempt.reserved = terms.budgeted ? std::optional(terms.demand.cost) : std::nullopt;
    attempt.thrift = terms.thrift;
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
    if (attempt.reserved) json.field("reserved_usd", domain::decimal(*attempt.reserved));
    if (row.ready_at) json.field("waited_ms", (draft.now() - *row.ready_at).count() / 1000);
    draft.tell(event::dispatched, std::move(json));
    if (attempt.reserved)
        draft.decision().reservation = resource_manager::Movement{.kind = resource_manager::MovementKind::reserve,
                                                                  .execution = row.id,
                                                                  .attempt = attempt.id,
                                                                  .ordinal = attempt.fence,
                                                                  .demand = terms.demand,
                                                                  .first = fresh};
    if (!terms.demand.needs.empty())
        draft.decision().permits.push_back({row.id, row.lane, attempt.id, attempt.fence,
                                            attempt.deliveries + (terms.own ? 0 : 1), terms.demand.needs,
                                            row.limit_keys, attempt.lease_until});
    if (circumstances.type && circumstances.type->execution_interval)
        draft.decision().lane_times = LaneTimes{row.lane, draft.now(), std::nullopt};
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
