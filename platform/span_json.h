#pragma once
// Spans as the body of an OTLP/HTTP request in JSON: ExportTraceServiceRequest of opentelemetry-proto, with the mapping
// that the OTLP specification sets for JSON (ids in hex, 64-bit numbers as text, enums as numbers).

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "domain/time.h"
#include "platform/trace_context.h"

namespace impresario::platform {

enum class SpanKind { internal = 1, server = 2, client = 3, producer = 4, consumer = 5 };
enum class SpanStatus { unset = 0, ok = 1, error = 2 };

using Attribute = std::pair<std::string, std::variant<std::string, std::int64_t, double, bool>>;

struct Span {
    TraceId trace{};
    SpanId id{};
    std::optional<SpanId> parent;
    std::string state;
    std::string name;
    SpanKind kind = SpanKind::internal;
    domain::TimePoint start;
    domain::TimePoint end;
    std::vector<Attribute> attributes;
    SpanStatus status = SpanStatus::unset;
    std::string message;
};

/// `resource`: who says so, such as service.name.
std::string spans_json(const std::vector<Span>& spans, const std::vector<Attribute>& resource,
                       const std::string& version);

/// Of the answer: how many of them the collector has not taken, and why. nullopt: it has taken all.
struct PartialSuccess {
    std::int64_t rejected = 0;
    std::string message;
};
std::optional<PartialSuccess> partial_success(const std::string& body);

}
