#include "reports/proposals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace impresario::reports {
namespace proposals_test {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const domain::Lane kLane{"default", "work"};
constexpr double kWeek = 7 * 86400;

Report week() {
    Report report;
    report.kind = Kind::weekly;
    report.period = {domain::TimePoint{}, domain::TimePoint{} + std::chrono::hours{168}};
    report.made_at = report.period.to;
    return report;
}

BudgetUse budget(double peak) {
    return {"default", "day", "day", {100'000'000}, {400'000'000}, {static_cast<std::int64_t>(peak * 1e6)}, 7};
}

Limits gemini() {
    resource_manager::Provider provider;
    provider.name = "gemini";
    provider.limits.push_back({"rpm", resource_manager::Measure::requests, 60});
    return {{provider}, {}};
}

TEST(Proposals, ABudgetThatStoppedWorkIsToBeHigher) {
    auto report = week();
    report.budgets = {budget(100)};
    report.gates = {{kLane, "budget", "day", 7200}};
    const auto found = proposals(report, {});
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].subject, "budget day of default");
    EXPECT_EQ(found[0].now, "100.00 USD a day");
    EXPECT_EQ(found[0].proposed, "125 USD a day");
    EXPECT_EQ(found[0].because,
              "at most 100 % of it was used (100.00 USD) in 7 windows, and work waited for it for 2h 00m");
    EXPECT_EQ(found[0].command, "impresario budgets show day");
}

TEST(Proposals, ABudgetThatIsHardlyUsedCouldBeLower) {
    auto report = week();
    report.budgets = {budget(20)};
    const auto found = proposals(report, {});
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].proposed, "30 USD a day");
    report.budgets[0].windows = 2;
    EXPECT_THAT(proposals(report, {}), IsEmpty()) << "two days say nothing";
    report.budgets = {budget(60)};
    EXPECT_THAT(proposals(report, {}), IsEmpty()) << "it fits";
    report.budgets = {budget(99)};
    report.budgets[0].window = "rolling";
    EXPECT_THAT(proposals(report, {}), IsEmpty()) << "what it held at its most is not known";
}

TEST(Proposals, ALimitIsRaisedOnlyWhereTheProviderDidNotRefuse) {
    auto report = week();
    report.gates = {{kLane, "provider", "gemini rpm", 0.3 * kWeek}};
    auto found = proposals(report, gemini());
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].proposed, "75, if the provider allows it");
    EXPECT_EQ(found[0].because, "work waited for it for 30 % of the time, and the provider refused for 0 %");
    report.gates.push_back({kLane, "provider", "gemini", 0.1 * kWeek});
    found = proposals(report, gemini());
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].proposed, "48") << "it refused for a tenth of the time";
    report.gates.back().seconds = 0.03 * kWeek;
    EXPECT_THAT(proposals(report, gemini()), IsEmpty()) << "a little of both says nothing";
}

TEST(Proposals, ConcurrencyIsRaisedWhereWhatRunsSucceeds) {
    auto report = week();
    report.gates = {{kLane, "concurrency", "default/work", 0.4 * kWeek}};
    report.lanes[kLane].completed = 99;
    report.lanes[kLane].failed = 1;
    const Limits limits{{}, {{kLane, 2}}};
    auto found = proposals(report, limits);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].now, "2");
    EXPECT_EQ(found[0].proposed, "3");
    EXPECT_THAT(found[0].because, HasSubstr("40 % of the time, and 99 % of 100 succeeded"));
    report.lanes[kLane].failed = 20;
    EXPECT_THAT(proposals(report, limits), IsEmpty());
}

TEST(Proposals, ABudgetIsItsOrganizationsOwn) {
    auto report = week();
    report.budgets = {budget(60), budget(60), budget(60)};
    report.budgets[1].organization_id = "acme";
    report.budgets[2].organization_id = "";
    report.gates = {{{"acme", "work"}, "budget", "day", 7200}};
    const auto found = proposals(report, {});
    ASSERT_THAT(found, SizeIs(1)) << "neither that of another nor that of all has stopped it";
    EXPECT_EQ(found[0].subject, "budget day of acme");
}

TEST(Proposals, ADayOrPartOfAWeekSaysNothing) {
    auto report = week();
    report.budgets = {budget(100)};
    EXPECT_THAT(proposals(report, {}), SizeIs(1));
    report.made_at = report.period.to - std::chrono::hours{1};
    EXPECT_THAT(proposals(report, {}), IsEmpty());
    report = week();
    report.kind = Kind::daily;
    report.budgets = {budget(100)};
    EXPECT_THAT(proposals(report, {}), IsEmpty());
}

}
}
