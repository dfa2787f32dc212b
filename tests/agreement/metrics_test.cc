// The catalogue of metrics agrees with the page about it, and with everything that draws, alerts on or names a metric.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "orchestrator/probe.h"
#include "platform/metric_catalogue.h"
#include "tests/support/files.h"

namespace impresario {
namespace {

namespace fs = std::filesystem;
using platform::Metric;
using platform::MetricKind;
using testing::kRoot;
using testing::text_of;

struct Declared {
    platform::Metrics metrics;
    orchestrator::Probe probe{metrics};
    std::map<std::string, Metric> all() const {
        std::map<std::string, Metric> found;
        for (const auto& chapter : metrics.catalogue())
            for (const auto& each : chapter.metrics) EXPECT_TRUE(found.emplace(each.name, each).second) << each.name;
        return found;
    }
};

TEST(Metrics, ThePageIsMadeOfTheCatalogue) {
    const Declared declared;
    const auto page = text_of(kRoot / "docs" / "metrics.md");
    const std::string before = "<!-- impresario metrics --markdown -->\n";
    const auto begin = page.find(before);
    const auto end = page.find("<!-- end -->");
    ASSERT_TRUE(begin != std::string::npos && end != std::string::npos);
    EXPECT_EQ(page.substr(begin + before.size(), end - begin - before.size()),
              platform::catalogue_markdown(declared.metrics.catalogue()))
        << "put there what build/dev/bin/impresario metrics --markdown prints";
}

TEST(Metrics, NamesKeepToPrometheussOwnRules) {
    const Declared declared;
    const std::regex name("(impresario|process)_[a-z0-9]+(_[a-z0-9]+)*");
    const std::regex label("[a-z]+(_[a-z]+)*");
    std::size_t read = 0;
    for (const auto& [called, metric] : declared.all()) {
        ++read;
        EXPECT_TRUE(std::regex_match(called, name)) << called;
        EXPECT_EQ(called.ends_with("_total"), metric.kind == MetricKind::counter) << called;
        EXPECT_EQ(metric.buckets.empty(), metric.kind != MetricKind::histogram) << called;
        EXPECT_TRUE(std::is_sorted(metric.buckets.begin(), metric.buckets.end())) << called;
        // In seconds or a part of the whole, as all durations and ratios are.
        EXPECT_TRUE(metric.kind != MetricKind::histogram || !platform::unit_of(metric).empty()) << called;
        EXPECT_TRUE(metric.help.ends_with('.')) << called;
        EXPECT_EQ(metric.help.find_first_of("\n\\|"), std::string::npos) << called << ": the text is not escaped there";
        std::set<std::string> labels;
        for (const auto& each : metric.labels) {
            EXPECT_TRUE(std::regex_match(each.name, label)) << called;
            EXPECT_TRUE(labels.insert(each.name).second) << called;
            for (const auto* never : {"execution_id", "url", "token", "error", "le", "job", "instance"})
                EXPECT_NE(each.name, never) << called;
        }
    }
    EXPECT_GT(read, 60U);
}

/// Where people and programs name metrics.
std::vector<fs::path> readers() {
    std::vector<fs::path> found{kRoot / "README.md"};
    for (const auto* folder : {"docs", "dashboards", "deploy"})
        for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
            const auto extension = entry.path().extension();
            if (extension == ".md" || extension == ".json" || extension == ".yml") found.push_back(entry.path());
        }
    return found;
}

TEST(Metrics, WhoeverNamesOneNamesOneThatIsThere) {
    const Declared declared;
    const auto all = declared.all();
    // Those of histograms, and the databases and services that are called like that.
    const std::regex word("\\b(?:impresario|process)_[a-z0-9_]+\\b(?!:|\\.(?:md|yml|json))");
    const std::set<std::string> others{"impresario_hub", "impresario_test"};
    std::map<std::string, std::size_t> named;
    for (const auto& path : readers()) {
        const auto text = text_of(path);
        for (std::sregex_iterator at(text.begin(), text.end(), word), end; at != end; ++at) {
            std::string called = at->str();
            if (others.contains(called)) continue;
            ++named[called];
            for (const auto* part : {"_bucket", "_sum", "_count"})
                if (called.ends_with(part) && !all.contains(called))
                    called.resize(called.size() - std::string(part).size());
            EXPECT_TRUE(all.contains(called)) << path << " names " << at->str();
        }
    }
    EXPECT_GT(named.size(), 60U);
}

}
}
