#pragma once
// W3C Trace Context: which trace a request belongs to (https://www.w3.org/TR/trace-context/). Pure.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "domain/id.h"

namespace impresario::platform {

using TraceId = std::array<std::uint8_t, 16>;
using SpanId = std::array<std::uint8_t, 8>;

std::string hex(const TraceId& id);
std::string hex(const SpanId& id);

/// What somebody sent with a request.
struct TraceContext {
    TraceId trace{};
    SpanId parent{};
    bool sampled = true;
    /// `tracestate` as it came, at most 512 bytes; passed on unread.
    std::string state;
};

/// nullopt: there is none, or it is none by the recommendation; then a trace is begun anew, and nobody is refused.
std::optional<TraceContext> parse_trace_context(std::string_view traceparent, std::string_view tracestate);
std::string traceparent(const TraceId& trace, const SpanId& span, bool sampled);

/// One text for a column: `traceparent`, and on a second line `tracestate` where there is one.
std::string stored(const TraceContext& context);
std::optional<TraceContext> stored_trace_context(std::string_view text);

/// The trace of an execution that came with none.
TraceId trace_of(const domain::ExecutionId& execution);
/// The span of an execution from one opening to its end, and that of an attempt: whoever knows the ids knows them.
SpanId span_of(const domain::ExecutionId& execution, int opening);
SpanId span_of(const domain::AttemptId& attempt);

}
