// What is wrong with a definition is refused by its place; what may not be meant is accepted and said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/hub.h"

namespace impresario::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Definitions : public ::testing::Test {
  protected:
    /// As text: what no tree holds.
    Reply put(const std::string& path, const std::string& body) const {
        return request(hub.hub->port(), "PUT", path,
                       {{"authorization", "Bearer " + hub.key}, {"content-type", "application/json"}}, body);
    }
    /// "/pointer detail" of each fault.
    std::vector<std::string> refused(const std::string& path, const std::string& body) const {
        const auto reply = put(path, body);
        EXPECT_EQ(reply.status, 422) << reply.body;
        return listed(reply.json(), "errors");
    }
    static std::vector<std::string> listed(const Json& answer, const char* member) {
        std::vector<std::string> all;
        if (answer.contains(member))
            for (const auto& each : answer[member])
                all.push_back(each.value("pointer", "?") + " " + each.value("detail", "?"));
        return all;
    }
    std::vector<std::string> warned(const std::string& method, const std::string& path, const Json& body) const {
        const auto reply = hub.api(method, path, body);
        EXPECT_EQ(reply.status / 100, 2) << reply.body;
        EXPECT_TRUE(reply.json()["warnings"].is_array()) << reply.body;
        return listed(reply.json(), "warnings");
    }
    static Json calling(const std::string& provider, const Json& calls) {
        return {{"endpoints", {"http://127.0.0.1:9/"}},
                {"call_estimates", {{{"provider", provider}, {"calls", calls}}}}};
    }
    static Json limited(int calls) {
        return {{"limits", {{{"name", "rpm"}, {"of", "requests"}, {"limit", calls}, {"per", "minute"}}}}};
    }

    HubFixture hub;
};

TEST_F(Definitions, AMemberThatIsThereTwiceIsNamed) {
    EXPECT_THAT(refused("/v1/budgets/day", R"({"limit_usd": 1, "window": "day", "limit_usd": 2})"),
                ElementsAre("/limit_usd is there twice"));
    EXPECT_THAT(refused("/v1/providers/p",
                        R"({"limits": [{"name": "a", "of": "items", "of": "requests", "limit": 1, "per": "day"}]})"),
                ElementsAre("/limits/0/of is there twice"));
    EXPECT_THAT(refused("/v1/fairness", R"({"measure": "starts", "shares": [], "a/b": 1, "a/b": 2})"),
                ElementsAre("/a~1b is there twice"));
    EXPECT_THAT(refused("/v1/workflow-types/t", R"({"endpoints": [], "timeout_seconds": 5, "timeout_seconds": 6})"),
                ElementsAre("/timeout_seconds is there twice"));
}

TEST_F(Definitions, WhatIsNoNumberIsNamed) {
    const auto limit = [](const std::string& value) {
        return R"({"limits": [{"name": "a", "of": "requests", "per": "day", "limit": )" + value + "}]}";
    };
    for (const auto* value : {"NaN", "Infinity", "-Infinity", "1e400"})
        EXPECT_THAT(refused("/v1/providers/p", limit(value)),
                    ElementsAre(AllOf(HasSubstr("/limits/0/limit "), HasSubstr("at byte "))))
            << value;
    EXPECT_THAT(refused("/v1/fairness", R"({"measure": "starts", "shares": [{"weight": NaN}]})"),
                ElementsAre(HasSubstr("/shares/0/weight is not a JSON value: NaN and Infinity are no numbers")));
    const auto said = hub.cli({"providers", "put", "p", limit("Infinity")});
    EXPECT_EQ(said.code, 2);
    EXPECT_THAT(said.text, AllOf(HasSubstr("the input is not JSON: /limits/0/limit "), HasSubstr("at byte ")));
}

TEST_F(Definitions, AProviderThatNoneCanBeIsRefusedAndOneThatIsNotRegisteredIsSaid) {
    EXPECT_THAT(refused("/v1/workflow-types/t", calling("Gemini!", 1).dump()),
                ElementsAre(HasSubstr("/call_estimates/0/provider must have 1 to 63")));
    EXPECT_THAT(warned("PUT", "/v1/workflow-types/t", calling("gemini", 1)), IsEmpty());
    EXPECT_THAT(warned("PUT", "/v1/workflow-types/t", calling("gemni", 1)),
                ElementsAre(AllOf(HasSubstr("/call_estimates/0/provider 'gemni' is not registered"),
                                  HasSubstr("PUT /v1/providers/gemni"))));
    const auto said = hub.cli({"types", "put", "t", calling("gemni", 1).dump()});
    EXPECT_EQ(said.code, 0);
    EXPECT_THAT(said.text, HasSubstr("impresario: warning: /call_estimates/0/provider 'gemni' is not registered"));
    // What is shown may be sent back.
    EXPECT_THAT(
        warned("PUT", "/v1/workflow-types/t", hub.api("PUT", "/v1/workflow-types/t", calling("gemini", 2)).json()),
        IsEmpty());
}

