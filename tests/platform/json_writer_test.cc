#include "platform/json_writer.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace impresario::platform {
namespace json_writer_test {

std::string read_back(const std::string& quoted) { return nlohmann::json::parse(quoted).get<std::string>(); }

TEST(JsonQuoted, IsReadBackAsItWas) {
    for (int c = 0; c < 128; ++c) {
        const std::string one(1, static_cast<char>(c));
        for (const auto& text : {one, one + one, "before" + one, one + "after", "a" + one + "bc" + one + one + "d"})
            EXPECT_EQ(read_back(json_quoted(text)), text) << c;
    }
    for (const std::string text : {"", "plain", "Grüße, 世界 🎭", "C:\\path\\\"quoted\"\r\n\tend\x1f"})
        EXPECT_EQ(read_back(json_quoted(text)), text);
    EXPECT_EQ(json_quoted("a\"\\\n\r\t\x01\x1f/b"), R"("a\"\\\n\r\t\u0001\u001f/b")");
}

TEST(JsonWriter, WritesWhatIsReadBack) {
    JsonWriter json;
    json.open();
    json.field("a\"b", "c\nd").field("most", std::numeric_limits<std::uint64_t>::max());
    json.field("least", std::numeric_limits<std::int64_t>::min()).field("truth", true).field("part", 0.25);
    json.texts("texts", std::vector<std::string>{"x", "\"y\""});
    json.close();
    const nlohmann::json read = {{"a\"b", "c\nd"},
                                 {"most", std::numeric_limits<std::uint64_t>::max()},
                                 {"least", std::numeric_limits<std::int64_t>::min()},
                                 {"truth", true},
                                 {"part", 0.25},
                                 {"texts", {"x", "\"y\""}}};
    EXPECT_EQ(nlohmann::json::parse(json.text()), read);
}

}
}
