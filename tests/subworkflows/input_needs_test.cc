#include "subworkflows/input_needs.h"

#include <gtest/gtest.h>

#include "subworkflows/needs_json.h"
#include "subworkflows/workflow_type_json.h"

namespace impresario::subworkflows {
namespace {

using domain::NeedPart;

const domain::Lane kLane{"default", "articles"};

domain::Result<WorkflowType, std::vector<DefinitionFault>> with(const std::string& call_estimates) {
    return parse_workflow_type(R"({"call_estimates":)" + call_estimates + "}", kLane, nullptr);
}

/// What an input takes of a type: the row's text, or "pointer what".
std::string taken(const std::string& call_estimates, const std::string& input) {
    const auto type = with(call_estimates);
    if (!type) return type.error().front().pointer + " " + type.error().front().what;
    const auto amounts = need_amounts(type->from_input, input);
    return amounts ? domain::need_amounts_text(*amounts) : amounts.error().pointer + " " + amounts.error().what;
}

constexpr const char* kThreeEach = R"([{"provider":"gemini","calls":{"from":"/input_data/articles","times":3}}])";

TEST(InputNeeds, CountElementsOrTakeANumber) {
    EXPECT_EQ(taken(kThreeEach, R"({"articles":["a","b",{"c":[1,2]},null]})"), "12 calls gemini");
    EXPECT_EQ(taken(kThreeEach, R"({"articles":[]})"), "0 calls gemini");
    EXPECT_EQ(taken(kThreeEach, R"({"articles":7})"), "21 calls gemini");
    EXPECT_EQ(taken(R"([{"provider":"p","calls":{"from":"/n"}}])", R"({"n":5})"), "5 calls p") << "once each";
    // As a concurrency key's pointer goes: into the input. Its first step /input_data is the input itself.
    EXPECT_EQ(taken(R"([{"provider":"p","calls":{"from":"/articles"}}])", R"({"articles":[1]})"), "1 calls p");
    EXPECT_EQ(taken(R"([{"provider":"p","calls":{"from":"/input_data"}}])", "[1,2]"), "2 calls p");
    EXPECT_EQ(taken(R"([{"provider":"p","calls":{"from":"/input_data/input_data"}}])", R"({"input_data":4})"),
              "4 calls p");
    EXPECT_EQ(taken(R"([{"provider":"p","calls":{"from":"/input_datas"}}])", R"({"input_datas":4})"), "4 calls p");
    EXPECT_EQ(taken(R"([{"provider":"p","calls":{"from":"/a~1b/~0c/1"}}])", R"({"a/b":{"~c":[1,9]}})"), "9 calls p");
}

TEST(InputNeeds, AreRoundedUpFromTheirDigits) {
    const auto tokens = [](const std::string& times, const std::string& n) {
        return taken(R"([{"provider":"p","tokens":{"from":"/n","times":)" + times + "}}]", R"({"n":)" + n + "}");
    };
    EXPECT_EQ(tokens("1.5", "3"), "5 tokens p");
    EXPECT_EQ(tokens("\"1.5\"", "4"), "6 tokens p");
    EXPECT_EQ(tokens("0.1", "30"), "3 tokens p") << "never through a double";
    EXPECT_EQ(tokens("2", "1.2e3"), "2400 tokens p");
    EXPECT_EQ(tokens("0.000001", "1"), "1 tokens p");
    EXPECT_EQ(tokens("1", "0.0000001"), "1 tokens p");
    EXPECT_EQ(tokens("1", "-0"), "0 tokens p");
    EXPECT_EQ(taken(R"([{"provider":"p","cost_usd":{"from":"/n","times":"0.02"}}])", R"({"n":[1,2,3]})"),
              "60000 cost_usd p");
}

TEST(InputNeeds, OfSeveralPartsAndProvidersAreTakenTogether) {
    EXPECT_EQ(taken(R"([{"provider":"p","tokens":{"from":"/n","times":1000},"calls":{"from":"/n"},"items":7},
                        {"provider":"q","calls":{"from":"/m","otherwise":2},"cost_usd":{"from":"/m","otherwise":0.5}}])",
                    R"({"n":[1,2]})"),
              "2 calls p\n2000 tokens p\n2 calls q\n500000 cost_usd q");
}

TEST(InputNeeds, WhatCannotBeTakenIsRefusedByItsPointer) {
    for (const auto* input : {"", "null", "{}", "[]", R"({"articles2":[]})"})
        EXPECT_EQ(taken(kThreeEach, input), "/articles is missing: the type takes calls of gemini from it") << input;
    for (const auto* value : {"null", "\"4\"", "true", R"({"n":4})"})
        EXPECT_EQ(taken(kThreeEach, R"({"articles":)" + std::string(value) + "}"),
                  "/articles is neither a number nor an array: the type takes calls of gemini from it")
            << value;
    EXPECT_EQ(taken(kThreeEach, R"({"articles":-1})"),
              "/articles must not be negative: the type takes calls of gemini from it");
    for (const auto* value : {"333333334", "1e12", "1e300"})
        EXPECT_EQ(taken(kThreeEach, R"({"articles":)" + std::string(value) + "}"),
                  "/articles asks more than 1000000000 calls of gemini, the most that an input may")
            << value;
    EXPECT_EQ(taken(kThreeEach, R"({"articles":333333333})"), "999999999 calls gemini");
    // What stands for nothing does not stand for nonsense.
    const auto* otherwise = R"([{"provider":"p","calls":{"from":"/n","otherwise":6}}])";
    EXPECT_EQ(taken(otherwise, "{}"), "6 calls p");
    EXPECT_EQ(taken(otherwise, R"({"n":"x"})"), "6 calls p");
    EXPECT_EQ(taken(otherwise, R"({"n":-3})"), "/n must not be negative: the type takes calls of p from it");
}

