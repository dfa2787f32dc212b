#include "platform/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace impresario::platform {
namespace json_text_test {

using Kind = JsonFault::Kind;

TEST(JsonCheck, TakesWhatIsJson) {
    for (const auto* text :
         {"null", "true", "0", "-0.5e+10", R"("")", R"("\u00e9\ud83d\ude00\n")", "[]", "{}",
          R"( { "a" : [ 1 , 2 , { "b" : null } ] } )", "\"\xF0\x9F\x98\x80\"", "1E300", "0e-300", "0E+0000007"})
        EXPECT_TRUE(check_json(text)) << text;
}

struct Bad {
    const char* text;
    Kind kind;
    const char* pointer;
};

class JsonFaults : public ::testing::TestWithParam<Bad> {};
TEST_P(JsonFaults, NameTheirPlace) {
    const auto checked = check_json(GetParam().text);
    ASSERT_FALSE(checked) << GetParam().text;
    EXPECT_EQ(static_cast<int>(checked.error().kind), static_cast<int>(GetParam().kind)) << GetParam().text;
    EXPECT_EQ(checked.error().pointer, GetParam().pointer) << GetParam().text;
}
INSTANTIATE_TEST_SUITE_P(
    Table, JsonFaults,
    ::testing::Values(Bad{"", Kind::syntax, ""}, Bad{"{", Kind::syntax, ""}, Bad{"[1,]", Kind::syntax, "/1"},
                      Bad{"{\"a\":}", Kind::syntax, "/a"}, Bad{"01", Kind::syntax, ""}, Bad{"1.", Kind::syntax, ""},
                      Bad{"nul", Kind::syntax, ""}, Bad{"{\"a\":1}x", Kind::syntax, ""},
                      Bad{R"("\x")", Kind::syntax, ""}, Bad{"\"\t\"", Kind::syntax, ""},
                      Bad{R"({"a":["\u0000"]})", Kind::unstorable, "/a/0"},
                      Bad{R"({"a/b":{"c~d":"\ud800"}})", Kind::unstorable, "/a~1b/c~0d"},
                      Bad{R"(["\udc00"])", Kind::unstorable, "/0"}, Bad{R"(["\ud800\u0041"])", Kind::unstorable, "/0"},
                      Bad{R"({"n":1E100000})", Kind::unstorable, "/n"},
                      Bad{R"({"n":[0,1e-401]})", Kind::unstorable, "/n/1"},
                      Bad{R"({"n":0e-100000})", Kind::unstorable, "/n"}, Bad{"[0E+0099999]", Kind::unstorable, "/0"},
                      Bad{"[1e400]", Kind::unstorable, "/0"}, Bad{"\"\xff\xfe\"", Kind::encoding, ""},
                      Bad{"{\"k\":\"\xc0\xaf\"}", Kind::encoding, "/k"}, Bad{"\"\xed\xa0\x80\"", Kind::encoding, ""}));

TEST(JsonCheck, DepthHasAnEnd) {
    const std::string deep = std::string(kJsonDepth, '[') + std::string(kJsonDepth, ']');
    EXPECT_TRUE(check_json(deep));
    const std::string deeper = std::string(kJsonDepth + 1, '[') + std::string(kJsonDepth + 1, ']');
    ASSERT_FALSE(check_json(deeper));
    EXPECT_EQ(check_json(deeper).error().kind, Kind::unstorable);
    const std::string deepest = std::string(2000000, '[');
    EXPECT_FALSE(check_json(deepest));
    EXPECT_FALSE(storable_json(deepest));
}

TEST(JsonRepair, ReplacesOnlyWhatCannotBeStored) {
    const auto repaired = storable_json(R"({"message":"a\u0000b","\ud800":1E100000,"ok":[1.50,"\ud83d\ude00"]})");
    ASSERT_TRUE(repaired);
    EXPECT_TRUE(repaired->sanitised);
    EXPECT_EQ(repaired->text,
              "{\"message\":\"a\xEF\xBF\xBD"
              "b\",\"\xEF\xBF\xBD\":\"1E100000\",\"ok\":[1.50,\"\\ud83d\\ude00\"]}");
    EXPECT_TRUE(check_json(repaired->text));
}

TEST(JsonRepair, LeavesGoodTextToTheByte) {
    const std::string text = " {\"a\" : 1.000,\n \"a\":2 } ";
    const auto same = storable_json(text);
    ASSERT_TRUE(same);
    EXPECT_FALSE(same->sanitised);
    EXPECT_EQ(same->text, text);
}

TEST(JsonRepair, TooDeepBecomesNull) {
    const std::string deep = "{\"a\":" + std::string(300, '[') + "1,\"x\"" + std::string(300, ']') + ",\"b\":2}";
    const auto repaired = storable_json(deep);
    ASSERT_TRUE(repaired);
    EXPECT_TRUE(repaired->sanitised);
    ASSERT_TRUE(check_json(repaired->text));
    EXPECT_EQ(json_string(*json_member(repaired->text, "b")), "2");
}

TEST(JsonSlices, FindMembersAndPointers) {
    const std::string text = R"({"a":{"b/c":[10,{"~":"deep"}]},"s":"x\"y","n":null,"a":{"b/c":[11]}})";
    EXPECT_EQ(*json_member(text, "s"), R"("x\"y")");
    EXPECT_EQ(json_string(*json_member(text, "s")), "x\"y");
    EXPECT_EQ(*json_member(text, "a"), R"({"b/c":[11]})") << "the last of two wins, as jsonb decides";
    EXPECT_EQ(*json_at(text, "/a/b~1c/0"), "11");
    EXPECT_FALSE(json_at(text, "/a/b~1c/1"));
    EXPECT_FALSE(json_at(text, "/a/x"));
    EXPECT_FALSE(json_at(text, "a"));
    EXPECT_EQ(json_members(text).size(), 4U);
    EXPECT_EQ(json_elements("[1,[2,3],\"a]b\"]").size(), 3U);
    EXPECT_EQ(json_string(R"("\u00e9\ud83d\ude00\t")"), "\xC3\xA9\xF0\x9F\x98\x80\t");
    EXPECT_EQ(static_cast<int>(json_type(" 12")), static_cast<int>(JsonType::number));
}

TEST(StorableText, IsUtf8WithoutNul) {
    EXPECT_EQ(storable_text(std::string("a\0b", 3)),
              "a\xEF\xBF\xBD"
              "b");
    EXPECT_EQ(storable_text("\xff"), "\xEF\xBF\xBD");
    EXPECT_EQ(utf8_prefix("a\xC3\xA9", 2), "a");
}

// Random texts: what we take, nlohmann takes too, and the other way round apart from what jsonb cannot hold.
TEST(JsonCheck, AgreesWithAnotherParser) {
    const std::uint32_t seed = 20261127;
    std::uint32_t state = seed;
    const auto next = [&] { return state = state * 1664525u + 1013904223u, state >> 16; };
    static constexpr std::string_view pieces[] = {"{",     "}",           "[", "]",      ",",    ":",
                                                  "\"a\"", "\"b\\n\"",    "1", "-2.5e3", "true", "null",
                                                  " ",     "\"\\u00e9\"", "0", "01",     "\"",   "x"};
    for (int i = 0; i < 20000; ++i) {
        std::string text;
        const auto length = next() % 12;
        for (unsigned k = 0; k < length; ++k) text += pieces[next() % std::size(pieces)];
        EXPECT_EQ(check_json(text).has_value(), nlohmann::json::accept(text))
            << "seed " << seed << " case " << i << ": " << text;
    }
}

}
}
