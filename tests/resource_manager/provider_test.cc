#include <gtest/gtest.h>

#include "resource_manager/provider_json.h"

namespace impresario::resource_manager {
namespace provider_test {

std::string faults(const std::string& limit) {
    const auto parsed = parse_provider("{\"limits\": [" + limit + "]}", "gemini");
    std::string all;
    if (!parsed)
        for (const auto& fault : parsed.error()) all += fault.pointer + " " + fault.what + "; ";
    return all;
}

TEST(Provider, IsReadAndWrittenWithoutLoss) {
    const auto parsed = parse_provider(R"({"reason": "new plan", "limits": [
        {"name": "rpm", "of": "requests", "limit": 60, "per": "minute"},
        {"name": "tpm", "of": "tokens", "limit": 1000000, "per": 60, "kind": "token_bucket", "burst": 2000, "scope": "organization"},
        {"name": "cost", "of": "cost", "limit": "300.000001", "per": "day", "kind": "fixed_window", "reset_at": "07:30"},
        {"name": "at_once", "of": "concurrency", "limit": 4, "scope": "workflow_type"},
        {"name": "each", "of": "cost", "limit": "9.5", "per": "day", "key": "/input_data/customer_id",
         "per_key": {"guaranteed": "0.5", "ceiling": 2}},
        {"name": "domains", "of": "concurrency", "limit": 4, "key": "/domain"}]})",
                                       "gemini");
    ASSERT_TRUE(parsed) << parsed.error().front().pointer << parsed.error().front().what;
    ASSERT_EQ(parsed->limits.size(), 6U);
    EXPECT_EQ(parsed->limits[1].burst, 2000);
    EXPECT_EQ(parsed->limits[2].limit, 300000001);
    EXPECT_EQ(parsed->limits[2].reset_at, std::chrono::minutes{450});
    EXPECT_EQ(parsed->limits[4].guaranteed, 500000);
    EXPECT_EQ(parsed->limits[4].ceiling, 2000000);
    EXPECT_EQ(parsed->limits[4].pointer(), "/customer_id");
    EXPECT_EQ(parsed->limits[5].ceiling, 4) << "all of it, if nobody says less";
    EXPECT_EQ(parsed->limits[5].guaranteed, 0);
    EXPECT_EQ(stored_limits(limits_json(*parsed)), parsed->limits);
}

