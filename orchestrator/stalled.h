#pragma once
// Executions of which nothing has been heard for a while: what has most likely happened, and what to do. Pure.

#include <optional>
#include <string>
#include <string_view>

#include "domain/execution.h"
#include "domain/gate.h"

namespace impresario::orchestrator {

/// In the order in which they are looked for.
enum class StallCause {
    /// Nobody leads: nothing is decided about anything.
    no_scheduler,
    /// Its node has gone, or does not send what it was given; the scheduler takes it back.
    lost_lease,
    /// It runs, and soon runs out of time.
    deadline_near,
    /// Its endpoint is held, or its breaker is open.
    dead_endpoint,
    /// It was taken by its peer and nothing has come since.
    lost_callback,
    /// It waits, and something stops its lane or itself.
    closed_limiter,
    /// It waits, and nothing stops it but those before it.
    long_queue,
    /// It is due and has not been taken up.
    not_taken_up,
};

std::string_view name(StallCause cause);

/// What is known of one that is active, as the tables say.
struct StallView {
    domain::Execution execution;
    /// When its latest event was.
    domain::TimePoint last_event_at;
    bool led = true;
    /// Of its attempt.
    bool node_alive = true;
    std::string node_name = {};
    std::string endpoint_url = {};
    /// Why the endpoint is left alone, and until when; empty: it is not.
    std::string endpoint_stopped = {};
    std::optional<domain::TimePoint> endpoint_until = {};
    bool has_status_url = false;
    /// Of its lane; its own is the execution's.
    std::optional<domain::Gate> gate = {};
};

struct Stall {
    StallCause cause = StallCause::lost_callback;
    /// One sentence each, for people.
    std::string why;
    std::string action;
    /// As it would be typed.
    std::string command;
};

/// Near is within so much of the deadline.
inline constexpr domain::Duration kDeadlineNear = std::chrono::minutes{1};

Stall classify(const StallView& view, domain::TimePoint now);

}
