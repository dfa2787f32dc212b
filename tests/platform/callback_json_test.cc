#include "platform/callback_json.h"

#include <gtest/gtest.h>

#include "platform/trigger_json.h"

namespace impresario::platform {
namespace callback_json_test {

using domain::CallbackStatus;

TEST(CallbackJson, ReadsTheWholeOf003) {
    const auto callback = parse_callback(
        R"({"execution_id":"018f3c1e-7b2a-7def-8123-456789abcdef","status":"failed","result_data":{"a":1.50},
        "error_data":{"message":"no","stack_trace":"x","retry_recommended":false},
        "metrics":{"duration_ms":12.7,"items_processed":3,"cost_usd":0.0123,"api_calls_made":2},
        "usage":[{"provider":"gemini","api_calls":2,"tokens":100,"cost_usd":"0.01","remaining":5,"reset_at":"2026-11-27T00:00:00Z","retry_after_seconds":1.5}],
        "peer_reference":"n8n-77"})");
    ASSERT_TRUE(callback);
    EXPECT_EQ(callback->status, CallbackStatus::failed);
    EXPECT_EQ(callback->result_data, R"({"a":1.50})") << "numbers keep their digits";
    EXPECT_EQ(callback->error_message, "no");
    EXPECT_FALSE(callback->retry_recommended);
    EXPECT_EQ(callback->duration_ms, 12);
    EXPECT_EQ(callback->cost->value, 12300);
    ASSERT_EQ(callback->usage.size(), 1U);
    EXPECT_EQ(callback->usage[0].cost->value, 10000);
    EXPECT_EQ(callback->usage[0].retry_after, std::chrono::milliseconds{1500});
    EXPECT_EQ(callback->peer_reference, "n8n-77");
}

TEST(CallbackJson, MetricsAndIdAreOptional) {
    const auto callback = parse_callback(R"({"status":"completed"})");
    ASSERT_TRUE(callback);
    EXPECT_FALSE(callback->execution_id);
    EXPECT_FALSE(callback->cost);
    EXPECT_TRUE(callback->retry_recommended);
}

struct Wrong {
    const char* body;
    int status;
    const char* pointer;
};
class CallbackFaults : public ::testing::TestWithParam<Wrong> {};
TEST_P(CallbackFaults, NameTheField) {
    const auto callback = parse_callback(GetParam().body);
    ASSERT_FALSE(callback) << GetParam().body;
    EXPECT_EQ(callback.error().status, GetParam().status) << GetParam().body;
    EXPECT_EQ(callback.error().pointer, GetParam().pointer) << GetParam().body;
}
INSTANTIATE_TEST_SUITE_P(
    Table, CallbackFaults,
    ::testing::Values(Wrong{"", 400, ""}, Wrong{"{", 400, ""}, Wrong{"[]", 422, ""}, Wrong{"{}", 422, "/status"},
                      Wrong{R"({"status":"done"})", 422, "/status"},
                      Wrong{"{\"status\":\"completed\",\"result_data\":\"\xff\xfe\"}", 400, "/result_data"},
                      Wrong{R"({"status":"completed","execution_id":"x"})", 422, "/execution_id"},
                      Wrong{R"({"status":"completed","metrics":{"cost_usd":-1}})", 422, "/metrics/cost_usd"},
                      Wrong{R"({"status":"completed","metrics":{"cost_usd":"NaN"}})", 422, "/metrics/cost_usd"},
                      Wrong{R"({"status":"completed","metrics":{"cost_usd":1e308}})", 422, "/metrics/cost_usd"},
                      Wrong{R"({"status":"completed","metrics":{"cost_usd":1000000000000}})", 422, "/metrics/cost_usd"},
                      Wrong{R"({"status":"completed","usage":[{"provider":"a","cost_usd":999999999999},
                            {"provider":"b","cost_usd":1}]})",
                            422, "/usage"},
                      Wrong{R"({"status":"completed","usage":[{"provider":"a","tokens":9223372036854775807}]})", 422,
                            "/usage/0/tokens"},
                      Wrong{R"({"status":"completed","metrics":{"items_processed":-5}})", 422,
                            "/metrics/items_processed"},
                      Wrong{R"({"status":"completed","metrics":[]})", 422, "/metrics"},
                      Wrong{R"({"status":"completed","usage":[{}]})", 422, "/usage/0/provider"},
                      Wrong{R"({"status":"partial"})", 422, "/items"},
                      Wrong{R"({"status":"partial","items":[]})", 422, "/items"},
                      Wrong{R"({"status":"partial","items":[{"key":"a","status":"maybe"}]})", 422, "/items/0/status"},
                      Wrong{R"({"status":"failed","error_data":{"retry_after_seconds":-3}})", 422,
                            "/error_data/retry_after_seconds"}));

