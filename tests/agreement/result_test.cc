// Boost's result gives its error by value: what is taken out of that must not outlive the line.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>

namespace impresario {
namespace {

namespace fs = std::filesystem;

TEST(Results, NothingRefersIntoAnErrorThatIsGone) {
    static const std::regex dangling(R"(&\s*\w+\s*=\s*[\w.>\-]+\.error\(\)\.|\.error\(\)\.(begin|end|data|c_str)\(\))");
    std::size_t seen = 0;
    for (const auto& entry : fs::recursive_directory_iterator(IMPRESARIO_SOURCE_DIR)) {
        const auto path = entry.path().string();
        const bool ours = path.find("/build/") == std::string::npos && path.find("/node_modules/") == std::string::npos;
        const auto extension = entry.path().extension();
        if (!ours || (extension != ".cc" && extension != ".h") || path.ends_with("agreement/result_test.cc")) continue;
        std::ifstream file(entry.path());
        int number = 0;
        for (std::string line; std::getline(file, line);) {
            ++number;
            seen += line.find(".error()") != std::string::npos ? 1 : 0;
            EXPECT_FALSE(std::regex_search(line, dangling)) << path << ":" << number << ": " << line;
        }
    }
    EXPECT_GT(seen, 50U);
}

}
}