TEST(InputNeeds, BadDefinitionsAreRefusedByName) {
    struct Bad {
        const char* amount;
        const char* pointer;
    };
    for (const auto& [amount, pointer] : {Bad{R"({})", "from"},
                                          {R"({"from":null})", "from"},
                                          {R"({"from":4})", "from"},
                                          {R"({"from":""})", "from"},
                                          {R"({"from":"articles"})", "from"},
                                          {R"({"from":"/a~2"})", "from"},
                                          {R"({"from":"/a~"})", "from"},
                                          {R"({"from":"/articles/-"})", "from"},
                                          {R"({"from":"/a\u0000"})", "from"},
                                          {R"({"from":"/a","times":0})", "times"},
                                          {R"({"from":"/a","times":-1})", "times"},
                                          {R"({"from":"/a","times":null})", "times"},
                                          {R"({"from":"/a","times":"NaN"})", "times"},
                                          {R"({"from":"/a","times":"Infinity"})", "times"},
                                          {R"({"from":"/a","times":[3]})", "times"},
                                          {R"({"from":"/a","times":1e300})", "times"},
                                          {R"({"from":"/a","times":1000000001})", "times"},
                                          {R"({"from":"/a","times":0.0000001})", "times"},
                                          {R"({"from":"/a","otherwise":-1})", "otherwise"},
                                          {R"({"from":"/a","otherwise":1.5})", "otherwise"},
                                          {R"({"from":"/a","otherwise":1000000001})", "otherwise"},
                                          {R"({"from":"/a","otherwise":"many"})", "otherwise"},
                                          {R"({"from":"/a","time":3})", "time"}}) {
        const auto type = with(R"([{"provider":"p","calls":)" + std::string(amount) + "}]");
        ASSERT_FALSE(type) << amount;
        EXPECT_EQ(type.error().front().pointer, std::string("/call_estimates/0/calls/") + pointer) << amount;
        EXPECT_FALSE(type.error().front().what.empty());
    }
    EXPECT_TRUE(with(R"([{"provider":"p","cost_usd":{"from":"/a","otherwise":1.5}}])"));
    EXPECT_EQ(with(R"([{"provider":"a\nb","calls":1}])").error().front().pointer, "/call_estimates/0/provider");
}

TEST(InputNeeds, SurviveTheDatabaseAndCanBeSentBack) {
    const auto type = with(R"([{"provider":"p","calls":{"from":"/input_data/a","times":3},"tokens":5,
        "cost_usd":{"from":"/b","times":"0.25","otherwise":"0.1"}},{"provider":"q","items":{"from":"/c","otherwise":9}}])");
    ASSERT_TRUE(type) << type.error().front().pointer << " " << type.error().front().what;
    ASSERT_EQ(type->from_input.size(), 3U);
    const auto stored = stored_call_estimates(call_estimates_json({type->needs, type->from_input}));
    EXPECT_EQ(stored.needs, type->needs);
    EXPECT_EQ(stored.from_input, type->from_input);
    const auto again = parse_workflow_type(workflow_type_json(*type), kLane, &*type);
    ASSERT_TRUE(again) << again.error().front().pointer << " " << again.error().front().what;
    EXPECT_EQ(again->needs, type->needs);
    EXPECT_EQ(again->from_input, type->from_input);
    // Who was enqueued before the type asked, and a hub that knows numbers only, asks as for one.
    EXPECT_EQ(type->needs[0].calls, 3);
    EXPECT_EQ(type->needs[0].tokens, 5);
    EXPECT_EQ(type->needs[0].cost.value, 100000);
    EXPECT_EQ(type->needs[1].items, 9);
}

TEST(InputNeeds, OfARowAreKeptWhereTheTypeStillNeedsTheProvider) {
    const std::vector<domain::Need> needs{{"p", 1, 10, 0, {}}, {"a b", 2}};
    auto expected = needs;
    EXPECT_EQ(domain::with_amounts(needs, ""), expected);
    expected[0].calls = 12;
    expected[1].tokens = 7;
    EXPECT_EQ(domain::with_amounts(needs, "12 calls p\n7 tokens a b\n5 calls gone"), expected);
    // What only a newer hub wrote is left out.
    EXPECT_EQ(domain::with_amounts(needs, "x calls p\n3 gpus p\n\n3\n-4 calls p"), needs);
    const std::vector<domain::NeedAmount> amounts{{"p", NeedPart::calls, 12}, {"a b", NeedPart::cost, 5}};
    EXPECT_EQ(domain::parse_need_amounts(domain::need_amounts_text(amounts)), amounts);
}

}
}
