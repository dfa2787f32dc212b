#include "webhooks/outcome.h"

#include <gtest/gtest.h>

#include "webhooks/signed_post.h"

namespace impresario::webhooks {
namespace {

using platform::HttpAnswer;
using platform::NoAnswer;
using platform::NotSent;
using std::chrono::hours;
using std::chrono::seconds;

const auto kNow = *domain::parse_time("2026-11-27T12:00:00Z");
const OutcomeRules kRules{false, false, {502, 504, 520, 521, 522, 523, 524}};

DeliveryOutcome of(int status, std::string body = "", platform::Headers headers = {}, OutcomeRules rules = kRules) {
    HttpAnswer answer;
    answer.status = status;
    answer.body = std::move(body);
    answer.headers = std::move(headers);
    return classify(answer, rules, kNow);
}

// The design's paragraph on outcomes, status by status.
TEST(Outcome, FollowsTheDesign) {
    for (const int status : {200, 201, 202, 204, 299, 409}) EXPECT_EQ(name(of(status)), "accepted") << status;
    for (const int status : {408, 425, 500, 501, 503, 505, 599}) EXPECT_EQ(name(of(status)), "transient") << status;
    for (const int status : {502, 504, 520, 521, 522, 523, 524}) EXPECT_EQ(name(of(status)), "unknown") << status;
    EXPECT_EQ(name(of(429)), "overload");
    EXPECT_EQ(name(of(503, "", {{"Retry-After", "7"}})), "overload");
    for (const int status : {401, 403, 404, 405, 410, 301, 302, 307, 308})
        EXPECT_EQ(name(of(status)), "endpoint") << status;
    for (const int status : {400, 402, 406, 413, 415, 422, 451, 499}) EXPECT_EQ(name(of(status)), "rejected") << status;
    for (const int status : {0, 600, 999}) EXPECT_EQ(name(of(status)), "unknown") << status;
}

TEST(Outcome, A2xxWhoseBodyIsACallbackIsDone) {
    const auto done = of(200, R"({"status":"completed","result_data":{"x":1}})");
    ASSERT_EQ(name(done), "done");
    EXPECT_NE(std::get<Done>(done).callback.find("completed"), std::string::npos);
    EXPECT_EQ(name(of(200, R"({"message":"Workflow was started"})")), "accepted");
}

TEST(Outcome, AKnownDeduplicatorMakesAProxysErrorTransient) {
    OutcomeRules rules = kRules;
    rules.deduplicates = true;
    EXPECT_EQ(name(of(502, "", {}, rules)), "transient");
    EXPECT_TRUE(std::get<Accepted>(of(202, "", {{"Webhook-Deduplicates", "true"}})).deduplicates);
}

TEST(Outcome, RejectionsCanBeRetriedPerType) {
    OutcomeRules rules = kRules;
    rules.retry_rejected = true;
    EXPECT_EQ(name(of(422, "", {}, rules)), "transient");
    EXPECT_EQ(name(of(403, "", {}, rules)), "endpoint");
}

TEST(Outcome, WhatDidNotLeaveIsTransientWhatLeftIsUnknown) {
    EXPECT_EQ(name(classify(NotSent{NotSent::Why::connect, "refused", ""}, kRules, kNow)), "transient");
    EXPECT_EQ(name(classify(NotSent{NotSent::Why::resolve, "no such name", ""}, kRules, kNow)), "transient");
    EXPECT_EQ(name(classify(NotSent{NotSent::Why::write, "broken", ""}, kRules, kNow)), "transient");
    EXPECT_EQ(name(classify(NotSent{NotSent::Why::denied, "denied", ""}, kRules, kNow)), "endpoint");
    EXPECT_EQ(name(classify(NotSent{NotSent::Why::tls, "bad certificate", ""}, kRules, kNow)), "endpoint");
    EXPECT_EQ(name(classify(NoAnswer{"reset", ""}, kRules, kNow)), "unknown");
}

TEST(RetryAfter, IsClampedAndReadBothWays) {
    EXPECT_EQ(retry_after("7", kNow), seconds{7});
    EXPECT_EQ(retry_after("0", kNow), seconds{1});
    EXPECT_EQ(retry_after("-5", kNow), seconds{1});
    EXPECT_EQ(retry_after("999999999", kNow), hours{24});
    EXPECT_EQ(retry_after("99999999999999999999999", kNow), hours{24});
    EXPECT_EQ(retry_after("-9000000000000000000", kNow), seconds{1});
    EXPECT_EQ(retry_after("-99999999999999999999999", kNow), seconds{1});
    EXPECT_EQ(retry_after("Fri, 27 Nov 2026 12:00:30 GMT", kNow), seconds{30});
    EXPECT_EQ(retry_after("Fri, 27 Nov 2020 12:00:30 GMT", kNow), seconds{1});
    for (const auto* text : {"", "soon", "7 seconds", "Fri, 99 Nov 2026 12:00:30 GMT", "1e3", "-2i,7J 24262:2:0",
                             "Fri, 27 Nov 2026 12:00:30 PST", "-ri, 27 Nov 2026 12:00:30 GMT"})
        EXPECT_FALSE(retry_after(text, kNow)) << text;
    EXPECT_EQ(std::get<Overload>(of(429, "", {{"retry-after", "nonsense"}})).retry_after, seconds{5});
}

TEST(LoggableAnswer, IsCutStorableAndWithoutSecrets) {
    const domain::Secret secret("top-secret-token");
    EXPECT_EQ(loggable_answer("you sent top-secret-token!", {&secret}), "you sent [redacted]!");
    const std::string body = std::string(4090, 'x') + "top-secret-token" + std::string(100, 'y');
    const auto cut = loggable_answer(body, {&secret});
    EXPECT_LE(cut.size(), 4096U);
    EXPECT_EQ(cut.find("top-s"), std::string::npos) << "not even half of it across the edge";
    EXPECT_EQ(loggable_answer(std::string("a\0b", 3), {}),
              "a\xEF\xBF\xBD"
              "b");
}

}
}
