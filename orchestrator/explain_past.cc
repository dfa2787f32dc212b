#include "orchestrator/explain_past.h"

#include <charconv>

#include "platform/gate_json.h"
#include "platform/json_text.h"

namespace impresario::orchestrator {

using domain::AttemptState;
using domain::Execution;
using domain::Status;
using domain::TimePoint;
using journal::StoredEvent;

namespace event = domain::event;

namespace {

class Trace {
  public:
    explicit Trace(const Execution& row) {
        auto& e = traced_.then;
        e.id = row.id;
        e.lane = row.lane;
        e.created_at = row.created_at;
        e.scheduled_at = row.scheduled_at;
        e.priority = row.priority;
        e.concurrency_key = row.concurrency_key;
        e.max_retries = row.max_retries;
        e.parent = row.parent;
        e.batch = row.batch;
        e.ready = true;
        e.ready_at = row.created_at;
    }

    void apply(const StoredEvent& happened) {
        auto& e = traced_.then;
        const auto at = happened.at;
        if (happened.type == event::queued) {
            e.priority = number(happened, "priority").value_or(e.priority);
            wait_until(time(happened, "scheduled_at").value_or(e.created_at), e.created_at);
        } else if (happened.type == event::due) {
            if (!text(happened, "gate").empty()) return open_gate(at);
            if (e.status == Status::analyzing) e.status = Status::queued;
            e.due_at.reset();
            e.ready = true;
            e.ready_at = time(happened, "due_at").value_or(at);
        } else if (happened.type == event::deferred) {
            defer(happened);
        } else if (happened.type == event::dispatched) {
            open_gate(at);
            start(happened);
        } else if (happened.type == event::accepted || happened.type == event::progress ||
                   happened.type == event::unknown) {
            run(happened);
        } else if (happened.type == event::retrying) {
            e.status = Status::retrying;
            e.ready = false;
            e.ready_at.reset();
            e.due_at = time(happened, "retry_at");
            e.reason = text(happened, "reason");
            e.retry_count = number(happened, "failures").value_or(e.retry_count + 1);
            leave_attempt();
        } else if (happened.type == event::reopened) {
            e.status = Status::queued;
            e.completed_at.reset();
            e.reason.clear();
            e.retry_count = 0;
            e.ready = true;
            e.ready_at = at;
            ++e.opening;
        } else if (happened.type == event::updated) {
            if (const auto priority = number(happened, "priority")) e.priority = *priority;
            if (const auto scheduled = time(happened, "scheduled_at"); scheduled && !terminal(e.status)) {
                open_gate(at);
                wait_until(*scheduled, at);
            }
        } else if (const auto status = domain::parse_status(happened.type.substr(happened.type.find('.') + 1))) {
            set(*status, happened);
        }
    }

    Traced done() && { return std::move(traced_); }

  private:
    static std::string text(const StoredEvent& happened, std::string_view key) {
        const auto value = platform::json_member(happened.payload, key);
        return value ? platform::json_string(*value) : std::string{};
    }
    static std::optional<TimePoint> time(const StoredEvent& happened, std::string_view key) {
        const auto value = text(happened, key);
        return value.empty() ? std::nullopt : domain::parse_time(value);
    }
    static std::optional<int> number(const StoredEvent& happened, std::string_view key) {
        const auto value = text(happened, key);
        int read = 0;
        const auto result = std::from_chars(value.data(), value.data() + value.size(), read);
        return value.empty() || result.ec != std::errc{} ? std::nullopt : std::optional(read);
    }

    void wait_until(TimePoint scheduled, TimePoint now) {
        auto& e = traced_.then;
        e.scheduled_at = scheduled;
        e.ready = scheduled <= now;
        e.due_at = e.ready ? std::nullopt : std::optional(scheduled);
        if (!e.ready) {
            e.ready_at.reset();
        } else if (!e.ready_at) {
            e.ready_at = now;
        }
    }

    /// A gate of its own closed; or what was given to a node or an endpoint came back unsent.
    void defer(const StoredEvent& happened) {
        auto& e = traced_.then;
        if (auto gate = platform::parse_gate(happened.payload)) {
            open_gate(happened.at);
            e.gate = gate;
            e.gate_since = happened.at;
            e.ready = false;
            GateRun run;
            run.gate = *std::move(gate);
            run.first_numbers = run.gate.numbers;
            run.own = true;
            run.since = happened.at;
            traced_.own_gates.push_back(std::move(run));
            return;
        }
        e.status = e.retry_count > 0 && e.status == Status::retrying ? Status::retrying : Status::queued;
        e.ready = true;
        if (!e.ready_at) e.ready_at = happened.at;
        leave_attempt();
    }

    void open_gate(TimePoint at) {
        auto& e = traced_.then;
        if (!e.gate) return;
        e.gate.reset();
        e.gate_since.reset();
        e.ready = true;
        auto& run = traced_.own_gates.back();
        run.until = at;
        run.closed_for = at - *run.since;
    }

    void start(const StoredEvent& happened) {
        auto& e = traced_.then;
        e.status = Status::dispatching;
        e.ready = false;
        e.due_at.reset();
        e.reason.clear();
        if (!e.started_at) e.started_at = happened.at;
        e.attempts = number(happened, "attempt").value_or(e.attempts);
        if (!e.attempt) e.attempt.emplace();
        e.attempt->number = e.attempts;
        e.attempt->granted_at = happened.at;
        const bool sends = !text(happened, "delivery").empty();
        e.attempt->state = sends ? AttemptState::sending : AttemptState::granted;
    }

    void run(const StoredEvent& happened) {
        auto& e = traced_.then;
        open_gate(happened.at);
        e.status = Status::running;
        e.ready = false;
        e.due_at.reset();
        if (text(happened, "partial") == "true") {
            e.attempt.reset();
            e.open_children = 1;
            return;
        }
        if (!e.attempt) e.attempt.emplace();
        e.attempt->number = e.attempts;
        const bool taken = happened.type != event::unknown;
        e.attempt->state = taken ? AttemptState::accepted : AttemptState::unknown;
        if (taken && !e.attempt->accepted_at) e.attempt->accepted_at = happened.at;
    }

    void set(Status status, const StoredEvent& happened) {
        auto& e = traced_.then;
        open_gate(happened.at);
        e.status = status;
        e.ready = false;
        if (!terminal(status)) return;
        e.attempt.reset();
        e.due_at.reset();
        e.open_children = 0;
        e.completed_at = happened.at;
        e.reason = text(happened, "reason");
    }

    void leave_attempt() { traced_.then.attempt.reset(); }

    Traced traced_;
};

}

Traced trace(const Execution& row, const std::vector<StoredEvent>& events, TimePoint at) {
    Trace trace(row);
    for (const auto& each : events)
        if (each.at <= at) trace.apply(each);
    return std::move(trace).done();
}

}
