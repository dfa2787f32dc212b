// GCC 12 copies lambdas and aggregates inside a co_await expression bit by bit and destroys them twice; see
// platform/async.h. Start first, await then.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

namespace {

namespace fs = std::filesystem;

/// The awaited expression without strings; empty when the line is a comment.
std::string awaited(const std::string& text, std::size_t at) {
    const auto line = text.rfind('\n', at) + 1;
    if (text.substr(line, at - line).find("//") != std::string::npos) return {};
    std::string expression;
    int depth = 0;
    bool quoted = false;
    for (std::size_t i = at + 8; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '"' && text[i - 1] != '\\') quoted = !quoted;
        if (quoted) continue;
        if (c == '(' || c == '{' || c == '[') ++depth;
        if (c == ')' || c == '}' || c == ']') --depth;
        if (depth < 0 || (c == ';' && depth == 0)) break;
        expression += c;
    }
    return expression;
}

TEST(Await, TakesNoTemporariesOfClassType) {
    // Durations are numbers in a coat.
    static const std::regex trivial(
        "(std::chrono::|platform::)?(milliseconds|seconds|microseconds|minutes|hours|Duration)\\{[^{}]*\\}");
    std::size_t seen = 0;
    for (const auto* room : {"platform", "webhooks", "orchestrator", "api", "cli", "subworkflows"})
        for (const auto& entry : fs::recursive_directory_iterator(fs::path(IMPRESARIO_SOURCE_DIR) / room)) {
            const auto extension = entry.path().extension();
            if (extension != ".cc" && extension != ".h") continue;
            std::ifstream file(entry.path());
            std::stringstream stream;
            stream << file.rdbuf();
            const std::string text = stream.str();
            for (auto at = text.find("co_await"); at != std::string::npos; at = text.find("co_await", at + 8)) {
                const auto expression = std::regex_replace(awaited(text, at), trivial, "");
                ++seen;
                const bool lambda = expression.find("[&") != std::string::npos ||
                                    expression.find("[=") != std::string::npos ||
                                    expression.find("[this") != std::string::npos ||
                                    std::regex_search(expression, std::regex("[(,]\\s*\\[[^\\]]*\\]\\s*[({]"));
                // submit() takes a variant, and what it is given is converted to one on the way.
                const bool converted = expression.starts_with("submit(");
                EXPECT_FALSE(lambda || converted || expression.find('{') != std::string::npos)
                    << entry.path() << ":"
                    << std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1 << ": "
                    << expression.substr(0, 100);
            }
        }
    EXPECT_GT(seen, 100U);
}

}
