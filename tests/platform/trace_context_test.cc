#include "platform/trace_context.h"

#include <gtest/gtest.h>

#include "platform/span_json.h"

namespace impresario::platform {
namespace trace_context_test {

const std::string kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string kSpan = "00f067aa0ba902b7";
const std::string kGood = "00-" + kTrace + "-" + kSpan + "-01";

TEST(TraceContext, ReadsWhatTheRecommendationAllows) {
    const auto read = parse_trace_context(kGood, "vendor=1,other=x");
    ASSERT_TRUE(read);
    EXPECT_EQ(hex(read->trace), kTrace);
    EXPECT_EQ(hex(read->parent), kSpan);
    EXPECT_TRUE(read->sampled);
    EXPECT_EQ(read->state, "vendor=1,other=x");
    EXPECT_FALSE(parse_trace_context("00-" + kTrace + "-" + kSpan + "-00", "")->sampled);
    EXPECT_TRUE(parse_trace_context("00-" + kTrace + "-" + kSpan + "-ff", "")->sampled) << "other flags are not known";
    // A later version is read as far as it is known.
    EXPECT_TRUE(parse_trace_context("cc-" + kTrace + "-" + kSpan + "-01", ""));
    EXPECT_TRUE(parse_trace_context("cc-" + kTrace + "-" + kSpan + "-01-what-the-future-will-be", ""));
}

TEST(TraceContext, WhatIsNoneIsNone) {
    for (const auto& text :
         {std::string(), kGood + "-more", kGood + "x", "ff" + kGood.substr(2), "0" + kGood.substr(1, 53),
          "00-" + std::string(32, '0') + "-" + kSpan + "-01", "00-" + kTrace + "-" + std::string(16, '0') + "-01",
          "00-4BF92F3577B34DA6A3CE929D0E0E4736-" + kSpan + "-01", "00-" + kTrace + "-" + kSpan + "-0g",
          "00_" + kTrace + "-" + kSpan + "-01", "cc-" + kTrace + "-" + kSpan + "-01.more", kGood.substr(0, 54)})
        EXPECT_FALSE(parse_trace_context(text, "")) << text;
}

TEST(TraceContext, AStateThatIsNoneIsLeftOut) {
    EXPECT_EQ(parse_trace_context(kGood, "a=\x01")->state, "");
    EXPECT_EQ(parse_trace_context(kGood, std::string(513, 'a'))->state, "");
    EXPECT_EQ(parse_trace_context(kGood, std::string(512, 'a'))->state.size(), 512U);
}

TEST(TraceContext, ComesBackFromItsColumn) {
    for (const auto* state : {"", "a=1,b=2"}) {
        const auto context = *parse_trace_context(kGood, state);
        const auto again = stored_trace_context(stored(context));
        ASSERT_TRUE(again);
        EXPECT_EQ(traceparent(again->trace, again->parent, again->sampled), kGood);
        EXPECT_EQ(again->state, state);
    }
    EXPECT_FALSE(stored_trace_context(""));
}

TEST(TraceContext, AnExecutionIsATraceOfItsOwn) {
    const auto id = *domain::ExecutionId::parse("018f3c1e-7b2a-7def-8123-456789abcdef");
    EXPECT_EQ(hex(trace_of(id)), "018f3c1e7b2a7def8123456789abcdef");
    EXPECT_EQ(hex(span_of(id, 1)), "8123456789abcdef");
    EXPECT_NE(span_of(id, 2), span_of(id, 1));
    EXPECT_NE(span_of(id, 257), span_of(id, 1));
}

TEST(SpanJson, IsTheMappingOfTheSpecification) {
    const auto context = *parse_trace_context(kGood, "v=1");
    Span span;
    span.trace = context.trace;
    span.id = context.parent;
    span.name = "deliver";
    span.kind = SpanKind::client;
    span.start = *domain::parse_time("2026-11-30T01:02:03.000004Z");
    span.end = span.start - std::chrono::seconds{1};
    span.attributes = {{"a", std::string("\xff")}, {"b", std::int64_t{9007199254740993}}, {"c", 0.5}, {"d", true}};
    span.status = SpanStatus::error;
    span.message = "no";
    span.state = context.state;
    EXPECT_EQ(
        spans_json({span}, {{"service.name", std::string("impresario")}}, "1"),
        R"({"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"impresario"}}]},)"
        R"("scopeSpans":[{"scope":{"name":"impresario","version":"1"},"spans":[{"attributes":[)"
        "{\"key\":\"a\",\"value\":{\"stringValue\":\"\xEF\xBF\xBD\"}},"
        R"({"key":"b","value":{"intValue":"9007199254740993"}},{"key":"c","value":{"doubleValue":0.5}},)"
        R"({"key":"d","value":{"boolValue":true}}],"endTimeUnixNano":"1796000523000004000","kind":3,"name":"deliver",)"
        R"("spanId":"00f067aa0ba902b7","startTimeUnixNano":"1796000523000004000","status":{"code":2,"message":"no"},)"
        R"("traceId":"4bf92f3577b34da6a3ce929d0e0e4736","traceState":"v=1"}]}]}]})");
}

TEST(SpanJson, ReadsHowManyWereNotTaken) {
    EXPECT_FALSE(partial_success("{}"));
    EXPECT_FALSE(partial_success(""));
    EXPECT_FALSE(partial_success(R"({"partialSuccess":{}})"));
    EXPECT_FALSE(partial_success(R"({"partialSuccess":{"rejectedSpans":"0","errorMessage":"slow down"}})"));
    EXPECT_EQ(partial_success(R"({"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}})")->rejected, 3);
    EXPECT_EQ(partial_success(R"({"partialSuccess":{"rejectedSpans":3}})")->rejected, 3);
}

}
}
