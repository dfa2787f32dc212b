#include "platform/trace_context.h"

#include <algorithm>

#include "platform/crypto.h"

namespace impresario::platform {

namespace {

constexpr std::size_t kLongestState = 512;

template <class Id>
std::string_view bytes(const Id& id) {
    return {reinterpret_cast<const char*>(id.data()), id.size()};
}

std::optional<std::uint8_t> digit(char c) {
    if (c >= '0' && c <= '9') return static_cast<std::uint8_t>(c - '0');
    // Capital letters are not allowed.
    if (c >= 'a' && c <= 'f') return static_cast<std::uint8_t>(c - 'a' + 10);
    return std::nullopt;
}

template <std::size_t n>
std::optional<std::array<std::uint8_t, n>> from_hex(std::string_view text) {
    std::array<std::uint8_t, n> into{};
    for (std::size_t i = 0; i < n; ++i) {
        const auto high = digit(text[2 * i]);
        const auto low = digit(text[2 * i + 1]);
        if (!high || !low) return std::nullopt;
        into[i] = static_cast<std::uint8_t>(*high << 4 | *low);
    }
    return into;
}

template <class Id>
bool nothing(const Id& id) {
    return std::all_of(id.begin(), id.end(), [](std::uint8_t each) { return each == 0; });
}

/// The random half of a UUID; its first bits are those of the variant, so it is never all zeros.
template <class Id>
SpanId random_half(const Id& id) {
    SpanId span{};
    std::copy(id.value.begin() + 8, id.value.end(), span.begin());
    return span;
}

}

std::string hex(const TraceId& id) { return hex(bytes(id)); }
std::string hex(const SpanId& id) { return hex(bytes(id)); }

std::optional<TraceContext> parse_trace_context(std::string_view text, std::string_view tracestate) {
    // 00-<32>-<16>-<2>; a later version may go on after another dash.
    if (text.size() < 55 || text[2] != '-' || text[35] != '-' || text[52] != '-') return std::nullopt;
    const auto version = from_hex<1>(text.substr(0, 2));
    const auto trace = from_hex<16>(text.substr(3, 32));
    const auto parent = from_hex<8>(text.substr(36, 16));
    const auto flags = from_hex<1>(text.substr(53, 2));
    if (!version || (*version)[0] == 0xff || !trace || nothing(*trace) || !parent || nothing(*parent) || !flags)
        return std::nullopt;
    if (text.size() > 55 && ((*version)[0] == 0 || text[55] != '-')) return std::nullopt;
    TraceContext context{*trace, *parent, ((*flags)[0] & 1) != 0, {}};
    const bool plain = std::all_of(tracestate.begin(), tracestate.end(), [](char c) { return c >= ' ' && c <= '~'; });
    if (plain && tracestate.size() <= kLongestState) context.state = tracestate;
    return context;
}

std::string traceparent(const TraceId& trace, const SpanId& span, bool sampled) {
    return "00-" + hex(trace) + "-" + hex(span) + (sampled ? "-01" : "-00");
}

std::string stored(const TraceContext& context) {
    auto text = traceparent(context.trace, context.parent, context.sampled);
    if (!context.state.empty()) text += "\n" + context.state;
    return text;
}

std::optional<TraceContext> stored_trace_context(std::string_view text) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos) return parse_trace_context(text, {});
    return parse_trace_context(text.substr(0, end), text.substr(end + 1));
}

TraceId trace_of(const domain::ExecutionId& execution) { return execution.value; }

SpanId span_of(const domain::ExecutionId& execution, int opening) {
    auto span = random_half(execution);
    // Another one for each opening, and the same bits of the variant.
    span[7] = static_cast<std::uint8_t>(span[7] ^ (opening - 1));
    span[6] = static_cast<std::uint8_t>(span[6] ^ ((opening - 1) >> 8));
    return span;
}

SpanId span_of(const domain::AttemptId& attempt) { return random_half(attempt); }

}
