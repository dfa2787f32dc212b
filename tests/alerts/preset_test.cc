// What comes with the hub: without fault, with the thresholds of the seeds, and with commands and pages that there are.
#include "alerts/preset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "alerts/evaluate.h"
#include "alerts/route.h"

namespace impresario::alerts {
namespace preset_test {

using std::chrono::minutes;
using std::chrono::seconds;
const domain::TimePoint kNow{std::chrono::hours{500000}};

std::vector<Rule> all() {
    std::vector<Rule> rules;
    for (const auto name : preset_names())
        for (auto& rule : preset(name)) rules.push_back(rule);
    return rules;
}

const Rule& find(const std::vector<Rule>& rules, std::string_view name) {
    return *std::find_if(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.name == name; });
}

TEST(Preset, HasNoFault) {
    for (const auto& fault : faults_of(all())) ADD_FAILURE() << fault.pointer << " " << fault.what;
    EXPECT_EQ(preset("003").size(), 6U);
    EXPECT_EQ(preset("000").size(), 3U);
    EXPECT_EQ(default_rules().size(), 6 + preset("operations").size());
    EXPECT_TRUE(preset("").empty());
}

TEST(Preset, EachSaysWhatWhyAndWhereToLook) {
    for (const auto& rule : all()) {
        EXPECT_EQ(rule.causes.size(), kMostCauses) << rule.name;
        EXPECT_FALSE(rule.description.empty()) << rule.name;
        EXPECT_TRUE(rule.link.starts_with('/')) << rule.name;
        EXPECT_EQ(rule.runbook, "docs/runbooks/" + rule.name + ".md");
        EXPECT_TRUE(std::filesystem::exists(std::string(IMPRESARIO_SOURCE_DIR "/") + rule.runbook)) << rule.runbook;
    }
}

TEST(Preset, LabelsInItsTextsAreThoseOfTheReading) {
    for (const auto& rule : all()) {
        const std::string labels = "," + std::string(find_reading(rule.reading)->labels) + ",";
        for (const auto& text : {rule.summary, rule.description, rule.command, rule.link})
            for (auto at = text.find("{{ labels."); at != std::string::npos; at = text.find("{{ labels.", at + 1)) {
                const auto name = text.substr(at + 10, text.find(' ', at + 10) - at - 10);
                EXPECT_NE(labels.find("," + name + ","), std::string::npos) << rule.name << ": " << name;
            }
    }
}

TEST(Preset, CommandsAreThoseOfTheCommandLine) {
    std::ifstream file(IMPRESARIO_SOURCE_DIR "/docs/cli.md");
    std::stringstream page;
    page << file.rdbuf();
    for (const auto& rule : all()) {
        std::istringstream words(rule.command);
        std::string program;
        std::string command;
        std::string next;
        words >> program >> command >> next;
        EXPECT_EQ(program, "impresario") << rule.name;
        // A row of the table of commands that names it first, or among others.
        bool there = false;
        std::string row;
        for (std::istringstream lines(page.str()); std::getline(lines, row);)
            there = there || (row.starts_with("| `") && (row.find("`" + command + "`") != std::string::npos ||
                                                         (row.find("`" + command + " ") != std::string::npos &&
                                                          row.find(next + "`") != std::string::npos)));
        EXPECT_TRUE(there) << rule.command;
    }
}

/// Whether a value that lasts raises it, and after how long.
std::optional<seconds> raised_after(const Rule& rule, double value) {
    Conditions conditions;
    for (seconds later{0}; later <= minutes{10}; later += seconds{10}) {
        const auto result = evaluate({rule}, {{rule.reading, {{{}, value, {}}}}}, conditions, kNow + later);
        if (!result.raised.empty()) return later;
        conditions = result.conditions;
    }
    return std::nullopt;
}

TEST(Preset, TheThresholdsOfTheSeeds) {
    struct Case {
        const char* preset;
        const char* rule;
        double quiet, loud;
        seconds after;
        const char* receiver;
    };
    for (const auto& each : {Case{"003", "orchestrator_down", 119, 120, seconds{0}, "page"},
                             {"003", "cost_budget_exceeded", 89.9, 90, seconds{0}, "page"},
                             {"003", "error_rate_high", 9.9, 10, seconds{0}, "page"},
                             {"003", "queue_depth_high", 499, 500, minutes{1}, "slack"},
                             {"003", "api_limits_approaching", 79.9, 80, seconds{30}, "slack"},
                             {"003", "execution_time_slow", 79.9, 80, seconds{0}, "email"},
                             {"000", "failure_rate_high", 5, 5.1, seconds{0}, "slack"},
                             {"000", "pending_high", 100, 101, minutes{5}, "slack"},
                             {"000", "retries_rising", 49, 50, minutes{5}, "slack"}}) {
        const auto rules = preset(each.preset);
        const auto& rule = find(rules, each.rule);
        EXPECT_FALSE(raised_after(rule, each.quiet)) << each.rule;
        EXPECT_EQ(raised_after(rule, each.loud), each.after) << each.rule;
        const auto to = destinations(default_route(), alert_labels(rule, {}));
        ASSERT_EQ(to.size(), 1U);
        EXPECT_EQ(to[0].receiver, each.receiver) << each.rule;
    }
}

}
}