TEST(DefinitionsOfTheConfiguration, WhatMayNotBeMeantIsALineOfTheLog) {
    const HubFixture hub(
        "[[workflow_types]]\nname = \"configured\"\nendpoints = [\"http://127.0.0.1:9/\"]\n"
        "call_estimates = [{ provider = \"gemni\", calls = 1 }, { provider = \"gemini\", calls = 1 }]\n");
    const auto log = hub.hub->log();
    EXPECT_THAT(log, AllOf(HasSubstr("may not be meant so"), HasSubstr("'gemni' is not registered")));
    EXPECT_THAT(log, Not(HasSubstr("'gemini' is not")));
}

TEST_F(Definitions, ABudgetForNobodyIsSaid) {
    hub.register_type("report", "http://127.0.0.1:9/", calling("own-api", 1));
    const auto scoped = [](const Json& scope) { return Json{{"limit_usd", "5"}, {"window", "day"}, {"scope", scope}}; };
    EXPECT_THAT(warned("PUT", "/v1/budgets/day", scoped({{"workflow_type", "report"}, {"provider", "gemini"}})),
                IsEmpty());
    EXPECT_THAT(warned("PUT", "/v1/budgets/day", scoped({{"provider", "own-api"}})), IsEmpty()) << "a type calls it";
    const Json misspelt = scoped({{"workflow_type", "reprot"}, {"provider", "gemni"}});
    for (const auto& [method, path] :
         {std::pair{"PUT", "/v1/budgets/day"}, std::pair{"POST", "/v1/budgets/day/preview"}})
        EXPECT_THAT(warned(method, path, misspelt),
                    ElementsAre(HasSubstr("/scope/workflow_type 'reprot' is no workflow type of 'default' yet"),
                                HasSubstr("/scope/provider 'gemni' is not registered and no workflow type calls it")));
    const auto said = hub.cli({"budgets", "preview", "day", misspelt.dump(), "--table"});
    EXPECT_EQ(said.code, 0);
    EXPECT_THAT(said.text, HasSubstr("impresario: warning: /scope/provider 'gemni'"));
    EXPECT_THAT(warned("PUT", "/v1/budgets/day", hub.api("PUT", "/v1/budgets/day", misspelt).json()).size(), 2U);
}

TEST_F(Definitions, WhatALimitNeverGivesIsSaidWhenItIsDefinedAndRefusedWhenItIsEnqueued) {
    ASSERT_EQ(hub.api("PUT", "/v1/providers/test", limited(60)).status, 201);
    EXPECT_THAT(warned("PUT", "/v1/workflow-types/greedy", calling("test", 60)), IsEmpty());
    EXPECT_THAT(
        warned("PUT", "/v1/workflow-types/greedy", calling("test", 100)),
        ElementsAre(HasSubstr("/call_estimates/0 asks 100 of 60 requests per minute, more than it ever gives")));
    // Whoever says it in his input is told then.
    EXPECT_THAT(warned("PUT", "/v1/workflow-types/asks", calling("test", {{"from", "/n"}, {"times", 100}})), IsEmpty());
    const auto enqueued = hub.api("POST", "/v1/executions", {{"workflow_type", "greedy"}, {"input", nullptr}});
    EXPECT_EQ(enqueued.status, 422);
    EXPECT_THAT(listed(enqueued.json(), "errors"), ElementsAre(HasSubstr("/workflow_type asks 100 of 60")));
    const auto names = ElementsAre(
        AllOf(HasSubstr("/limits/0 the workflow type 'greedy' of default asks 100 of 50"), Not(HasSubstr("'asks'"))));
    EXPECT_THAT(warned("POST", "/v1/providers/test/preview", limited(50)), names);
    EXPECT_THAT(warned("PUT", "/v1/providers/test", limited(50)), names);
    EXPECT_THAT(warned("PUT", "/v1/providers/test", limited(100)), IsEmpty());
    auto bucket = limited(100);
    bucket["limits"][0].update({{"kind", "token_bucket"}, {"burst", 99}});
    EXPECT_THAT(warned("PUT", "/v1/providers/test", bucket), ElementsAre(HasSubstr("asks 100 of ")));
}

}
}
