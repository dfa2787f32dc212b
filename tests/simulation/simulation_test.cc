#include <gtest/gtest.h>

#include <cstdlib>

#include "simulation/world.h"

namespace impresario::simulation {
namespace {

constexpr std::uint64_t kShards = 20;

/// IMPRESARIO_SEEDS: fewer where a seed takes longer (scripts/sanitize), more for a long night.
std::uint64_t seeds() {
    const char* wanted = std::getenv("IMPRESARIO_SEEDS");
    return wanted ? std::strtoull(wanted, nullptr, 10) : 10'000;
}

std::string told(const Report& report) {
    return "seed " + std::to_string(report.seed) + " broke " + report.broken + ": " + report.how +
           "\nto replay it: IMPRESARIO_SEED=" + std::to_string(report.seed) +
           " build/dev/tests/simulation_test --gtest_filter=Simulation.Replay\n";
}

TEST(Simulation, Replay) {
    const char* seed = std::getenv("IMPRESARIO_SEED");
    const auto report = run(seed ? std::strtoull(seed, nullptr, 10) : 1, seed != nullptr);
    if (seed)
        for (const auto& line : report.trace) std::puts(line.c_str());
    EXPECT_TRUE(report.kept()) << told(report);
    std::printf("%zu executions, %zu transactions, %zu requests, %zu plans, %s\n", report.executions,
                report.transactions, report.requests, report.plans, domain::human(report.virtual_time).c_str());
}

class Seeds : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Seeds, Hold) {
    const std::uint64_t count = (seeds() + kShards - 1) / kShards;
    int broken = 0;
    Report sum;
    for (std::uint64_t seed = GetParam() * count; seed < (GetParam() + 1) * count && broken < 20; ++seed) {
        const auto report = run(seed);
        sum.executions += report.executions;
        sum.transactions += report.transactions;
        sum.requests += report.requests;
        sum.plans += report.plans;
        sum.virtual_time += report.virtual_time;
        if (report.kept()) continue;
        ++broken;
        ADD_FAILURE() << told(report);
    }
    std::printf("%zu executions, %zu transactions, %zu requests, %zu plans, %s\n", sum.executions, sum.transactions,
                sum.requests, sum.plans, domain::human(sum.virtual_time).c_str());
}

INSTANTIATE_TEST_SUITE_P(Simulation, Seeds, testing::Range<std::uint64_t>(0, kShards));

}
}
