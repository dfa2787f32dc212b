#pragma once
// What the hub remembers of executions, as values, and how time divides it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "domain/execution.h"
#include "domain/id.h"
#include "domain/money.h"
#include "domain/time.h"

namespace impresario::subworkflows::intelligence_engine {

/// One execution as GET /v1/executions tells of it; only what the engine looks at.
struct Execution {
    domain::ExecutionId id;
    domain::Status status = domain::Status::queued;
    /// Why it ended so, in the hub's word (attempts_exhausted, rejected_by_peer, timeout …); empty if it said none.
    std::string reason;
    domain::TimePoint created_at;
    std::optional<domain::TimePoint> started_at;
    std::optional<domain::TimePoint> completed_at;
    int retry_count = 0;
    std::optional<std::int64_t> duration_ms;
    std::optional<domain::MicroUsd> cost;
    std::optional<std::int64_t> items;

    /// The time it belongs to: its end, or while it has none its creation.
    domain::TimePoint at() const { return completed_at.value_or(created_at); }
    /// When it began to run; nullopt while it never did.
    std::optional<domain::TimePoint> ran_at() const { return started_at ? started_at : completed_at; }
    bool completed() const { return status == domain::Status::completed; }
    bool failed() const { return status == domain::Status::failed || status == domain::Status::dead; }
    /// Has an outcome that counts for a failure rate; a cancelled one does not.
    bool settled() const { return completed() || failed(); }
};

/// What is known of one workflow type.
struct TypeHistory {
    std::string workflow_type;
    /// In no particular order.
    std::vector<Execution> executions;
    /// Complete from here on.
    domain::TimePoint since;
    /// There was more than one reading may hold, and the oldest part is missing.
    bool cut = false;
    /// Why it could not be read; empty when it was.
    std::string failure;
};

/// From `from` up to, not including, `to`.
struct Span {
    domain::TimePoint from;
    domain::TimePoint to;
    bool contains(domain::TimePoint at) const { return from <= at && at < to; }
};

/// What is looked at, and what it is compared with: the window ends now, the baseline ends where the window begins.
struct Windows {
    Span baseline;
    Span window;
};
Windows windows_at(domain::TimePoint now, int hours, int baseline_hours);

/// A type's executions in the two spans by at(), in its order (the id breaks ties). Borrows from the history.
struct Parts {
    std::vector<const Execution*> baseline;
    std::vector<const Execution*> window;
};
Parts divide(const TypeHistory& history, const Windows& windows);

/// 00:00 UTC of the day that holds `at`.
domain::TimePoint midnight(domain::TimePoint at);
/// 0 to 23, UTC.
int hour_of_day(domain::TimePoint at);
/// Saturday or Sunday, UTC. Workdays are only compared with workdays where that matters.
bool weekend(domain::TimePoint at);

/// `a + b`, staying at domain::kMostMoney instead of overflowing; exact below it.
domain::MicroUsd add(domain::MicroUsd a, domain::MicroUsd b);

/// What a metric is measured on: executions that completed. A failed one stopped somewhere, and says nothing about what
/// a whole one takes.
enum class Metric { cost, duration, cost_per_item };

/// Micro-dollars, milliseconds, or micro-dollars per item; nullopt where the execution does not say.
std::optional<double> value_of(const Execution& execution, Metric metric);

}