TEST(Provider, EveryFaultIsNamed) {
    const std::string good = R"("name": "a", "of": "requests", "per": "minute")";
    for (const auto& [limit, pointer] : std::vector<std::pair<std::string, std::string>>{
             {"{" + good + R"(, "limit": 0})", "/limits/0/limit"},
             {"{" + good + R"(, "limit": -1})", "/limits/0/limit"},
             {"{" + good + R"(, "limit": 18446744073709551615})", "/limits/0/limit"},
             {"{" + good + R"(, "limit": 1.5})", "/limits/0/limit"},
             {"{" + good + R"(, "limit": "NaN"})", "/limits/0/limit"},
             {"{" + good + "}", "/limits/0/limit"},
             {"{" + good + R"(, "limit": 1, "burst": 2})", "/limits/0/burst"},
             {"{" + good + R"(, "limit": 1, "reset_at": "07:00"})", "/limits/0/reset_at"},
             {"{" + good + R"(, "limit": 1, "limt": 1})", "/limits/0/limt"},
             {R"({"name": "a", "of": "calls", "limit": 1, "per": "minute"})", "/limits/0/of"},
             {R"({"name": "a", "of": "requests", "limit": 1})", "/limits/0/per"},
             {R"({"name": "a", "of": "requests", "limit": 1, "per": "week"})", "/limits/0/per"},
             {R"({"name": "a", "of": "requests", "limit": 1, "per": 100000})", "/limits/0/per"},
             {R"({"name": "a", "of": "requests", "limit": 1, "per": 0})", "/limits/0/per"},
             {R"({"name": "A b", "of": "requests", "limit": 1, "per": "day"})", "/limits/0/name"},
             {R"({"name": "a", "of": "concurrency", "limit": 1, "per": "day"})", "/limits/0/per"},
             {R"({"name": "a", "of": "cost", "limit": "1e99", "per": "day"})", "/limits/0/limit"},
             {R"({"name": "a", "of": "cost", "limit": 0, "per": "day"})", "/limits/0/limit"},
             {R"({"name": "a", "of": "cost", "limit": 1, "per": "day", "kind": "fixed_window", "reset_at": "24:00"})",
              "/limits/0/reset_at"},
             {R"({"name": "a", "of": "requests", "limit": 1, "per": 7, "kind": "fixed_window"})", "/limits/0/per"},
             {R"({"name": "a", "of": "requests", "limit": 1, "per": "day", "kind": "token_bucket", "burst": 0})",
              "/limits/0/burst"},
             {"{" + good + R"(, "limit": 9, "key": "customer"})", "/limits/0/key"},
             {"{" + good + R"(, "limit": 9, "key": ""})", "/limits/0/key"},
             {"{" + good + R"(, "limit": 9, "key": 7})", "/limits/0/key"},
             {"{" + good + R"(, "limit": 9, "key": "/a~2"})", "/limits/0/key"},
             {"{" + good + R"(, "limit": 9, "per_key": {"ceiling": 1}})", "/limits/0/per_key"},
             {"{" + good + R"(, "limit": 9, "key": "/c", "per_key": 7})", "/limits/0/per_key"},
             {"{" + good + R"(, "limit": 9, "key": "/c", "per_key": {"ceiling": 0}})", "/limits/0/per_key/ceiling"},
             {"{" + good + R"(, "limit": 9, "key": "/c", "per_key": {"ceiling": 10}})", "/limits/0/per_key/ceiling"},
             {"{" + good + R"(, "limit": 9, "key": "/c", "per_key": {"ceiling": 18446744073709551615}})",
              "/limits/0/per_key/ceiling"},
             {"{" + good + R"(, "limit": 9, "key": "/c", "per_key": {"guaranteed": 0}})",
              "/limits/0/per_key/guaranteed"},
             {"{" + good + R"(, "limit": 9, "key": "/c", "per_key": {"guaranteed": -1}})",
              "/limits/0/per_key/guaranteed"},
             {"{" + good + R"(, "limit": 9, "key": "/c", "per_key": {"guaranteed": 5, "ceiling": 4}})",
              "/limits/0/per_key/guaranteed"},
             {"{" + good + R"(, "limit": 9, "key": "/c", "per_key": {"most": 5}})", "/limits/0/per_key/most"},
             {R"({"name": "a", "of": "cost", "limit": 1, "per": "day", "key": "/c", "per_key": {"ceiling": "1e99"}})",
              "/limits/0/per_key/ceiling"},
         })
        EXPECT_NE(faults(limit).find(pointer + " "), std::string::npos) << limit << ": " << faults(limit);
    EXPECT_EQ(faults("{" + good + R"(, "limit": 1})"), "");
    EXPECT_EQ(faults("{" + good + R"(, "limit": 1, "limit": 2})"), "/limits/0/limit is there twice; ");
    EXPECT_EQ(faults("{" + good + R"(, "limit": 1e400})").substr(0, 39), "/limits/0/limit is a number too large o");
    EXPECT_EQ(faults("{" + good + R"(, "limit": NaN})").substr(0, 16), "/limits/0/limit ");
}

TEST(Provider, WhatIsNotUnderstoodLetsNothingPass) {
    const auto limits =
        stored_limits(R"([{"name": "a", "of": "requests", "limit": 5, "per": "minute", "newer": true}])");
    ASSERT_EQ(limits.size(), 1U);
    EXPECT_EQ(limits[0].capacity(), 0);
    EXPECT_EQ(limits[0].amount({"gemini", 0}), 1) << "whoever needs the provider at all is stopped";
}

}
}
