#include "subworkflows/workflow_type.h"

#include <gtest/gtest.h>

#include "subworkflows/workflow_type_json.h"

namespace impresario::subworkflows {
namespace {

const domain::Lane kLane{"default", "seo"};

TEST(WorkflowType, ReadsAWholeDefinition) {
    const auto type = parse_workflow_type(
        R"({"endpoints":["http://a/x",{"url":"https://b/y","weight":3,"deduplicates":true,"max_in_flight":5}],
        "timeout_seconds":60,"max_concurrency":4,"concurrency_key":"/customer","retry_policy":{"max_retries":2,"base_seconds":1.5,"jitter":[0,0]},
        "importance":"high","bearer":"b","signing_secrets":["whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"],"headers":{"x-team":"seo"},
        "cost_estimate_usd":0.1,"call_estimates":[{"provider":"gemini","calls":3,"cost_usd":"0.000001"}]})",
        kLane, nullptr);
    ASSERT_TRUE(type) << type.error().front().pointer << type.error().front().what;
    EXPECT_EQ(type->endpoints.size(), 2U);
    EXPECT_EQ(type->endpoints[1].weight, 3);
    EXPECT_TRUE(type->endpoints[1].known_to_deduplicate());
    EXPECT_EQ(type->retry.max_retries, 2);
    EXPECT_EQ(type->retry.base, std::chrono::milliseconds{1500});
    EXPECT_EQ(type->cost_estimate->value, 100000);
    EXPECT_EQ(type->needs[0].cost.value, 1);
    EXPECT_EQ(type->secrets.headers[0].second.reveal(), "seo");
}

TEST(WorkflowType, RepeatsSafelyOnlyWhereTheNextDeliveryComesToTheSameDeduplicator) {
    WorkflowType type;
    Endpoint one;
    one.id.value[15] = 1;
    one.deduplicates = true;
    type.endpoints = {one};
    EXPECT_TRUE(type.repeats_safely(one.id));
    EXPECT_FALSE(type.repeats_safely(domain::EndpointId{})) << "it has been removed";
    Endpoint other = one;
    other.id.value[15] = 2;
    type.endpoints.push_back(other);
    EXPECT_FALSE(type.repeats_safely(one.id)) << "the other has not seen it";
    type.endpoints = {one};
    type.endpoints[0].deduplicates = false;
    EXPECT_FALSE(type.repeats_safely(one.id));
}

TEST(WorkflowType, NeverShowsASecretAndKeepsThoseThatAreNotSent) {
    const auto first = parse_workflow_type(
        R"({"endpoints":["http://a/x"],"bearer":"b3arer","signing_secrets":["whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"],"headers":{"x-k":"v4lue"}})",
        kLane, nullptr);
    ASSERT_TRUE(first);
    const auto shown = workflow_type_json(*first);
    for (const auto* secret : {"b3arer", "AAECAw", "v4lue"}) EXPECT_EQ(shown.find(secret), std::string::npos);
    // What GET shows can be sent back with PUT.
    const auto again = parse_workflow_type(shown, kLane, &*first);
    ASSERT_TRUE(again) << again.error().front().pointer << " " << again.error().front().what;
    EXPECT_EQ(again->secrets.bearer.reveal(), "b3arer");
    EXPECT_EQ(again->secrets.signing.size(), 1U);
    EXPECT_EQ(again->secrets.headers.size(), 1U);
    EXPECT_TRUE(parse_workflow_type(R"({"bearer":null})", kLane, &*first)->secrets.bearer.empty());
}

TEST(WorkflowType, ListsEveryFaultByPointer) {
    const auto type = parse_workflow_type(
        R"({"endpoints":[{"url":"ftp://x","weight":0},{"url":"ftp://x"}],"timeout_seconds":0,"max_concurrency":-1,"concurrency_key":"customer",
        "retry_policy":"patient","importance":"urgent","signing_secrets":["whsec_x"],"headers":{"host":"x","bad name":"y"},"cost_estimate_usd":-1,"tiemout":3,
        "call_estimates":[{"calls":-1}]})",
        kLane, nullptr);
    ASSERT_FALSE(type);
    std::set<std::string> pointers;
    for (const auto& fault : type.error()) pointers.insert(fault.pointer);
    for (const auto* expected :
         {"/endpoints/0/url", "/endpoints/0/weight", "/endpoints/1/url", "/timeout_seconds", "/max_concurrency",
          "/concurrency_key", "/retry_policy", "/importance", "/signing_secrets/0", "/headers/host", "/headers",
          "/cost_estimate_usd", "/tiemout", "/call_estimates/0/provider", "/call_estimates/0/calls"})
        EXPECT_TRUE(pointers.contains(expected)) << expected;
}

TEST(WorkflowType, NumbersTooWideForTheirColumnsAreNamed) {
    struct Wide {
        const char* definition;
        const char* pointer;
    };
    for (const auto& [definition, pointer] :
         {Wide{R"({"unknown_statuses":[4294967798]})", "/unknown_statuses"},  // 502 in 32 bits
          Wide{R"({"max_concurrency":18446744069414584325})", "/max_concurrency"},
          Wide{R"({"retry_policy":{"max_retries":2147483648}})", "/retry_policy/max_retries"},
          Wide{R"({"timeout_seconds":1e300})", "/timeout_seconds"},
          Wide{R"({"cost_estimate_usd":1000000000000})", "/cost_estimate_usd"},
          Wide{R"({"call_estimates":[{"provider":"a","calls":4294967296}]})", "/call_estimates/0/calls"},
          Wide{R"({"call_estimates":[{"provider":"a","cost_usd":999999999999},{"provider":"b","cost_usd":1}]})",
               "/call_estimates"}}) {
        const auto type = parse_workflow_type(definition, kLane, nullptr);
        ASSERT_FALSE(type) << definition;
        EXPECT_EQ(type.error().front().pointer, pointer) << definition;
    }
}

TEST(WorkflowType, RetryPoliciesSurviveTheDatabase) {
    for (const auto* name : {"master", "engine", "playbook", "none"}) {
        const auto policy = *domain::named_retry_policy(name);
        EXPECT_EQ(stored_retry_policy(retry_policy_json(policy), policy.max_retries), policy) << name;
    }
}

}
}
