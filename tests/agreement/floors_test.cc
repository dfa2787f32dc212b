// Reads every include of every room and keeps the picture of the floors true.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace {

namespace fs = std::filesystem;

const std::map<std::string, int> kFloors{
    {"domain", 0},   {"platform", 1},     {"priority_queue", 2}, {"resource_manager", 2},
    {"webhooks", 2}, {"playbooks", 2},    {"schedules", 2},      {"alerts", 2},
    {"journal", 2},  {"subworkflows", 2}, {"reports", 3},        {"orchestrator", 4},
    {"api", 5},      {"cli", 6}};

/// What is used by cli and tests only.
const std::set<std::string> kBeside{"migrations", "bench"};

std::vector<fs::path> sources(const std::string& room) {
    std::vector<fs::path> found;
    const fs::path folder = fs::path(IMPRESARIO_SOURCE_DIR) / room;
    if (!fs::exists(folder)) return found;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        const auto extension = entry.path().extension();
        if (extension == ".h" || extension == ".cc") found.push_back(entry.path());
    }
    return found;
}

std::string text_of(const fs::path& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

std::vector<std::string> includes(const std::string& text) {
    static const std::regex include("(?:^|\n)#include [<\"]([^>\"]+)[>\"]");
    std::vector<std::string> found;
    for (std::sregex_iterator at(text.begin(), text.end(), include), end; at != end; ++at) found.push_back((*at)[1]);
    return found;
}

TEST(Floors, IncludesPointDownwardsOnly) {
    std::size_t read = 0;
    for (const auto& [room, floor] : kFloors)
        for (const auto& path : sources(room)) {
            ++read;
            for (const auto& include : includes(text_of(path))) {
                const auto slash = include.find('/');
                if (slash == std::string::npos) continue;
                const auto other = include.substr(0, slash);
                if (kBeside.contains(other)) {
                    EXPECT_EQ(room, "cli") << path << " includes " << include;
                    continue;
                }
                const auto there = kFloors.find(other);
                if (there == kFloors.end() || other == room) continue;
                EXPECT_LT(there->second, floor) << path << " includes " << include << ", which is not below it";
            }
        }
    EXPECT_GT(read, 60U);
}

TEST(Floors, ServicesStandOnDomainAndPlatformOnly) {
    for (const auto* service : {"kit", "content_pipeline", "seo_monitor", "revenue_optimizer", "intelligence_engine"})
        for (const auto& path : sources(std::string("subworkflows/") + service))
            for (const auto& include : includes(text_of(path))) {
                const auto room = include.substr(0, include.find('/'));
                if (!kFloors.contains(room)) continue;
                const bool fine = room == "domain" || room == "platform" || include.starts_with("subworkflows/kit/") ||
                                  include.starts_with(std::string("subworkflows/") + service);
                EXPECT_TRUE(fine) << path << " includes " << include;
            }
}

TEST(Floors, SlowHeadersStayInTheirFiles) {
    const std::set<std::string> beast{"platform/http_client.cc", "platform/http_server.cc"};
    // Forward declarations only: what others of its kind are read with.
    const std::set<std::string> json{"platform/definition_json.h"};
    const std::set<std::string> pqxx{"platform/session.cc", "platform/connection.cc"};
    for (const auto& [room, floor] : kFloors)
        for (const auto& path : sources(room)) {
            const auto relative = fs::relative(path, IMPRESARIO_SOURCE_DIR).string();
            for (const auto& include : includes(text_of(path))) {
                if (include.starts_with("boost/beast")) EXPECT_TRUE(beast.contains(relative)) << relative;
                if (include.starts_with("pqxx/")) EXPECT_TRUE(pqxx.contains(relative)) << relative;
                if (include.starts_with("nlohmann/"))
                    EXPECT_TRUE(relative.ends_with("_json.cc") || relative == "cli/config.cc" || room == "cli" ||
                                (json.contains(relative) && include == "nlohmann/json_fwd.hpp"))
                        << relative << ": JSON stays at the edges";
                if (room == "domain")
                    EXPECT_TRUE(!include.starts_with("boost/") || include == "boost/system/result.hpp")
                        << relative << " includes " << include;
            }
        }
}

TEST(Floors, TheSystemClockIsReadInOnePlace) {
    for (const auto& [room, floor] : kFloors)
        for (const auto& path : sources(room)) {
            const auto relative = fs::relative(path, IMPRESARIO_SOURCE_DIR).string();
            if (relative == "platform/clock.cc" || relative == "platform/log.cc") continue;
            EXPECT_EQ(text_of(path).find("system_clock"), std::string::npos) << relative;
        }
}

}