TEST(CallbackJson, WhatOnlyTeachesTheLimiterLosesNoResult) {
    const auto usage = [](const std::string& members) {
        const auto callback = parse_callback(R"({"status":"completed","usage":[{"provider":"a",)" + members + "}]}");
        EXPECT_TRUE(callback) << members;
        return callback ? callback->usage.at(0) : domain::Usage{};
    };
    EXPECT_EQ(usage(R"("remaining":-5)").remaining, 0);
    EXPECT_EQ(usage(R"("remaining":2.9)").remaining, 2);
    for (const auto* nothing : {"1e300", "1e999", "\"many\"", "null", "[1]", "9223372036854775808"})
        EXPECT_FALSE(usage(std::string("\"remaining\":") + nothing).remaining) << nothing;
    for (const auto* nothing : {"\"infinity\"", "\"soon\"", "17", "null", "\"2026-02-30T00:00:00Z\""})
        EXPECT_FALSE(usage(std::string("\"reset_at\":") + nothing).reset_at) << nothing;
    EXPECT_TRUE(usage(R"("reset_at":"1999-01-01T00:00:00Z")").reset_at);
    EXPECT_EQ(usage(R"("retry_after_seconds":1e9)").retry_after, std::chrono::hours{24});
    for (const auto* nothing : {"-1", "0", "1e999", "\"NaN\"", "null", "{}"})
        EXPECT_FALSE(usage(std::string("\"retry_after_seconds\":") + nothing).retry_after) << nothing;
}

TEST(CallbackJson, UsageGoesThereAndBack) {
    domain::Callback callback;
    domain::Usage used;
    used.provider = "gemini";
    used.api_calls = 3;
    used.tokens = 120;
    used.cost = domain::MicroUsd{1250};
    used.remaining = 7;
    used.reset_at = domain::parse_time("2026-11-27T00:00:00Z");
    used.retry_after = std::chrono::milliseconds{1500};
    callback.usage = {used};
    const auto read = parse_callback(callback_json(callback));
    ASSERT_TRUE(read) << read.error().what;
    ASSERT_EQ(read->usage.size(), 1U);
    const auto& back = read->usage[0];
    EXPECT_EQ(back.provider, used.provider);
    EXPECT_EQ(back.api_calls, used.api_calls);
    EXPECT_EQ(back.tokens, used.tokens);
    EXPECT_EQ(back.cost, used.cost);
    EXPECT_EQ(back.remaining, used.remaining);
    EXPECT_EQ(back.reset_at, used.reset_at);
    EXPECT_EQ(back.retry_after, used.retry_after);
}

TEST(CallbackJson, AFailureReportCanAlwaysBeStored) {
    const auto callback =
        parse_callback(R"({"status":"failed","error_data":{"message":"a\u0000b"},"result_data":{"\ud800":1E100000}})");
    ASSERT_TRUE(callback);
    EXPECT_TRUE(callback->sanitised);
    EXPECT_EQ(callback->error_message,
              "a\xEF\xBF\xBD"
              "b");
}

TEST(CallbackJson, APartialWithoutFailuresIsComplete) {
    const auto whole = parse_callback(R"({"status":"partial","items":[{"key":"a","status":"completed"}]})");
    EXPECT_EQ(whole->status, CallbackStatus::completed);
    const auto again = parse_callback(callback_json(*whole));
    EXPECT_EQ(again->status, CallbackStatus::completed);
    EXPECT_EQ(again->items.size(), 1U) << "what it lists is not lost on the way";
    const auto partial = parse_callback(
        R"({"status":"partial","items":[{"key":"a","status":"completed"},{"key":7,"status":"failed","error":"x"}]})");
    ASSERT_TRUE(partial);
    EXPECT_EQ(partial->status, CallbackStatus::partial);
    EXPECT_EQ(partial->items[1].key, "7");
    EXPECT_TRUE(partial->items[1].failed);
}

TEST(CallbackJson, AnAcknowledgementIsNotAResult) {
    for (const auto* body :
         {"", "ok", "[]", R"({"message":"Workflow was started"})", R"({"accepted":true})", R"({"status":"accepted"})",
          R"({"status":"running","result_data":1})", R"({"status":"completed"})"})
        EXPECT_FALSE(looks_like_callback(body)) << body;
    EXPECT_TRUE(looks_like_callback(R"({"status":"completed","result_data":{}})"));
    EXPECT_TRUE(looks_like_callback(R"({"status":"failed","error_data":{"message":"x"}})"));
}

TEST(TriggerJson, GoesThereAndBack) {
    domain::Trigger trigger;
    trigger.execution_id = *domain::ExecutionId::parse("018f3c1e-7b2a-7def-8123-456789abcdef");
    trigger.organization_id = "default";
    trigger.workflow_type = "seo \"monitor\"\n";
    trigger.priority = 77;
    trigger.input_data = R"({"big":12345678901234567890.10,"s":"é"})";
    trigger.timeout_seconds = 60;
    trigger.deadline = domain::from_micros(1764282191123456);
    trigger.callback_url = "http://hub/v1/callbacks/x";
    trigger.callback_token = domain::Secret("icb_token");
    trigger.attempt = 2;
    const auto read = parse_trigger(trigger_json(trigger));
    ASSERT_TRUE(read) << read.error().what;
    EXPECT_EQ(read->execution_id, trigger.execution_id);
    EXPECT_EQ(read->workflow_type, trigger.workflow_type);
    EXPECT_EQ(read->input_data, trigger.input_data);
    EXPECT_EQ(read->deadline, trigger.deadline);
    EXPECT_EQ(read->attempt, 2);
    EXPECT_EQ(read->callback_token.reveal(), "icb_token");
    EXPECT_FALSE(parse_trigger("{}"));
    EXPECT_FALSE(parse_trigger("nonsense"));
}

}
}
