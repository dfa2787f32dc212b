#pragma once
// The answer of a sub-workflow as values. platform/callback_json.h reads and writes its wire form.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/id.h"
#include "domain/money.h"
#include "domain/time.h"

namespace impresario::domain {

enum class CallbackStatus { completed, failed, timeout, running, partial };

std::string_view name(CallbackStatus status);
std::optional<CallbackStatus> parse_callback_status(std::string_view text);

/// How one item of a batch ended, in a `partial` callback.
struct ItemOutcome {
    std::string key;
    bool failed = false;
    /// The item as it came, JSON text.
    std::string json;
};

/// What a sub-workflow used of a provider; `remaining` and the times teach the limiter.
struct Usage {
    std::string provider;
    std::int64_t api_calls = 0;
    std::int64_t tokens = 0;
    std::optional<MicroUsd> cost;
    std::optional<std::int64_t> remaining;
    std::optional<TimePoint> reset_at;
    std::optional<Duration> retry_after;
};

struct Callback {
    CallbackStatus status = CallbackStatus::completed;
    /// Optional; when present it must be the execution that the URL names.
    std::optional<ExecutionId> execution_id;
    /// JSON text; empty when absent.
    std::string result_data;
    std::string error_data;
    std::string error_message;
    /// error_data.retry_recommended; a peer that says false is obeyed.
    bool retry_recommended = true;
    /// error_data.retry_after_seconds: not before this.
    std::optional<Duration> retry_after;

    std::optional<std::int64_t> duration_ms;
    std::optional<std::int64_t> items_processed;
    std::optional<std::int64_t> api_calls;
    std::optional<std::int64_t> database_queries;
    /// The most that it took at once.
    std::optional<std::int64_t> memory_mb;
    std::optional<MicroUsd> cost;
    std::vector<Usage> usage;

    /// Heartbeat: JSON text of `progress`; empty when absent.
    std::string progress;
    std::vector<ItemOutcome> items;

    /// The peer's own id for the run ($execution.id in n8n), kept for the reader.
    std::string peer_reference;

    /// Something in it could not be stored as it came and was replaced (U+FFFD, or a number by its text).
    bool sanitised = false;
    /// The cost was finer than a micro-dollar and was rounded up.
    bool cost_rounded = false;
};

}
