// docs/testing.md says which tests play the coordination protocol's rules: each of them exists, and no rule is without.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

std::vector<std::string> all(const std::string& text, const std::regex& what, const std::string& form) {
    std::vector<std::string> found;
    for (std::sregex_iterator at(text.begin(), text.end(), what), end; at != end; ++at)
        found.push_back(at->format(form));
    return found;
}

std::set<std::string> tests() {
    static const std::regex test("\nTEST(?:_F|_P)?\\(\\s*(\\w+),\\s*(\\w+)\\)");
    std::set<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(IMPRESARIO_SOURCE_DIR) / "tests"))
        if (entry.path().extension() == ".cc")
            for (auto& name : all(text_of(entry.path()), test, "$1.$2")) found.insert(std::move(name));
    return found;
}

/// Of the page's table: rule → tests.
std::map<int, std::vector<std::string>> table() {
    static const std::regex row("\n\\| R(\\d+) \\|([^\n]*)");
    static const std::regex name("`(\\w+\\.\\w+)`");
    const std::string page = text_of(fs::path(IMPRESARIO_SOURCE_DIR) / "docs" / "testing.md");
    std::map<int, std::vector<std::string>> found;
    for (std::sregex_iterator at(page.begin(), page.end(), row), end; at != end; ++at)
        found[std::stoi((*at)[1])] = all((*at)[2], name, "$1");
    return found;
}

TEST(Protocol, EveryRuleIsPlayedByATestThatExists) {
    const auto there = tests();
    ASSERT_GT(there.size(), 200U);
    const auto rules = table();
    for (const int rule : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}) {
        const auto found = rules.find(rule);
        ASSERT_NE(found, rules.end()) << "R" << rule << " is not in docs/testing.md";
        EXPECT_FALSE(found->second.empty()) << "R" << rule << " has no test";
        for (const auto& name : found->second) EXPECT_TRUE(there.contains(name)) << "R" << rule << ": " << name;
    }
}

TEST(Protocol, WhatIsNamedAfterARuleStandsInTheTable) {
    const auto rules = table();
    for (const auto& name : tests()) {
        static const std::regex rule("R(\\d\\d)(?:Rows)?\\.\\w+");
        std::smatch match;
        if (!std::regex_match(name, match, rule)) continue;
        const auto found = rules.find(std::stoi(match[1]));
        const bool stands = found != rules.end() && std::count(found->second.begin(), found->second.end(), name) > 0;
        EXPECT_TRUE(stands) << name << " is not in docs/testing.md";
    }
}

}
