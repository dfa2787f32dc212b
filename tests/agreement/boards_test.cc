// The boards and the rules keep to the conventions by which they are provisioned, linked and read.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "alerts/preset.h"
#include "orchestrator/probe.h"
#include "tests/support/files.h"

namespace impresario {
namespace {

namespace fs = std::filesystem;
using testing::kRoot;
using testing::text_of;
using Json = nlohmann::json;

std::vector<fs::path> files(const fs::path& folder, const std::string& extension) {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(kRoot / folder))
        if (entry.path().extension() == extension) found.push_back(entry.path());
    std::sort(found.begin(), found.end());
    return found;
}

struct Board {
    fs::path path;
    Json json;
};

std::vector<Board> boards() {
    std::vector<Board> found;
    for (const auto& path : files("dashboards", ".json")) found.push_back({path, Json::parse(text_of(path))});
    EXPECT_GE(found.size(), 4U);
    return found;
}

TEST(Boards, EachIsNamedAndTaggedSoThatItCanBeProvisionedAndLinked) {
    std::set<std::string> titles;
    for (const auto& [path, board] : boards()) {
        SCOPED_TRACE(path.filename());
        EXPECT_TRUE(board.at("id").is_null()) << "Grafana gives numbers, and they differ from one to the next";
        EXPECT_EQ(board.at("uid"), "impresario-" + path.stem().string());
        EXPECT_TRUE(titles.insert(board.at("title").get<std::string>()).second);
        EXPECT_FALSE(board.at("description").get<std::string>().empty());
        EXPECT_EQ(board.at("tags"), Json({"impresario"}));
        EXPECT_EQ(board.at("version"), 1) << "an export counts; here git does";
        std::set<std::string> annotations;
        for (const auto& each : board.at("annotations").at("list")) {
            annotations.insert(each.at("name").get<std::string>());
            EXPECT_EQ(each.at("datasource").at("uid"), "${datasource}");
        }
        EXPECT_TRUE(annotations.contains("Alerts") && annotations.contains("Deploys"));
        bool others = false;
        for (const auto& link : board.at("links")) others |= link.value("type", "") == "dashboards";
        EXPECT_TRUE(others) << "a way to the other boards";
    }
}

TEST(Boards, VariablesSayWhereTheDataIsAndOfWhom) {
    for (const auto& [path, board] : boards()) {
        SCOPED_TRACE(path.filename());
        std::map<std::string, Json> variables;
        for (const auto& each : board.at("templating").at("list")) variables[each.at("name")] = each;
        ASSERT_EQ(variables["datasource"].value("type", ""), "datasource");
        EXPECT_EQ(variables["datasource"]["query"], "prometheus");
        EXPECT_EQ(variables["datasource"]["current"]["value"], "impresario-prometheus");
        ASSERT_EQ(variables["database"].value("type", ""), "datasource");
        EXPECT_EQ(variables["database"]["current"]["value"], "impresario-postgres");
        EXPECT_EQ(variables["base_url"].value("type", ""), "textbox");
        for (const auto* chosen : {"organization", "workflow_type"}) EXPECT_EQ(variables[chosen]["allValue"], ".*");
    }
    const auto sources = text_of(kRoot / "dashboards/provisioning/datasources/impresario.yml");
    for (const auto* uid : {"uid: impresario-prometheus", "uid: impresario-postgres"})
        EXPECT_NE(sources.find(uid), std::string::npos);
}

TEST(Boards, EachPanelSaysWhatItShowsInWhichUnit) {
    for (const auto& [path, board] : boards()) {
        std::set<int> ids;
        std::set<std::string> titles;
        for (const auto& panel : board.at("panels")) {
            SCOPED_TRACE(path.filename().string() + ": " + panel.value("title", "?"));
            EXPECT_TRUE(ids.insert(panel.at("id").get<int>()).second);
            const auto& place = panel.at("gridPos");
            EXPECT_LE(place.at("x").get<int>() + place.at("w").get<int>(), 24);
            if (panel.at("type") == "row") continue;
            EXPECT_TRUE(titles.insert(panel.at("title").get<std::string>()).second);
            EXPECT_TRUE(panel.at("description").get<std::string>().ends_with('.'));
            const auto& defaults = panel.at("fieldConfig").at("defaults");
            EXPECT_FALSE(defaults.at("unit").get<std::string>().empty());
            const auto& steps = defaults.at("thresholds").at("steps");
            ASSERT_FALSE(steps.empty());
            EXPECT_TRUE(steps[0].at("value").is_null());
            for (const auto& link : panel.at("links"))
                EXPECT_TRUE(link.at("url").get<std::string>().starts_with("${base_url}/"));
        }
        for (const auto& panel : board.at("panels"))
            for (const auto& other : board.at("panels")) {
                const auto& a = panel.at("gridPos");
                const auto& b = other.at("gridPos");
                const auto apart = [&](const char* at, const char* length) {
                    return a.at(at).get<int>() + a.at(length).get<int>() <= b.at(at).get<int>() ||
                           b.at(at).get<int>() + b.at(length).get<int>() <= a.at(at).get<int>();
                };
                EXPECT_TRUE(panel.at("id") == other.at("id") || apart("x", "w") || apart("y", "h"))
                    << path << ": " << panel.at("title") << " lies on " << other.at("title");
            }
    }
}

TEST(Boards, QueriesGoToTheChosenSourceOverTheChosenTime) {
    const std::regex window("\\[([^\\]]+)\\]");
    for (const auto& [path, board] : boards())
        for (const auto& panel : board.at("panels")) {
            if (panel.at("type") == "row") continue;
            SCOPED_TRACE(path.filename().string() + ": " + panel.value("title", "?"));
            std::set<std::string> references;
            ASSERT_FALSE(panel.at("targets").empty());
            for (const auto& target : panel.at("targets")) {
                EXPECT_TRUE(references.insert(target.at("refId").get<std::string>()).second);
                EXPECT_EQ(target.at("datasource"), panel.at("datasource"));
                if (target.contains("rawSql")) {
                    EXPECT_EQ(target.at("datasource").at("uid"), "${database}");
                    const auto sql = target.at("rawSql").get<std::string>();
                    EXPECT_TRUE(sql.find("$__timeFilter(") != std::string::npos ||
                                sql.find("limit ") != std::string::npos)
                        << "it would read a whole table";
                    continue;
                }
                EXPECT_EQ(target.at("datasource").at("uid"), "${datasource}");
                const auto expr = target.at("expr").get<std::string>();
                for (std::sregex_iterator at(expr.begin(), expr.end(), window), end; at != end; ++at)
                    EXPECT_EQ((*at)[1], target.at("instant").get<bool>() ? "$__range" : "$__rate_interval") << expr;
            }
        }
}

TEST(Boards, EveryMetricIsDrawnOrWatched) {
    platform::Metrics metrics;
    const orchestrator::Probe probe(metrics);
    std::string drawn;
    for (const auto& [path, board] : boards()) drawn += board.dump();
    std::string watched;
    for (const auto* folder : {"deploy/prometheus/rules/recording", "deploy/prometheus/rules/alerts"})
        for (const auto& path : files(folder, ".yml")) watched += text_of(path);
    for (const auto& chapter : metrics.catalogue())
        for (const auto& metric : chapter.metrics)
            EXPECT_TRUE(
                std::regex_search(drawn + watched, std::regex("\\b" + metric.name + "(_bucket|_count|_sum)?\\b")))
                << metric.name << " is on no board and in no rule";
    // Of the recording rules each is used as well.
    const std::regex record("record: (\\S+)");
    for (std::sregex_iterator at(watched.begin(), watched.end(), record), end; at != end; ++at) {
        const auto name = (*at)[1].str();
        const auto first = watched.find(name);
        EXPECT_TRUE(drawn.find(name) != std::string::npos || watched.find(name, first + 1) != std::string::npos)
            << name;
    }
}

TEST(Rules, EachAlertSaysWhatItMeansAndWhatToDoAndIsTested) {
    const auto rules = files("deploy/prometheus/rules/alerts", ".yml");
    std::set<std::string> names;
    for (const auto& path : rules) {
        const auto name = path.stem().string();
        SCOPED_TRACE(name);
        names.insert(name);
        const auto text = text_of(path);
        for (const auto& part : {"- alert: " + name + "\n", std::string("          severity: "),
                                 std::string("          summary: "), std::string("          description: "),
                                 "          runbook_url: '{{ $externalLabels.runbooks }}/" + name + ".md'\n"})
            EXPECT_NE(text.find(part), std::string::npos) << part;
        const auto test = text_of(kRoot / "deploy/prometheus/tests" / (name + ".yml"));
        EXPECT_NE(test.find("alertname: " + name + "\n        exp_alerts:\n          - exp_labels"), std::string::npos)
            << "no test in which it fires";
    }
    // The hub raises alerts of its own.
    for (const auto preset : alerts::preset_names())
        for (const auto& rule : alerts::preset(preset)) names.insert(rule.name);
    // What is looked into, or planned, without an alert.
    const std::set<std::string> others{"stuck_execution", "schema_migration", "rollback"};
    for (const auto& path : files("docs/runbooks", ".md")) {
        const auto name = path.stem().string();
        EXPECT_TRUE(name == "README" || others.contains(name) || names.contains(name)) << path << " is about no alert";
    }
    for (const auto& name : names)
        EXPECT_NE(text_of(kRoot / "docs/runbooks" / (name + ".md")).find("\nAlert `" + name + "`"), std::string::npos)
            << name << " has no runbook that says so";
    names.insert(others.begin(), others.end());
    for (const auto& name : names) {
        SCOPED_TRACE(name);
        const auto text = text_of(kRoot / "docs/runbooks" / (name + ".md"));
        std::size_t at = 0;
        for (const auto* part : {"\n## Look\n\n", "\n## Likely causes\n\n", "\n## Good\n\n"}) {
            at = text.find(part, at);
            ASSERT_NE(at, std::string::npos) << "it has not" << part;
        }
    }
    for (const auto* wanted :
         {"orchestrator_down", "cost_budget_exceeded", "error_rate_high", "queue_depth_high", "api_limits_approaching",
          "execution_time_slow", "outbox_lag", "dead_letters", "breaker_open", "node_lost"})
        EXPECT_TRUE(names.contains(wanted)) << wanted;
}

}
}
