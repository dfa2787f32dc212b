// Metrics: what is told is what was meant, whatever people call their things, and it does not grow without end (S12).
#include "platform/metrics.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "platform/metric_catalogue.h"
#include "tests/support/exposition.h"
#include "tests/support/promtool.h"

namespace impresario::platform {
namespace metrics_test {

using testing::check_metrics;
using testing::read_samples;
using testing::Sample;

std::vector<Sample> samples_of(const Metrics& metrics, const std::string& name) {
    auto all = read_samples(metrics.text());
    std::erase_if(all, [&](const Sample& each) { return each.name != name; });
    return all;
}

std::size_t count(const std::string& text, const std::string& what) {
    std::size_t found = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
    return found;
}

/// Of a few bytes each, the worst ones among them.
std::vector<std::string> hostile_names(std::size_t most) {
    std::vector<std::string> names{"a\"b",
                                   "a\\b",
                                   "a\nhub_up 0",
                                   "a\n# TYPE hub_up gauge",
                                   "\\n",
                                   "\"} 1\n",
                                   "\xf0\x9f\x98\x80",
                                   "",
                                   "{",
                                   "}",
                                   ",",
                                   "=",
                                   " ",
                                   "\t",
                                   "\r",
                                   "#",
                                   "\\",
                                   "\"",
                                   "a\\\"b",
                                   "le"};
    std::mt19937 random(12);
    const std::string letters = "ab\"\\\n{}=, #\t";
    while (names.size() < most) {
        std::string name;
        for (auto i = random() % 12 + 1; i > 0; --i) name += letters[random() % letters.size()];
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    return names;
}

TEST(Metrics, EveryNameReadsBackExactly) {
    Metrics metrics;
    metrics.begin_chapter("Test");
    Counter counter(metrics, {"impresario_things_total", {{"thing", true}}, "Things."});
    Gauge gauge(metrics, {"impresario_weight_bytes", {{"thing", true}, {"what"}}, "Their weight."});
    Histogram histogram(metrics, {"impresario_length_seconds", {{"thing", true}}, "Their length.", {1, 10}});
    const auto names = hostile_names(1000);
    for (std::size_t i = 0; i < names.size(); ++i) {
        counter.add({names[i]}, static_cast<double>(i));
        gauge.set({names[i], "net"}, static_cast<double>(i));
        histogram.observe({names[i]}, static_cast<double>(i));
    }
    const auto text = metrics.text();
    const auto said = check_metrics(text);
    EXPECT_EQ(said.code, 0) << said.text;
    EXPECT_EQ(said.text, "");
    std::map<std::string, std::map<std::string, double>> told;
    std::set<std::string> other;
    for (const auto& sample : read_samples(text)) {
        const auto thing = sample.labels.find("thing");
        if (thing == sample.labels.end())
            other.insert(sample.name);
        else
            told[sample.name][thing->second] = sample.value;
    }
    for (const auto* name : {"impresario_things_total", "impresario_weight_bytes", "impresario_length_seconds_sum"}) {
        ASSERT_EQ(told[name].size(), names.size()) << name;
        for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(told[name][names[i]], static_cast<double>(i)) << name;
    }
    EXPECT_EQ(other, std::set<std::string>()) << "nothing that was not meant";
    for (const auto* name : {"things_total", "weight_bytes", "length_seconds"}) {
        EXPECT_EQ(count(text, std::string("\n# TYPE impresario_") + name + " "), 1U);
        EXPECT_EQ(count(text, std::string("# HELP impresario_") + name + " "), 1U);
    }
}

TEST(Metrics, BeyondTheCeilingNamesFoldAndACounterSaysSo) {
    Metrics metrics(10);
    Counter counter(metrics, {"impresario_ends_total", {{"lane", true}, {"outcome"}}, "Ends."});
    for (int i = 0; i < 100; ++i) counter.add({"lane" + std::to_string(i), i % 2 ? "dead" : "completed"});
    double sum = 0;
    std::map<std::string, double> folded;
    const auto ends = samples_of(metrics, "impresario_ends_total");
    for (const auto& each : ends) {
        sum += each.value;
        if (each.labels.at("lane") == "other") folded[each.labels.at("outcome")] = each.value;
    }
    EXPECT_EQ(ends.size(), 12U) << "of what has a few values each has one more";
    EXPECT_EQ(sum, 100) << "nothing is lost";
    EXPECT_EQ(folded, (std::map<std::string, double>{{"completed", 45}, {"dead", 45}}));
    const auto said = samples_of(metrics, "impresario_metrics_folded_total");
    ASSERT_EQ(said.size(), 1U);
    EXPECT_EQ(said[0].labels.at("metric"), "impresario_ends_total");
    EXPECT_EQ(said[0].value, 90);
    counter.add({"lane3", "dead"});
    counter.add({"lane5000", "cancelled"}, 0);
    EXPECT_EQ(samples_of(metrics, "impresario_ends_total").size(), 12U) << "nothing is made for what has not happened";
    EXPECT_EQ(samples_of(metrics, "impresario_metrics_folded_total")[0].value, 90) << "who has a series keeps it";
}

TEST(Metrics, WhatFoldsOfAGaugeIsItsSumOrItsLargest) {
    Metrics metrics(2);
    Gauge depth(metrics, {"impresario_depth", {{"lane", true}}, "How many."});
    Gauge age(metrics, {"impresario_age_seconds", {{"lane", true}}, "How old.", {}, true});
    const auto value = [&](const char* name, const char* lane) {
        for (const auto& each : samples_of(metrics, name))
            if (each.labels.at("lane") == lane) return each.value;
        return -1.0;
    };
    // Each time anew.
    for (int times = 0; times < 3; ++times) {
        for (const auto& [lane, number] : {std::pair{"a", 1}, {"b", 2}, {"c", 30}, {"d", 4}}) {
            depth.set({lane}, number);
            age.set({lane}, number);
        }
        depth.drop_unset();
        age.drop_unset();
        EXPECT_EQ(value("impresario_depth", "other"), 34);
        EXPECT_EQ(value("impresario_age_seconds", "other"), 30);
        EXPECT_EQ(value("impresario_depth", "b"), 2);
    }
    // What is not there any more is not told, and makes room.
    for (const auto* lane : {"c", "d"}) depth.set({lane}, 5);
    depth.drop_unset();
    EXPECT_EQ(value("impresario_depth", "a"), -1);
    for (const auto* lane : {"c", "d"}) depth.set({lane}, 5);
    depth.drop_unset();
    EXPECT_EQ(value("impresario_depth", "c"), 5);
    EXPECT_EQ(value("impresario_depth", "d"), 5);
    EXPECT_EQ(value("impresario_depth", "other"), -1);
}

TEST(Metrics, ACounterOfNothingInParticularIsThereFromTheBeginning) {
    Metrics metrics;
    const Counter counter(metrics, {"impresario_faults_total", {}, "Faults."});
    ASSERT_EQ(samples_of(metrics, "impresario_faults_total").size(), 1U)
        << "else its first increase is not seen as one";
}

TEST(Metrics, TheCatalogueSaysWhatIsDeclared) {
    Metrics metrics;
    metrics.begin_chapter("Weather");
    const Gauge gauge(metrics, {"impresario_rain_bytes", {{"town", true}, {"what"}}, "How much."});
    EXPECT_NE(catalogue_markdown(metrics.catalogue())
                  .find("### Weather\n\n| name | kind | labels | what |\n|---|---|---|---|\n"
                        "| `impresario_rain_bytes` | gauge, bytes | `town`, `what` | How much. |\n"),
              std::string::npos);
}

}
}
