#include "platform/span_json.h"

#include <nlohmann/json.hpp>

namespace impresario::platform {

using nlohmann::json;

namespace {

std::string nanoseconds(domain::TimePoint at) {
    return std::to_string(std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count());
}

json value_json(const Attribute::second_type& value) {
    if (const auto* text = std::get_if<std::string>(&value)) return {{"stringValue", *text}};
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return {{"intValue", std::to_string(*whole)}};
    if (const auto* real = std::get_if<double>(&value)) return {{"doubleValue", *real}};
    return {{"boolValue", std::get<bool>(value)}};
}

json attributes_json(const std::vector<Attribute>& attributes) {
    json list = json::array();
    for (const auto& [key, value] : attributes) list.push_back({{"key", key}, {"value", value_json(value)}});
    return list;
}

json span_json(const Span& span) {
    json value{{"traceId", hex(span.trace)},
               {"spanId", hex(span.id)},
               {"name", span.name},
               {"kind", static_cast<int>(span.kind)},
               {"startTimeUnixNano", nanoseconds(span.start)},
               // A clock that was set back meanwhile makes no negative length.
               {"endTimeUnixNano", nanoseconds(std::max(span.start, span.end))},
               {"attributes", attributes_json(span.attributes)},
               {"status", json::object()}};
    if (span.parent) value["parentSpanId"] = hex(*span.parent);
    if (!span.state.empty()) value["traceState"] = span.state;
    if (span.status != SpanStatus::unset) value["status"]["code"] = static_cast<int>(span.status);
    if (!span.message.empty()) value["status"]["message"] = span.message;
    return value;
}

}

std::string spans_json(const std::vector<Span>& spans, const std::vector<Attribute>& resource,
                       const std::string& version) {
    json list = json::array();
    for (const auto& span : spans) list.push_back(span_json(span));
    const json request{
        {"resourceSpans",
         {{{"resource", {{"attributes", attributes_json(resource)}}},
           {"scopeSpans",
            {{{"scope", {{"name", "impresario"}, {"version", version}}}, {"spans", std::move(list)}}}}}}}};
    // What came from outside may be no UTF-8.
    return request.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<PartialSuccess> partial_success(const std::string& body) {
    const json answer = json::parse(body, nullptr, false);
    if (!answer.is_object() || !answer.contains("partialSuccess") || !answer["partialSuccess"].is_object())
        return std::nullopt;
    const auto& partial = answer["partialSuccess"];
    PartialSuccess found;
    if (partial.contains("rejectedSpans")) {
        // As text by the mapping, as a number by many.
        const auto& rejected = partial["rejectedSpans"];
        if (rejected.is_number_integer()) found.rejected = rejected.get<std::int64_t>();
        if (rejected.is_string()) found.rejected = std::strtoll(rejected.get<std::string>().c_str(), nullptr, 10);
    }
    if (partial.contains("errorMessage") && partial["errorMessage"].is_string())
        found.message = partial["errorMessage"].get<std::string>();
    if (found.rejected <= 0) return std::nullopt;
    return found;
}

}
