#include "domain/execution.h"

#include "domain/name_table.h"

namespace impresario::domain {

namespace {
constexpr NameTable<Status, kStatuses> kStatusNames{{
    {Status::queued, "queued"},
    {Status::analyzing, "analyzing"},
    {Status::dispatching, "dispatching"},
    {Status::running, "running"},
    {Status::retrying, "retrying"},
    {Status::completed, "completed"},
    {Status::failed, "failed"},
    {Status::cancelled, "cancelled"},
    {Status::dead, "dead"},
}};

constexpr NameTable<AttemptState, 6> kAttemptNames{{
    {AttemptState::granted, "granted"},
    {AttemptState::sending, "sending"},
    {AttemptState::accepted, "accepted"},
    {AttemptState::unknown, "unknown"},
    {AttemptState::waiting_redelivery, "waiting_redelivery"},
    {AttemptState::closed, "closed"},
}};
}

std::string_view name(Status status) { return name_in(kStatusNames, status); }

std::optional<Status> parse_status(std::string_view text) { return value_in(kStatusNames, text); }

bool terminal(Status status) {
    return status == Status::completed || status == Status::failed || status == Status::cancelled ||
           status == Status::dead;
}

bool may_move(Status from, Status to) {
    using enum Status;
    if (to == cancelled) return !terminal(from);
    switch (from) {
        case queued:
            return to == analyzing || to == dispatching;
        case analyzing:
            return to == queued;
        case dispatching:
            return to == running || to == queued || to == retrying || to == completed || to == failed || to == dead;
        case running:
            return to == completed || to == failed || to == retrying || to == dead;
        case retrying:
            return to == dispatching || to == completed || to == dead;
        case failed:
        case dead:
            return to == queued || to == completed;
        case completed:
        case cancelled:
            return false;
    }
    return false;
}

std::string_view name(AttemptState state) { return name_in(kAttemptNames, state); }

std::optional<AttemptState> parse_attempt_state(std::string_view text) { return value_in(kAttemptNames, text); }

std::string IllegalMove::text() const { return std::string(name(from)) + " -> " + std::string(name(to)); }

Result<void, IllegalMove> move_to(Execution& execution, Status to) {
    if (!may_move(execution.status, to)) return IllegalMove{execution.status, to};
    execution.status = to;
    if (terminal(to)) {
        execution.ready = false;
        execution.due_at.reset();
        execution.timeout_at.reset();
        execution.gate.reset();
        execution.gate_since.reset();
    } else {
        execution.completed_at.reset();
    }
    return {};
}

}
