#pragma once
// One requested run of a workflow type, its statuses and the legal moves between them.

#include <optional>
#include <string>
#include <string_view>

#include "domain/gate.h"
#include "domain/id.h"
#include "domain/lane.h"
#include "domain/money.h"
#include "domain/result.h"
#include "domain/thrift.h"
#include "domain/time.h"

namespace impresario::domain {

enum class Status { queued, analyzing, dispatching, running, retrying, completed, failed, cancelled, dead };
inline constexpr int kStatuses = 9;

std::string_view name(Status status);
std::optional<Status> parse_status(std::string_view text);

/// completed, failed, cancelled, dead: an outcome has been recorded. Of these only `failed` and `dead` can reopen.
bool terminal(Status status);

/// The table of legal moves (design, Statuses). The SQL function execution_may_move holds the same one; a test keeps
/// the two equal. dead, failed → completed is an accepted late result; dead, failed → queued a dead-letter retry.
bool may_move(Status from, Status to);

/// Where an attempt stands (protocol R5). A callback is valid in all but `closed`.
enum class AttemptState { granted, sending, accepted, unknown, waiting_redelivery, closed };

std::string_view name(AttemptState state);
std::optional<AttemptState> parse_attempt_state(std::string_view text);

/// The one attempt that is alive. It lives in the execution's own row, so that one lock covers both (protocol R8).
struct LiveAttempt {
    AttemptId id;
    /// 1 for the first attempt of an execution.
    int number = 0;
    AttemptState state = AttemptState::granted;
    /// Who delivers it.
    NodeId node;
    /// Grows when the attempt passes to another node; a writer with an older one changes nothing.
    int fence = 0;
    TimePoint lease_until;
    TimePoint granted_at;
    std::optional<TimePoint> accepted_at;
    EndpointId endpoint;
    /// Requests that have left for it so far.
    int deliveries = 0;
    /// What it says it has cost so far; what it says at its end stands instead.
    std::optional<MicroUsd> cost;
    /// What budgets hold, or held, for its latest grant; nullopt: it falls on none.
    std::optional<MicroUsd> reserved;
    /// What it was asked to save when it was granted.
    Thrift thrift;

    /// Whether it takes a slot of its lane: everything but waiting (protocol R6) and closed.
    bool holds_slot() const { return state != AttemptState::waiting_redelivery && state != AttemptState::closed; }
    friend bool operator==(const LiveAttempt&, const LiveAttempt&) = default;
};

/// The hot row of an execution, without its payloads.
struct Execution {
    ExecutionId id;
    Lane lane;
    Status status = Status::queued;
    /// What the row says where this hub does not know it: a newer hub wrote it (protocol R23). Such an execution is
    /// shown and left alone; `status` says nothing about it.
    std::string foreign_status;
    /// 0 (idle) to 100 (most urgent).
    int priority = 50;

    TimePoint created_at;
    TimePoint scheduled_at;
    /// In the ready index: may be claimed as far as the row itself knows.
    bool ready = false;
    /// When it last became due; max_wait counts from here (protocol R16).
    std::optional<TimePoint> ready_at;
    /// When a timer makes it ready: its scheduled time, its next retry, or the end of `analyzing`.
    std::optional<TimePoint> due_at;
    std::optional<TimePoint> started_at;
    std::optional<TimePoint> completed_at;
    std::optional<TimePoint> timeout_at;

    int retry_count = 0;
    int max_retries = 3;
    std::optional<LiveAttempt> attempt;
    /// Attempts made so far, the live one included.
    int attempts = 0;
    /// How often it was opened: 1, plus one for each reopening. One outcome per opening (P3).
    int opening = 1;
    /// The number of its latest event (protocol R20).
    int last_seq = 0;

    std::optional<ExecutionId> parent;
    std::optional<AttemptId> parent_attempt;
    int child_ordinal = 0;
    /// Children of a partial success that have not ended (protocol R12).
    int open_children = 0;
    std::optional<BatchId> batch;

    /// Of its input (resource_manager/estimate.h).
    int size_class = 0;
    /// Value of the type's concurrency key, taken from the input when it was enqueued; empty if it has none.
    std::string concurrency_key;
    /// What its input says of its needs, likewise (domain/need_amounts.h); empty: nothing.
    std::string need_amounts;
    /// The keys that limits of its providers take from its input, likewise (domain/limit_keys.h); empty: none.
    std::string limit_keys;
    /// A gate of its own, as last recorded.
    std::optional<Gate> gate;
    std::optional<TimePoint> gate_since;
    /// Why it is in this status, in one word: attempts_exhausted, rejected_by_peer, timeout, lost …
    std::string reason;

    std::optional<std::int64_t> duration_ms;
    std::optional<MicroUsd> cost;
    std::optional<std::int64_t> items_processed;
    /// The latest heartbeat's progress as JSON text; empty if there was none.
    std::string progress;

    /// Whether it may be claimed as far as the row itself knows, gates aside.
    bool claimable() const {
        return (status == Status::queued || status == Status::retrying) && !due_at && foreign_status.empty();
    }
    /// An SQL caller asked for a retry and the hub has not decided about it yet (R21).
    bool awaits_decision() const { return status == Status::retrying && reason == kAskedBySql; }
    static constexpr std::string_view kAskedBySql = "sql";
    bool holds_slot() const { return attempt && attempt->holds_slot(); }
    /// How long it has run at `now`; nullopt before it began. Never negative, though `now` may be before it began: a
    /// transaction's time is when it began itself, and it may have come to the row later than one that began after it.
    std::optional<std::int64_t> ran_ms(TimePoint now) const {
        if (!started_at) return std::nullopt;
        return now < *started_at ? 0 : (now - *started_at).count() / 1000;
    }
};

/// A move that the table does not allow.
struct IllegalMove {
    Status from;
    Status to;
    std::string text() const;
};

/// Moves `execution` to `to` and keeps what follows from the status alone: a terminal one is neither ready nor due, has
/// no deadline and no gate. Leaves it as it was where the move is illegal.
Result<void, IllegalMove> move_to(Execution& execution, Status to);

}
