// The engine finds what was planted, keeps quiet where nothing was, and says what it could not know.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <numbers>
#include <set>
#include <sstream>

#include "platform/callback_json.h"
#include "platform/dice.h"
#include "platform/json_text.h"
#include "subworkflows/intelligence_engine/hub_history.h"
#include "subworkflows/intelligence_engine/report.h"
#include "subworkflows/intelligence_engine/report_json.h"
#include "subworkflows/intelligence_engine/request_json.h"

namespace impresario::subworkflows::intelligence_engine {
namespace {

using domain::MicroUsd;
using domain::Status;
using domain::TimePoint;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TimePoint at(std::string_view text) { return *domain::parse_time(text); }
const TimePoint kNow = at("2026-03-18T18:00:00Z");  // a Wednesday

const auto kAll = [](const std::string&) { return true; };

/// Chance with a seed, the same on every machine.
class World {
  public:
    explicit World(std::uint64_t seed) : dice_(seed) {}
    double unit() { return dice_.unit(); }
    double normal() {
        return std::sqrt(-2 * std::log(1 - dice_.unit())) * std::cos(2 * std::numbers::pi * dice_.unit());
    }
    int poisson(double mean) {
        int count = 0;
        for (double left = std::exp(-mean), product = dice_.unit(); product > left; product *= dice_.unit()) ++count;
        return count;
    }
    domain::ExecutionId id() {
        domain::ExecutionId made;
        for (int i = 0; i < 8; ++i)
            made.value[static_cast<std::size_t>(15 - i)] = static_cast<std::uint8_t>(next_ >> (8 * i));
        ++next_;
        return made;
    }

  private:
    platform::SeededDice dice_;
    std::uint64_t next_ = 1;
};

struct Shape {
    std::string type = "content_pipeline";
    /// Runs in an hour, on average: at random, or evenly where `regular`.
    double per_hour = 1;
    bool regular = false;
    /// How much busier 14:00 is than 02:00, and how much dearer.
    double rhythm = 0;
    double dearer = 0;
    double spread = 0.25;
    /// Share of executions that are another kind of work, twelve times as large.
    double large = 0;
    double failures = 0.03;
    double retries = 0.05;
    int days = 8;
};

double wave(TimePoint when) { return std::cos(2 * std::numbers::pi * (hour_of_day(when) - 14) / 24); }

TypeHistory history(World& world, const Shape& shape) {
    TypeHistory made;
    made.workflow_type = shape.type;
    made.since = kNow - hours{24 * shape.days};
    for (TimePoint hour = made.since; hour < kNow; hour += hours{1}) {
        const double mean = shape.per_hour * (1 + shape.rhythm * wave(hour));
        const int runs = shape.regular ? static_cast<int>(std::lround(mean)) : world.poisson(mean);
        for (int i = 0; i < runs; ++i) {
            Execution execution;
            execution.id = world.id();
            const double place = shape.regular ? (i + world.unit()) / runs : world.unit();
            execution.created_at = hour + seconds{static_cast<int>(place * 3500)};
            execution.started_at = execution.created_at + seconds{1};
            const bool large = world.unit() < shape.large;
            const double size = (large ? 12 : 1) * std::exp(shape.dearer * wave(hour));
            execution.items = 8 + static_cast<int>(world.unit() * 5);
            execution.duration_ms = std::llround(20000 * size * std::exp(shape.spread * world.normal()));
            execution.cost = MicroUsd{std::llround(5000.0 * static_cast<double>(*execution.items) * size *
                                                   std::exp(shape.spread * world.normal()))};
            execution.completed_at = *execution.started_at + std::chrono::milliseconds{10};
            execution.status = world.unit() < shape.failures ? Status::dead : Status::completed;
            execution.retry_count = execution.failed() ? 3 : world.unit() < shape.retries ? 1 : 0;
            made.executions.push_back(execution);
        }
    }
    std::sort(made.executions.begin(), made.executions.end(),
              [](const Execution& a, const Execution& b) { return a.created_at < b.created_at; });
    return made;
}

TypeReport judged(const TypeHistory& history, const Request& request = {}) {
    return analyse(request, kNow, {history}).types.front();
}

std::vector<Kind> kinds(const TypeReport& report) {
    std::vector<Kind> found;
    for (const auto& anomaly : report.anomalies) found.push_back(anomaly.kind);
    return found;
}

std::vector<std::string> ids(const std::vector<domain::ExecutionId>& executions) {
    std::vector<std::string> texts;
    for (const auto& id : executions) texts.push_back(id.text());
    return texts;
}

/// Every execution that began so many hours ago or less.
void change_since(TypeHistory& history, int hours_ago, const std::function<void(Execution&)>& change) {
    for (auto& execution : history.executions)
        if (execution.created_at >= kNow - hours{hours_ago}) change(execution);
}

// --- statistics -----------------------------------------------------------------------------------------------------

TEST(IntelligenceStatistics, WilsonAgreesWithNewcombesTable) {
    // R. G. Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in Medicine 17, 1998.
    struct Case {
        int hits, tries;
        double low, high;
    };
    for (const auto& each : {Case{81, 263, 0.2553, 0.3662}, Case{15, 148, 0.0624, 0.1605}, Case{0, 20, 0, 0.1611},
                             Case{1, 29, 0.0061, 0.1718}}) {
        const auto interval = wilson(each.hits, each.tries, 1.959964);
        EXPECT_NEAR(interval.low, each.low, 5e-5) << each.hits;
        EXPECT_NEAR(interval.high, each.high, 5e-5) << each.hits;
    }
    EXPECT_EQ(wilson(0, 0, 1.96).high, 1);
}

TEST(IntelligenceStatistics, TailsAgreeWithKnownValues) {
    EXPECT_NEAR(binomial_tail(8, 10, 0.5), 56.0 / 1024, 1e-12);
    EXPECT_NEAR(binomial_tail(1, 20, 0.05), 1 - std::pow(0.95, 20), 1e-12);
    EXPECT_NEAR(binomial_tail(8, 8, 0.04), std::pow(0.04, 8), 1e-22);
    EXPECT_EQ(binomial_tail(0, 10, 0.5), 1);
    EXPECT_EQ(binomial_tail(3, 10, 0), 0);
    EXPECT_NEAR(normal_tail(1.959964), 0.025, 1e-7);
    EXPECT_NEAR(normal_score(normal_tail(6)), 6, 1e-9);
}

TEST(IntelligenceStatistics, RobustScaleRanksAndQuantiles) {
    EXPECT_NEAR(robust_scale({-1, -1, 0, 0, 2, 4, 7}), 1.4826, 1e-4);
    // More than half of them zero: the mean absolute deviation takes over.
    EXPECT_NEAR(robust_scale({0, 0, 0, 4}), 1.253314, 1e-6);
    EXPECT_EQ(median({3, 1, 2, 10}), 2.5);
    EXPECT_EQ(quantile({0, 10, 20, 30, 40}, 0.9), 36);
    EXPECT_EQ(nearest_rank({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 0.95), 10);
    EXPECT_EQ(nearest_rank({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 0.9), 9);
    EXPECT_NEAR(rank_sum({6, 7, 8, 9, 10}, {1, 2, 3, 4, 5}), 12.5 / std::sqrt(25 * 11 / 12.0), 1e-12);
    // Ties: midranks 1.5 1.5 | 4 4 4, and a variance of mn/12 (N + 1 − Σ(t³ − t) / N(N − 1)).
    EXPECT_NEAR(rank_sum({2, 2}, {1, 1, 2}), (8 - 6) / std::sqrt(0.5 * (6 - 30 / 20.0)), 1e-12);
    EXPECT_EQ(rank_sum({1, 1}, {1, 1}), 0);
}

TEST(IntelligenceStatistics, AThresholdGrowsWithWhatIsLookedAtAndWithASmallBaseline) {
    EXPECT_NEAR(outlier_threshold(3.5, 5, 1'000'000), 3.5, 0.01);
    EXPECT_GT(outlier_threshold(3.5, 500, 1'000'000), 4.2);
    EXPECT_GT(outlier_threshold(3.5, 5, 20), 5.5);
    EXPECT_GT(outlier_threshold(5, 5, 200), outlier_threshold(3.5, 5, 200) + 1);
}

// --- quiet where nothing happens ------------------------------------------------------------------------------------

class CleanHistory : public testing::TestWithParam<std::pair<const char*, Shape>> {};

TEST_P(CleanHistory, RaisesHardlyAnyAlarm) {
    // Between 0 and 3 of them alarm, by shape.
    constexpr int kHistories = 200;
    int alarmed = 0;
    std::map<std::string, int> by_kind;
    for (int seed = 1; seed <= kHistories; ++seed) {
        World world(static_cast<std::uint64_t>(seed));
        const auto report = judged(history(world, GetParam().second));
        alarmed += report.anomalies.empty() ? 0 : 1;
        for (const auto& anomaly : report.anomalies)
            ++by_kind[std::string(name(anomaly.kind)) + " " + std::string(name(anomaly.change))];
    }
    std::string which;
    for (const auto& [kind, count] : by_kind) which += kind + " " + std::to_string(count) + "; ";
    RecordProperty("alarmed", alarmed);
    EXPECT_LE(alarmed, kHistories * 3 / 100) << which;
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, CleanHistory,
    testing::Values(std::pair{"hourly", Shape{.regular = true}}, std::pair{"at_random", Shape{.per_hour = 2}},
                    std::pair{"busy_by_day", Shape{.per_hour = 8, .rhythm = 0.7, .dearer = 0.6}},
                    std::pair{"wide", Shape{.per_hour = 3, .spread = 0.9}},
                    std::pair{"two_kinds_of_work", Shape{.per_hour = 3, .large = 0.2}},
                    std::pair{"half_and_half", Shape{.per_hour = 3, .large = 0.5}},
                    std::pair{"often_failing", Shape{.per_hour = 4, .failures = 0.3, .retries = 0.3}},
                    std::pair{"young", Shape{.per_hour = 1, .days = 2}},
                    std::pair{"never_varies", Shape{.regular = true, .spread = 0.001}}),
    [](const auto& each) { return each.param.first; });

TEST(IntelligenceEngine, ATypeThatRestsOnWeekendsAndAtNightIsNotSilent) {
    for (const int days_later : {0, 1, 2, 3, 4, 5, 6}) {
        const TimePoint now = kNow + hours{24 * days_later + 11};  // 05:00 of each day of a week
        World world(7);
        TypeHistory resting;
        resting.workflow_type = "seo_monitor";
        for (TimePoint hour = now - hours{14 * 24}; hour < now; hour += hours{1}) {
            if (weekend(hour) || hour_of_day(hour) < 8 || hour_of_day(hour) > 16) continue;
            Execution execution;
            execution.id = world.id();
            execution.status = Status::completed;
            execution.created_at = hour + minutes{static_cast<int>(world.unit() * 59)};
            execution.started_at = execution.created_at;
            execution.completed_at = execution.created_at + seconds{1};
            resting.executions.push_back(execution);
        }
        Request request;
        request.baseline_hours = 13 * 24;
        const auto report = analyse(request, now, {resting});
        EXPECT_THAT(report.types.front().anomalies, IsEmpty()) << domain::rfc3339(now);
    }
}

/// A type that ran in each of these hours, counted back from `now`.
TypeHistory ran(const std::vector<int>& hours_ago, TimePoint now) {
    World world(1);
    TypeHistory made;
    made.workflow_type = "seo_monitor";
    for (const int ago : hours_ago) {
        Execution execution;
        execution.id = world.id();
        execution.status = Status::completed;
        execution.created_at = now - hours{ago} + minutes{10};
        execution.started_at = execution.created_at;
        execution.completed_at = execution.created_at + seconds{1};
        made.executions.push_back(execution);
    }
    return made;
}

TEST(IntelligenceEngine, AFirstWeekendProvesNothing) {
    // Hourly since Monday, and it is Saturday evening: whether it runs on weekends, nobody knows yet.
    const TimePoint saturday = at("2026-03-21T20:00:00Z");
    std::vector<int> hours_ago;
    for (int ago = 21; ago < 6 * 24 - 4; ++ago) hours_ago.push_back(ago);
    EXPECT_THAT(analyse({}, saturday, {ran(hours_ago, saturday)}).types.front().anomalies, IsEmpty());
    // On a Wednesday it would be known.
    EXPECT_THAT(kinds(analyse({}, kNow, {ran(hours_ago, kNow)}).types.front()), ElementsAre(Kind::silence));
}

TEST(IntelligenceEngine, APauseNoLongerThanOthersIsNoSilence) {
    std::vector<int> hours_ago;
    for (int ago = 21; ago < 192; ++ago)
        if ((ago - 21) % 45 < 20) hours_ago.push_back(ago);
    EXPECT_THAT(judged(ran(hours_ago, kNow)).anomalies, IsEmpty());
}

TEST(IntelligenceEngine, ATypeThatSeldomRunsIsNotSilentSoon) {
    EXPECT_THAT(judged(ran({60, 75, 95, 110, 130, 150, 170, 190}, kNow)).anomalies, IsEmpty());
}

TEST(IntelligenceEngine, ASmallBaselineLeavesRoomForItsOwnRate) {
    // One of 20 failed: up to 24 % may be usual, so 16 of 40 are no alarm; against 10 of 200 they are.
    for (const int baseline : {20, 200}) {
        World world(1);
        TypeHistory made;
        made.workflow_type = "seo_monitor";
        for (int i = 0; i < baseline + 40; ++i) {
            Execution execution;
            execution.id = world.id();
            const bool in_window = i >= baseline;
            execution.created_at =
                in_window ? kNow - minutes{30 * (i - baseline + 1)} : kNow - hours{25} - minutes{40 * i};
            execution.status = (in_window ? i % 5 < 2 : i % 20 == 0) ? Status::dead : Status::completed;
            made.executions.push_back(execution);
        }
        EXPECT_EQ(judged(made).anomalies.size(), baseline == 20 ? 0U : 1U) << baseline;
    }
}

TEST(IntelligenceEngine, ATenthMoreIsNoNewLevelHoweverSure) {
    World world(2);
    auto drifting = history(world, {.per_hour = 8, .spread = 0.06});
    change_since(drifting, 24, [](Execution& each) { each.duration_ms = *each.duration_ms * 11 / 10; });
    EXPECT_THAT(judged(drifting).anomalies, IsEmpty());
    change_since(drifting, 24, [](Execution& each) { each.duration_ms = *each.duration_ms * 13 / 10; });
    EXPECT_THAT(kinds(judged(drifting)), ElementsAre(Kind::duration));
}

// --- what is planted is found ---------------------------------------------------------------------------------------

TEST(IntelligenceEngine, ASpikeOfCostIsFoundWithTheExecutionsBehindIt) {
    int found = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        World world(seed);
        auto spiked = history(world, {.per_hour = 2});
        std::vector<Execution*> candidates;
        for (auto& execution : spiked.executions)
            if (execution.completed() && execution.created_at > kNow - hours{6}) candidates.push_back(&execution);
        ASSERT_GE(candidates.size(), 2U);
        std::set<std::string> planted;
        for (auto* execution : {candidates[0], candidates[1]}) {
            execution->cost = MicroUsd{execution->cost->value * 9};
            planted.insert(execution->id.text());
        }
        const auto report = judged(spiked);
        if (report.anomalies.size() != 1) continue;
        const auto& anomaly = report.anomalies.front();
        const auto named = ids(anomaly.executions);
        if (anomaly.kind == Kind::cost_per_execution && anomaly.change == Change::outliers &&
            std::set(named.begin(), named.end()) == planted)
            ++found;
        EXPECT_TRUE(anomaly.up);
        EXPECT_GE(anomaly.score, anomaly.threshold);
    }
    // The rest has one more alarm by chance, or drew two cheap executions.
    EXPECT_GE(found, 95);
}

TEST(IntelligenceEngine, ASpikeSaysHowLargeAgainstWhatSinceWhenAndWhy) {
    World world(3);
    auto spiked = history(world, {.regular = true});
    auto& execution = spiked.executions[185];
    ASSERT_TRUE(execution.completed());
    execution.cost = MicroUsd{900'000};
    execution.items = 10;
    const auto report = judged(spiked);
    ASSERT_THAT(kinds(report), ElementsAre(Kind::cost_per_execution));
    const auto& anomaly = report.anomalies.front();
    EXPECT_EQ(anomaly.severity, Severity::critical);
    EXPECT_EQ(anomaly.since, execution.at());
    EXPECT_EQ(anomaly.affected, 1);
    EXPECT_EQ(anomaly.looked_at, report.completed);
    EXPECT_EQ(anomaly.observed, 900'000);
    EXPECT_NEAR(anomaly.usual, 50'000, 5'000);
    EXPECT_NEAR(*anomaly.ratio, 18, 2);
    EXPECT_THAT(anomaly.sentence, StartsWith("content_pipeline: 1 execution of "));
    for (const auto* part :
         {"cost 0.90 USD where 0.0", "times as much", "an alarm from", "2026-03-18", "most likely a dearer model"})
        EXPECT_THAT(anomaly.sentence, HasSubstr(part));
    EXPECT_THAT(report.notes, testing::Contains(HasSubstr("compared with all hours of the day")));
}

TEST(IntelligenceEngine, ACostThatCameWithMoreItemsIsExplainedByThem) {
    World world(3);
    auto larger = history(world, {.regular = true});
    auto& execution = larger.executions[185];
    execution.cost = MicroUsd{500'000};
    execution.items = 100;
    const auto report = judged(larger);
    ASSERT_THAT(kinds(report), ElementsAre(Kind::cost_per_execution));
    EXPECT_THAT(report.anomalies.front().explanation, HasSubstr("10 times as many items"));
}

TEST(IntelligenceEngine, ACostPerItemIsFoundWhereTheCostIsAsUsual) {
    World world(3);
    auto idle = history(world, {.regular = true});
    auto& execution = idle.executions[186];
    execution.cost = MicroUsd{50'000};
    execution.items = 1;
    const auto report = judged(idle);
    ASSERT_THAT(kinds(report), ElementsAre(Kind::cost_per_item));
    EXPECT_THAT(report.anomalies.front().explanation, HasSubstr("spread over fewer items"));
}

TEST(IntelligenceEngine, ANewLevelOfDurationIsOneFindingAndBeginsWhereItBegan) {
    int found = 0;
    int near = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        World world(seed);
        auto slower = history(world, {.per_hour = 3});
        change_since(slower, 8, [](Execution& each) { each.duration_ms = *each.duration_ms * 3; });
        const auto report = judged(slower);
        if (kinds(report) != std::vector{Kind::duration}) continue;
        const auto& anomaly = report.anomalies.front();
        if (anomaly.change != Change::level) continue;
        ++found;
        EXPECT_EQ(anomaly.severity, Severity::medium);
        EXPECT_NEAR(*anomaly.ratio, 3, 0.8);
        const auto off = anomaly.since - (kNow - hours{8});
        near += std::chrono::abs(off) <= hours{1} ? 1 : 0;
    }
    EXPECT_GE(found, 95);
    EXPECT_GE(near, 90);
}

TEST(IntelligenceEngine, ACollapseIsFoundToo) {
    World world(5);
    auto skipping = history(world, {.per_hour = 3});
    change_since(skipping, 10, [](Execution& each) { each.duration_ms = 40; });
    const auto report = judged(skipping);
    ASSERT_THAT(kinds(report), ElementsAre(Kind::duration));
    EXPECT_FALSE(report.anomalies.front().up);
    EXPECT_THAT(report.anomalies.front().explanation, HasSubstr("work that was skipped"));
}

TEST(IntelligenceEngine, ThreeHoursOfDearNightsAreOrdinaryWhereNightsAreDear) {
    // Six times as dear at night as by day: outrageous at noon, ordinary at midnight.
    const Shape nightly{.per_hour = 6, .regular = true, .dearer = -0.9};
    World world(11);
    auto usual = history(world, nightly);
    EXPECT_THAT(judged(usual).anomalies, IsEmpty());
    EXPECT_EQ(baseline_of(divide(usual, windows_at(kNow, 24, 168)).baseline).of(Metric::cost)->own_hours(), 24);
    const double at_night = std::exp(0.9 * 2);
    auto& noon = *std::find_if(usual.executions.rbegin(), usual.executions.rend(),
                               [](const Execution& each) { return each.completed() && hour_of_day(each.at()) == 14; });
    noon.cost = MicroUsd{std::llround(static_cast<double>(noon.cost->value) * at_night)};
    const auto report = judged(usual);
    ASSERT_THAT(kinds(report), ElementsAre(Kind::cost_per_execution));
    EXPECT_THAT(ids(report.anomalies.front().executions), ElementsAre(noon.id.text()));
}

TEST(IntelligenceEngine, TheBaselineIsNotMovedByItsOwnOutliers) {
    World world(13);
    auto dirty = history(world, {.regular = true});
    // Three of 168 were a hundred times as dear last week; a mean and a standard deviation would hide the next one.
    for (const std::size_t index : {10U, 50U, 90U}) dirty.executions[index].cost = MicroUsd{5'000'000};
    dirty.executions[187].cost = MicroUsd{500'000};
    ASSERT_TRUE(dirty.executions[187].completed());
    EXPECT_THAT(kinds(judged(dirty)), ElementsAre(Kind::cost_per_execution));
}

TEST(IntelligenceEngine, AnOutageIsFoundWithItsBeginningAndItsEnd) {
    int found = 0;
    int near = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        World world(seed);
        auto broken = history(world, {.per_hour = 4});
        const TimePoint from = kNow - hours{12};
        const TimePoint to = kNow - hours{8};
        for (auto& execution : broken.executions)
            if (execution.created_at >= from && execution.created_at < to) {
                execution.status = Status::dead;
                execution.reason = "attempts_exhausted";
            }
        const auto report = judged(broken);
        if (kinds(report) != std::vector{Kind::failure_rate}) continue;
        const auto& anomaly = report.anomalies.front();
        ++found;
        EXPECT_EQ(anomaly.severity, Severity::critical);
        ASSERT_TRUE(anomaly.until);
        // A failure by chance shortly before or after it is taken for a part of it.
        near += std::chrono::abs(anomaly.since - from) <= hours{1} && std::chrono::abs(*anomaly.until - to) <= hours{1};
        EXPECT_LE(anomaly.executions.size(), 10U);
        EXPECT_THAT(anomaly.explanation, HasSubstr("all attempts were used up (mostly attempts_exhausted)"));
    }
    EXPECT_GE(found, 95);
    EXPECT_GE(near, 80);
}

TEST(IntelligenceEngine, AFewFailuresAmongFewAreNoAlarmAndManyAre) {
    World world(17);
    auto failing = history(world, {.regular = true, .failures = 0.05});
    const auto fail = [&](std::size_t count) {
        auto changed = failing;
        for (std::size_t i = 0; i < changed.executions.size(); ++i) {
            auto& execution = changed.executions[i];
            if (execution.at() < kNow - hours{24}) continue;
            execution.status = Status::completed;
            if (i % 2 == 0 && count > 0) {
                execution.status = Status::failed;
                --count;
            }
        }
        return judged(changed);
    };
    EXPECT_THAT(fail(3).anomalies, IsEmpty());
    const auto report = fail(12);
    ASSERT_THAT(kinds(report), ElementsAre(Kind::failure_rate));
    EXPECT_EQ(report.anomalies.front().affected, 12);
    EXPECT_THAT(report.anomalies.front().explanation, HasSubstr("refuses"));
    EXPECT_EQ(report.failed, 12);
    EXPECT_EQ(report.dead, 0);
    EXPECT_NEAR(*report.failure_rate, 12.0 / static_cast<double>(report.completed + 12), 1e-12);
}

TEST(IntelligenceEngine, RisingRetriesAreFoundAmongWhatCompleted) {
    World world(19);
    auto shaky = history(world, {.per_hour = 3});
    int count = 0;
    change_since(shaky, 12, [&](Execution& each) {
        if (each.completed() && ++count % 2 == 0) each.retry_count = 2;
    });
    const auto report = judged(shaky);
    ASSERT_THAT(kinds(report), ElementsAre(Kind::retries));
    EXPECT_NEAR(report.anomalies.front().observed, 0.5, 0.1);
    EXPECT_THAT(report.anomalies.front().sentence, HasSubstr("completed only after retries since"));
}

TEST(IntelligenceEngine, SuddenSilenceIsFound) {
    for (const int silent_hours : {2, 12, 30}) {
        World world(23);
        auto silent = history(world, {.per_hour = 2});
        std::erase_if(silent.executions, [&](const Execution& each) { return each.at() > kNow - hours{silent_hours}; });
        const auto report = judged(silent);
        if (silent_hours == 2) {
            EXPECT_THAT(report.anomalies, IsEmpty()) << "two quiet hours happen";
            continue;
        }
        ASSERT_THAT(kinds(report), ElementsAre(Kind::silence)) << silent_hours;
        const auto& anomaly = report.anomalies.front();
        EXPECT_EQ(anomaly.since, *silent.executions.back().ran_at());
        EXPECT_THAT(ids(anomaly.executions), ElementsAre(silent.executions.back().id.text()));
        EXPECT_NEAR(anomaly.usual, 2 * silent_hours, silent_hours * 0.6);
        EXPECT_THAT(anomaly.explanation, HasSubstr("a schedule or a caller that stopped"));
    }
}

TEST(IntelligenceEngine, SilenceOfAQueueThatIsHeldBackSaysSo) {
    World world(23);
    auto held = history(world, {.per_hour = 2});
    change_since(held, 12, [](Execution& each) {
        each.status = Status::queued;
        each.started_at.reset();
        each.completed_at.reset();
        each.cost.reset();
        each.duration_ms.reset();
        each.retry_count = 0;
    });
    const auto report = judged(held);
    ASSERT_THAT(kinds(report), ElementsAre(Kind::silence));
    EXPECT_THAT(report.anomalies.front().explanation, HasSubstr("wait and never began"));
}

TEST(IntelligenceEngine, TooLittleDataIsSaidAndNotJudged) {
    World world(29);
    auto few = history(world, {.per_hour = 1, .days = 1});
    few.executions.back().cost = MicroUsd{500'000'000};
    const auto report = judged(few);
    EXPECT_THAT(report.anomalies, IsEmpty());
    EXPECT_THAT(report.notes,
                testing::Contains(HasSubstr(
                    "cost_per_execution, duration, cost_per_item: 0 values in the baseline, and at least 20")));
    EXPECT_THAT(report.notes, testing::Contains(HasSubstr("failure_rate, retries: 0 executions in the baseline")));
    EXPECT_GT(report.cost.value, 500'000'000);
    EXPECT_THAT(analyse({}, kNow, {few}).summary,
                testing::Contains(
                    "Too little history to judge by: content_pipeline (fewer than 20 outcomes in the baseline)."));
}

TEST(IntelligenceEngine, ASensitivityOfTenHearsLess) {
    World world(3);
    auto spiked = history(world, {.regular = true});
    for (auto& each : spiked.executions)
        if (&each == &spiked.executions[185]) each.cost = MicroUsd{each.cost->value * 6};
    EXPECT_EQ(judged(spiked).anomalies.size(), 1U);
    Request deaf;
    deaf.sensitivity = 10;
    EXPECT_THAT(judged(spiked, deaf).anomalies, IsEmpty());
}

TEST(IntelligenceEngine, WindowsAreCutByTheEndOfAnExecution) {
    TypeHistory made;
    made.workflow_type = "seo_monitor";
    World world(1);
    const auto add_one = [&](std::string_view created, std::string_view ended, Status status) {
        Execution execution;
        execution.id = world.id();
        execution.status = status;
        execution.created_at = at(created);
        if (!ended.empty()) execution.completed_at = at(ended);
        execution.cost = MicroUsd{1};
        made.executions.push_back(execution);
    };
    add_one("2026-03-17T17:00:00Z", "2026-03-17T18:00:00Z", Status::completed);  // ended in the window's first moment
    add_one("2026-03-17T17:00:00Z", "2026-03-17T17:59:59Z", Status::dead);       // before it
    add_one("2026-03-18T17:00:00Z", "", Status::running);                        // not ended
    add_one("2026-03-18T17:00:00Z", "2026-03-18T18:00:00Z", Status::completed);  // now is not in it
    add_one("2026-03-18T17:00:00Z", "2026-03-18T17:30:00Z", Status::cancelled);  // has no outcome
    const auto report = judged(made);
    EXPECT_EQ(report.executions, 3);
    EXPECT_EQ(report.completed, 1);
    EXPECT_EQ(report.dead, 0);
    EXPECT_EQ(report.baseline_executions, 1);
    EXPECT_EQ(report.cost.value, 3);
    EXPECT_EQ(*report.failure_rate, 0);
}

// --- money and forecast ---------------------------------------------------------------------------------------------

TEST(IntelligenceForecast, MoneyIsExact) {
    // As double, every one of these sums is off by more than a micro-dollar.
    TypeHistory made;
    made.workflow_type = "seo_monitor";
    World world(1);
    for (int i = 0; i < 1000; ++i) {
        Execution execution;
        execution.id = world.id();
        execution.status = Status::completed;
        execution.created_at = kNow - minutes{i % 60 + 1};
        execution.cost = domain::parse_money("123456789.000001")->amount;
        made.executions.push_back(execution);
    }
    const auto report = analyse({}, kNow, {made});
    EXPECT_EQ(domain::decimal(report.types.front().cost), "123456789000.001000");
    EXPECT_EQ(domain::decimal(report.forecast.spent), "123456789000.001000");
    made.executions.front().cost = domain::kMostMoney;
    EXPECT_EQ(analyse({}, kNow, {made}).types.front().cost, domain::kMostMoney);
}

/// Days of a compound Poisson process: arrivals with a rhythm, log-normal costs.
std::vector<Spend> simulated(World& world, TimePoint from, TimePoint to, double per_hour) {
    std::vector<Spend> spends;
    for (TimePoint hour = from; hour < to; hour += hours{1})
        for (int n = world.poisson(per_hour * (1 + 0.6 * wave(hour))); n > 0; --n)
            spends.push_back({hour + minutes{static_cast<int>(world.unit() * 60)},
                              MicroUsd{std::llround(40'000 * std::exp(0.6 * world.normal()))}});
    return spends;
}

TEST(IntelligenceForecast, FourOfFiveDaysLieWithinTheInterval) {
    const TimePoint today = midnight(kNow);
    for (const int hour : {0, 6, 12, 18, 22}) {
        for (const double per_hour : {0.7, 5.0}) {
            constexpr int kDays = 250;
            int within = 0;
            double expected = 0;
            double real = 0;
            for (int day = 0; day < kDays; ++day) {
                World world(static_cast<std::uint64_t>(1000 * hour + day));
                auto spends = simulated(world, today - hours{8 * 24}, today + hours{24}, per_hour);
                std::int64_t whole = 0;
                for (const auto& spend : spends)
                    if (spend.at >= today) whole += spend.amount.value;
                platform::SeededDice dice(9);
                const auto seen = forecast(spends, today - hours{8 * 24}, today + hours{hour} + minutes{20}, {}, dice);
                ASSERT_TRUE(seen.day);
                within += seen.day->low.value <= whole && whole <= seen.day->high.value ? 1 : 0;
                expected += static_cast<double>(seen.day->expected.value);
                real += static_cast<double>(whole);
            }
            const double share = static_cast<double>(within) / kDays;
            EXPECT_GE(share, 0.70) << hour << ":20, " << per_hour;
            EXPECT_LE(share, 0.90) << hour << ":20, " << per_hour;
            EXPECT_NEAR(expected / real, 1, 0.05) << hour << ":20, " << per_hour;
        }
    }
}

/// A dollar in the middle of every hour.
std::vector<Spend> hourly(TimePoint from, TimePoint to) {
    std::vector<Spend> spends;
    for (TimePoint hour = from; hour < to; hour += hours{1}) spends.push_back({hour + minutes{30}, {1'000'000}});
    return spends;
}

TEST(IntelligenceForecast, SpendThatNeverVariesIsForeseenToTheMinute) {
    const TimePoint today = midnight(kNow);
    platform::SeededDice dice(1);
    const auto seen =
        forecast(hourly(today - hours{7 * 24}, kNow), today - hours{7 * 24}, kNow, MicroUsd{21'000'000}, dice);
    EXPECT_EQ(seen.spent.value, 18'000'000);
    ASSERT_TRUE(seen.day);
    EXPECT_EQ(seen.day->expected.value, 24'000'000);
    EXPECT_EQ(seen.day->low.value, 24'000'000);
    EXPECT_EQ(seen.day->high.value, 24'000'000);
    EXPECT_EQ(seen.days, 5U) << "workdays only";
    EXPECT_EQ(seen.chance_over_budget, 1.0);
    // Three dollars are left, and one goes in each hour.
    ASSERT_TRUE(seen.over_budget_at);
    EXPECT_EQ(*seen.over_budget_at, kNow + hours{3});
    const auto rich =
        forecast(hourly(today - hours{7 * 24}, kNow), today - hours{7 * 24}, kNow, MicroUsd{24'000'001}, dice);
    EXPECT_EQ(rich.chance_over_budget, 0.0);
    EXPECT_FALSE(rich.over_budget_at);
}

TEST(IntelligenceForecast, ABudgetThatIsGoneSaysSinceWhen) {
    const TimePoint today = midnight(kNow);
    platform::SeededDice dice(1);
    const auto gone =
        forecast(hourly(today - hours{7 * 24}, kNow), today - hours{7 * 24}, kNow, MicroUsd{2'500'000}, dice);
    EXPECT_EQ(gone.chance_over_budget, 1.0);
    EXPECT_EQ(*gone.over_budget_at, today + hours{2} + minutes{30});
}

TEST(IntelligenceForecast, WeekendsAndWorkdaysAreKeptApartWhereThereAreEnough) {
    const TimePoint saturday = at("2026-03-21T00:00:00Z");
    const TimePoint now = saturday + hours{12};
    auto spends = hourly(saturday - hours{28 * 24}, now);
    std::erase_if(spends, [](const Spend& spend) { return weekend(spend.at); });
    platform::SeededDice dice(1);
    const auto month = forecast(spends, saturday - hours{28 * 24}, now, {}, dice);
    EXPECT_EQ(month.day->expected.value, 0) << "nothing is ever spent on a weekend";
    EXPECT_EQ(month.days, 8U);
    EXPECT_EQ(month.note, "");
    const auto week = forecast(spends, saturday - hours{7 * 24}, now, {}, dice);
    EXPECT_GT(week.day->expected.value, 0);
    EXPECT_THAT(week.note, HasSubstr("fewer than 4 earlier weekend days"));
}

TEST(IntelligenceForecast, TwoEarlierDaysAreTooFew) {
    const TimePoint today = midnight(kNow);
    platform::SeededDice dice(1);
    const auto seen = forecast(hourly(today - hours{48}, kNow), today - hours{48}, kNow, MicroUsd{1}, dice);
    EXPECT_FALSE(seen.day);
    EXPECT_EQ(seen.spent.value, 18'000'000);
    EXPECT_EQ(seen.chance_over_budget, 1.0) << "that much is certain";
    EXPECT_THAT(seen.note, HasSubstr("the rest of 2 earlier days, and at least 3"));
}

// --- the hub's API --------------------------------------------------------------------------------------------------

/// A hub that answers from a list, newest first, and misbehaves as told.
class FakeHub {
  public:
    struct Row {
        std::string type, created_at;
        int number = 0;
    };
    std::vector<Row> rows;
    std::size_t page = 500;
    /// Answers given before anything else, in this order.
    std::vector<platform::HttpOutcome> first;
    /// Types whose list is answered with this instead.
    std::map<std::string, platform::HttpAnswer> instead;
    std::vector<std::string> targets;
    std::vector<std::string> bearers;
    std::vector<domain::Duration> pauses;
    std::vector<std::int64_t> progress;
    bool stopped = false;

    static platform::HttpAnswer answer(int status, std::string body, platform::Headers headers = {}) {
        platform::HttpAnswer made;
        made.status = status;
        made.body = std::move(body);
        made.headers = std::move(headers);
        return made;
    }

    HubHistory reader(std::int64_t most = 100'000, const std::string& address = "http://hub:8080") {
        Doors doors;
        doors.fetch = [this](const std::string& method, const platform::Url& url, const platform::Headers& headers,
                             const std::string&) {
            EXPECT_EQ(method, "GET");
            bearers.emplace_back(platform::header(headers, "authorization"));
            targets.push_back(url.origin() + url.target);
            if (!first.empty()) {
                auto next = first.front();
                first.erase(first.begin());
                return next;
            }
            return respond(url.target);
        };
        doors.pause = [this](domain::Duration length) { pauses.push_back(length); };
        doors.stopped = [this] { return stopped; };
        doors.progress = [this](std::int64_t executions, const std::string&) { progress.push_back(executions); };
        return HubHistory(*platform::parse_url(address), domain::Secret("imp_key"), doors, most);
    }

  private:
    platform::HttpOutcome respond(const std::string& target) {
        platform::HttpRequest asked;
        const auto mark = target.find('?');
        asked.path = target.substr(0, mark);
        if (mark != std::string::npos) asked.query = target.substr(mark + 1);
        if (asked.path == "/v1/workflow-types") {
            std::set<std::string> names;
            for (const auto& row : rows) names.insert(row.type);
            for (const auto& [name, unused] : instead) names.insert(name);
            names.insert("never_ran");
            std::string list;
            for (const auto& name : names)
                list += (list.empty() ? "" : ",") + (R"({"name":")" + name + R"(","enabled":true})");
            return answer(200, R"({"workflow_types":[)" + list + "]}");
        }
        const std::string type = *asked.parameter("workflow_type");
        if (const auto found = instead.find(type); found != instead.end()) return found->second;
        const auto after = at(*asked.parameter("created_after"));
        const auto before = at(*asked.parameter("created_before"));
        const std::size_t limit = std::min<std::size_t>(page, std::stoul(*asked.parameter("limit")));
        std::size_t skip = std::stoul(asked.parameter("cursor").value_or("0"));
        std::string list;
        std::size_t shown = 0;
        std::size_t place = 0;
        bool more = false;
        for (const auto& row : rows) {
            const auto created = at(row.created_at);
            if (row.type != type || created < after || created >= before) continue;
            if (place++ < skip) continue;
            if (shown == limit) {
                more = true;
                break;
            }
            ++shown;
            char id[40];
            std::snprintf(id, sizeof id, "00000000-0000-4000-8000-%012d", row.number);
            list += (list.empty() ? "" : ",") + (R"({"execution_id":")" + std::string(id) + R"(","workflow_type":")" +
                                                 type + R"(","status":"completed","created_at":")" + row.created_at +
                                                 R"(","metrics":{"cost_usd":"0.10"},"waiting_for":null})");
        }
        return answer(200, R"({"executions":[)" + list + R"(],"next_cursor":)" +
                               (more ? "\"" + std::to_string(skip + shown) + "\"" : "null") + "}");
    }
};

const Span kWeek{kNow - hours{168}, kNow};

FakeHub hub_with(int count, const std::string& type = "content_pipeline") {
    FakeHub hub;
    for (int i = 0; i < count; ++i) hub.rows.push_back({type, domain::rfc3339(kNow - minutes{10 * (i + 1)}), i + 1});
    return hub;
}

TEST(IntelligenceHub, ThreePagesAreReadByCursor) {
    auto hub = hub_with(25);
    hub.page = 10;
    auto reader = hub.reader();
    const auto read = reader.type("content_pipeline", kWeek);
    ASSERT_TRUE(read) << read.error().what;
    EXPECT_EQ(read->executions.size(), 25U);
    std::set<domain::ExecutionId> distinct;
    for (const auto& execution : read->executions) distinct.insert(execution.id);
    EXPECT_EQ(distinct.size(), 25U);
    EXPECT_EQ(read->executions.front().cost->value, 100'000);
    EXPECT_EQ(reader.requests(), 3);
    EXPECT_EQ(reader.executions(), 25);
    EXPECT_THAT(hub.progress, ElementsAre(10, 20, 25));
    EXPECT_THAT(
        hub.targets[0],
        StartsWith("http://hub:8080/v1/executions?limit=500&workflow_type=content_pipeline&created_after=2026-"));
    EXPECT_THAT(hub.targets[2], testing::EndsWith("&cursor=20"));
    EXPECT_THAT(hub.bearers, testing::Each("Bearer imp_key"));
    EXPECT_FALSE(read->cut);
    EXPECT_EQ(read->since, kWeek.from);
}

TEST(IntelligenceHub, MoreThanCanBeHeldIsCutAtTheOldEndAndSaid) {
    auto hub = hub_with(25);
    hub.page = 10;
    const auto read = hub.reader(20).type("content_pipeline", kWeek);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->executions.size(), 20U);
    EXPECT_TRUE(read->cut);
    EXPECT_EQ(read->since, kNow - minutes{200});
    EXPECT_THAT(judged(*read).notes, testing::Contains(HasSubstr("complete only since 2026-03-18 14:40 UTC")));
}

TEST(IntelligenceHub, TooManyRequestsAndUnavailableAreWaitedOutAsAsked) {
    auto hub = hub_with(3);
    hub.first = {FakeHub::answer(429, "{}", {{"retry-after", "7"}}), FakeHub::answer(503, "{}", {{"Retry-After", "2"}}),
                 platform::NoAnswer{"reset by peer", ""}, FakeHub::answer(502, "<html>")};
    auto reader = hub.reader();
    const auto read = reader.type("content_pipeline", kWeek);
    ASSERT_TRUE(read) << read.error().what;
    EXPECT_EQ(read->executions.size(), 3U);
    EXPECT_EQ(reader.requests(), 5);
    EXPECT_THAT(hub.pauses, ElementsAre(seconds{7}, seconds{2}, seconds{4}, seconds{8}));
}

TEST(IntelligenceHub, PatienceEnds) {
    auto hub = hub_with(3);
    for (int i = 0; i < 50; ++i)
        hub.first.push_back(FakeHub::answer(503, R"({"detail":"draining"})", {{"retry-after", "1"}}));
    auto reader = hub.reader();
    const auto read = reader.type("content_pipeline", kWeek);
    ASSERT_FALSE(read);
    EXPECT_EQ(reader.requests(), kTries);
    EXPECT_TRUE(read.error().again);
    EXPECT_FALSE(read.error().everywhere);
    EXPECT_EQ(read.error().what, "the hub answered 503: draining, 6 times");

    auto asking_much = hub_with(3);
    asking_much.first = {FakeHub::answer(429, "", {{"retry-after", "3600"}})};
    const auto later = asking_much.reader().type("content_pipeline", kWeek);
    ASSERT_FALSE(later);
    EXPECT_EQ(later.error().retry_after, seconds{3600});
    EXPECT_THAT(asking_much.pauses, IsEmpty());
}

TEST(IntelligenceHub, AWrongKeyEndsItAtOnceAndSaysSo) {
    for (const int status : {401, 403}) {
        auto hub = hub_with(3);
        hub.first = {FakeHub::answer(status, R"({"detail":"no such key"})")};
        auto reader = hub.reader();
        const auto read = read_histories(reader, {"content_pipeline", "seo_monitor"}, kWeek, kAll);
        ASSERT_FALSE(read);
        EXPECT_EQ(reader.requests(), 1);
        EXPECT_FALSE(read.error().again);
        EXPECT_THAT(read.error().what, HasSubstr("INTELLIGENCE_ENGINE_HUB_KEY"));
        EXPECT_THAT(read.error().what, HasSubstr(std::to_string(status) + ": no such key"));
        EXPECT_EQ(read.error().what.find("imp_key"), std::string::npos);
    }
}

TEST(IntelligenceHub, GarbageIsAFaultThatNamesThePlace) {
    const std::string good =
        R"({"execution_id":"00000000-0000-4000-8000-000000000001","workflow_type":"a","status":"completed",)"
        R"("created_at":"2026-03-18T17:00:00Z")";
    const std::vector<std::pair<std::string, std::string>> cases{
        {"<html>busy</html>", ""},
        {"", ""},
        {"[]", "/executions must be an array"},
        {R"({"executions":{}})", "/executions must be an array"},
        {R"({"executions":[3]})", "/executions/0 must be an object"},
        {R"({"executions":[{"execution_id":"1"}]})", "/executions/0/execution_id must be a UUID"},
        {R"({"executions":[)" + good + R"(},)" + good + R"(,"metrics":{"cost_usd":"-1"}}]})",
         "/executions/1/metrics/cost_usd must not be negative"},
        {R"({"executions":[)" + good + R"(,"started_at":"yesterday"}]})",
         "/executions/0/started_at must be an RFC 3339"},
        {R"({"executions":[)" + good + R"(,"retry_count":1.5}]})", "/executions/0/retry_count must be a whole number"},
        {R"({"executions":[],"next_cursor":7})", "/next_cursor must be a string or null"},
    };
    for (const auto& [body, expected] : cases) {
        FakeHub hub;
        hub.instead["a"] = FakeHub::answer(200, body);
        auto reader = hub.reader();
        const auto read = reader.type("a", kWeek);
        ASSERT_FALSE(read) << body;
        EXPECT_THAT(read.error().what, StartsWith("the hub's answer is not a page of executions: ")) << body;
        EXPECT_THAT(read.error().what, HasSubstr(expected)) << body;
        EXPECT_EQ(reader.requests(), 1);
    }
    FakeHub other;
    other.instead["a"] = FakeHub::answer(200, R"({"executions":[)" + good + "}]}");
    other.instead["b"] = other.instead["a"];
    EXPECT_TRUE(other.reader().type("a", kWeek));
    EXPECT_THAT(other.reader().type("b", kWeek).error().what, HasSubstr("holds executions of a where b was asked for"));
    FakeHub stuck;
    stuck.instead["a"] = FakeHub::answer(200, R"({"executions":[],"next_cursor":"same"})");
    EXPECT_THAT(stuck.reader().type("a", kWeek).error().what, HasSubstr("does not move on"));
}

TEST(IntelligenceHub, TypesAreAskedForAndThoseWithoutHistoryLeftOut) {
    auto hub = hub_with(2);
    hub.rows.push_back({"seo monitor/ü", "2026-03-18T17:00:00Z", 99});
    auto reader = hub.reader();
    const auto read = read_histories(reader, {}, kWeek, kAll);
    ASSERT_TRUE(read);
    ASSERT_EQ(read->histories.size(), 2U);
    EXPECT_EQ(read->histories[1].workflow_type, "seo monitor/ü");
    EXPECT_EQ(read->histories[1].executions.size(), 1U);
    // Asked for by name, it is there all the same.
    EXPECT_EQ(read_histories(reader, {"never_ran"}, kWeek, kAll)->histories.size(), 1U);
}

TEST(IntelligenceHub, ATypeFailsByItselfAndTheRestIsPartial) {
    auto hub = hub_with(30);
    hub.instead["broken"] = FakeHub::answer(200, "garbage");
    auto reader = hub.reader();
    const auto read = read_histories(reader, {"content_pipeline", "broken"}, kWeek, kAll);
    ASSERT_TRUE(read);
    const auto report = analyse({}, kNow, read->histories);
    const auto callback = answer(report, {}, {reader.executions(), reader.requests(), read->again, {}});
    EXPECT_EQ(callback.status, domain::CallbackStatus::partial);
    ASSERT_EQ(callback.items.size(), 2U);
    EXPECT_FALSE(callback.items[0].failed);
    EXPECT_TRUE(callback.items[1].failed);
    EXPECT_EQ(callback.items_processed, 30);
    EXPECT_EQ(callback.api_calls, 2);
    EXPECT_THAT(report.forecast_types, ElementsAre("content_pipeline"));
    // The hub takes it.
    const auto taken = platform::parse_callback(platform::callback_json(callback));
    ASSERT_TRUE(taken) << taken.error().pointer << taken.error().what;
    EXPECT_EQ(taken->status, domain::CallbackStatus::partial);
    ASSERT_EQ(taken->items.size(), 2U);
    EXPECT_EQ(taken->items[1].key, "broken");

    // Its child looks at the one that failed only, and fails as a whole while it still does.
    const auto only = [](const std::string& type) { return type == "broken"; };
    const auto child = read_histories(reader, {"content_pipeline", "broken"}, kWeek, only);
    ASSERT_TRUE(child);
    ASSERT_EQ(child->histories.size(), 1U);
    const auto failed = answer(analyse({}, kNow, child->histories), {}, {0, 1, child->again, {}});
    EXPECT_EQ(failed.status, domain::CallbackStatus::failed);
    EXPECT_TRUE(failed.retry_recommended);
    EXPECT_THAT(failed.error_message, HasSubstr("broken: the hub's answer is not a page"));
}

TEST(IntelligenceHub, ARunThatIsStoppedAsksNoMore) {
    auto hub = hub_with(3);
    hub.stopped = true;
    auto reader = hub.reader();
    const auto read = read_histories(reader, {}, kWeek, kAll);
    ASSERT_FALSE(read);
    EXPECT_TRUE(read.error().everywhere);
    EXPECT_EQ(reader.requests(), 0);
}

TEST(IntelligenceHub, AForbiddenAddressSaysWhatToAllow) {
    FakeHub hub;
    hub.first = {platform::NotSent{platform::NotSent::Why::denied, "inner", "127.0.0.1"}};
    auto reader = hub.reader();
    const auto read = reader.type_names();
    ASSERT_FALSE(read);
    EXPECT_FALSE(read.error().again);
    EXPECT_THAT(read.error().what, HasSubstr("IMPRESARIO_EGRESS_ALLOW"));
    EXPECT_EQ(reader.requests(), 1);
}

TEST(IntelligenceHub, ItsAddressFollowsFromTheCallbacks) {
    auto hub = hub_of_callback("https://ops.example/hub/v1/callbacks/00000000-0000-4000-8000-000000000001?x=1");
    ASSERT_TRUE(hub);
    EXPECT_EQ(hub->origin() + hub->target, "https://ops.example/hub");
    EXPECT_FALSE(hub_of_callback("https://ops.example/elsewhere"));
    EXPECT_FALSE(hub_of_callback("nowhere"));
    FakeHub fake;
    auto reader = fake.reader(10, "https://ops.example/hub/");
    fake.first = {FakeHub::answer(404, "{}")};
    EXPECT_FALSE(reader.type_names());
    EXPECT_THAT(fake.targets, ElementsAre("https://ops.example/hub/v1/workflow-types"));
}

// --- the input ------------------------------------------------------------------------------------------------------

TEST(IntelligenceInput, AnEmptyOneHasDefaults) {
    for (const auto* text : {"", "null", "{}", R"({"hours":null,"executions":null})"}) {
        const auto request = parse_request(text);
        ASSERT_TRUE(request) << text;
        EXPECT_EQ(request->hours, 24);
        EXPECT_EQ(request->baseline_hours, 168);
        EXPECT_EQ(request->sensitivity, 3.5);
        EXPECT_FALSE(request->daily_budget || request->inline_history || request->now);
    }
    const auto full = parse_request(R"({"hours":720,"baseline_hours":1,"workflow_types":["a","b","a"],"sensitivity":5,
        "daily_budget_usd":"200.0000001","now":"2026-03-18T19:00:00+01:00"})");
    ASSERT_TRUE(full);
    EXPECT_THAT(full->workflow_types, ElementsAre("a", "b"));
    EXPECT_EQ(full->daily_budget->value, 200'000'001);
    EXPECT_EQ(*full->now, kNow);
}

TEST(IntelligenceInput, MistakesAreNamedByPointerAndNotTriedAgain) {
    const auto request = parse_request(R"({"hours":0,"baseline_hours":2161,"workflow_types":["a",7],"sensitivity":1.9,
        "daily_budget_usd":0,"now":"today","executions":[{"execution_id":"x"}],"sensitvity":3,"a/b":1})");
    ASSERT_FALSE(request);
    std::vector<std::string> pointers;
    for (const auto& mistake : request.error()) pointers.push_back(mistake.pointer);
    EXPECT_THAT(pointers,
                ElementsAre("/hours", "/baseline_hours", "/workflow_types/1", "/sensitivity", "/daily_budget_usd",
                            "/now", "/executions/0/execution_id", "/sensitvity", "/a~1b"));
    const auto callback = refusal(request.error());
    EXPECT_EQ(callback.status, domain::CallbackStatus::failed);
    EXPECT_FALSE(callback.retry_recommended);
    EXPECT_THAT(callback.error_message, HasSubstr("/hours must be a whole number from 1 to 720; /baseline_hours"));
    const auto taken = platform::parse_callback(platform::callback_json(callback));
    ASSERT_TRUE(taken);
    EXPECT_FALSE(taken->retry_recommended);
    EXPECT_EQ(taken->error_message, callback.error_message);
    for (const auto* text : {"[]", "3", R"("hours")"}) EXPECT_FALSE(parse_request(text)) << text;
    const std::string one =
        R"({"execution_id":"00000000-0000-4000-8000-000000000001","workflow_type":"a","status":"queued",)"
        R"("created_at":"2026-03-18T17:00:00Z"})";
    EXPECT_EQ(parse_request(R"({"executions":[)" + one + "," + one + "]}").error().front().pointer,
              "/executions/1/execution_id");
    EXPECT_LE(parse_request(R"({"executions":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]})").error().size(), 10U);
}

TEST(IntelligenceInput, CostsKeepTheirDigits) {
    const auto request = parse_request(R"({"executions":[{"execution_id":"00000000-0000-4000-8000-000000000001",
        "workflow_type":"a","status":"completed","created_at":"2026-03-18T17:00:00Z","metrics":{"cost_usd":123456789012.345678}}]})");
    ASSERT_TRUE(request);
    EXPECT_EQ(request->inline_history->front().executions.front().cost->value, 123'456'789'012'345'678);
}

// --- the samples ----------------------------------------------------------------------------------------------------

struct Sampled {
    Request request;
    Report report;
    std::string json;
};

std::optional<Sampled> sample(const std::string& name) {
    std::ifstream file(std::string(IMPRESARIO_SOURCE_DIR) + "/subworkflows/intelligence_engine/samples/" + name);
    std::stringstream text;
    text << file.rdbuf();
    EXPECT_TRUE(platform::check_json(text.str())) << name;
    auto request = parse_request(text.str());
    EXPECT_TRUE(request) << name;
    if (!request) return std::nullopt;
    Sampled made{*request, {}, {}};
    if (request->inline_history)
        made.report = analyse(*request, *request->now, given_history(*request, *request->now, kAll));
    const auto callback = answer(made.report, *request, {1, 0, true, {}});
    EXPECT_EQ(callback.status, domain::CallbackStatus::completed);
    EXPECT_TRUE(platform::check_json(callback.result_data)) << callback.result_data;
    made.json = callback.result_data;
    return made;
}

std::vector<std::string> found_in(const Sampled& sampled) {
    std::vector<std::string> found;
    for (const auto& type : sampled.report.types)
        for (const auto& anomaly : type.anomalies)
            found.push_back(type.workflow_type + " " + std::string(name(anomaly.kind)) + " " +
                            std::string(name(anomaly.change)));
    return found;
}

TEST(IntelligenceSamples, AllOfThemParse) {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(std::string(IMPRESARIO_SOURCE_DIR) +
                                                                 "/subworkflows/intelligence_engine/samples")) {
        if (entry.path().extension() != ".json") continue;
        EXPECT_TRUE(sample(entry.path().filename().string())) << entry.path();
        ++count;
    }
    EXPECT_EQ(count, 4);
}

TEST(IntelligenceSamples, CostSpike) {
    const auto sampled = sample("cost_spike.json");
    ASSERT_TRUE(sampled);
    ASSERT_THAT(found_in(*sampled), ElementsAre("content_pipeline cost_per_execution outliers"));
    const auto named = ids(sampled->report.types.front().anomalies.front().executions);
    EXPECT_THAT(named, testing::UnorderedElementsAre("00000000-0000-4000-8000-000000100184",
                                                     "00000000-0000-4000-8000-000000100187",
                                                     "00000000-0000-4000-8000-000000100189"));
    // What the outside sees.
    const auto value = [&](std::string_view pointer) {
        const auto found = platform::json_at(sampled->json, pointer);
        return found ? platform::json_string(*found) : "absent";
    };
    EXPECT_EQ(value("/window/to"), "2026-03-18T18:00:00.000000Z");
    EXPECT_EQ(value("/types/0/anomalies/0/kind"), "cost_per_execution");
    EXPECT_EQ(value("/types/0/anomalies/0/severity"), "high");
    EXPECT_EQ(value("/types/0/anomalies/0/execution_ids/2").substr(0, 8), "00000000");
    EXPECT_EQ(value("/types/1/anomalies/0"), "absent");
    EXPECT_EQ(value("/types/0/executions"), "24");
    EXPECT_EQ(value("/forecast/spent_today_usd"), domain::decimal(sampled->report.forecast.spent));
    EXPECT_NE(value("/forecast/chance_over_budget"), "absent");
    EXPECT_THAT(value("/summary/0"), HasSubstr("1 anomaly found."));
    EXPECT_THAT(value("/summary/1"), HasSubstr("3 executions of "));
    EXPECT_THAT(value("/summary/3"), StartsWith("The budget of 2.00 USD"));
}

TEST(IntelligenceSamples, OutageAndSilence) {
    const auto sampled = sample("outage_and_silence.json");
    ASSERT_TRUE(sampled);
    ASSERT_THAT(found_in(*sampled), ElementsAre("revenue_optimizer failure_rate rate", "seo_monitor silence absence"));
    const auto& outage = sampled->report.types.front().anomalies.front();
    EXPECT_EQ(outage.affected, 8);
    EXPECT_EQ(outage.severity, Severity::critical);
}

TEST(IntelligenceSamples, SlowAndRetried) {
    const auto sampled = sample("slow_and_retried.json");
    ASSERT_TRUE(sampled);
    ASSERT_THAT(found_in(*sampled),
                testing::UnorderedElementsAre("content_pipeline duration level", "content_pipeline retries rate"));
    for (const auto& anomaly : sampled->report.types.front().anomalies) {
        EXPECT_LE(std::chrono::abs(anomaly.since - (kNow - hours{9})), hours{2}) << name(anomaly.kind);
        EXPECT_FALSE(anomaly.until) << name(anomaly.kind);
    }
}

TEST(IntelligenceSamples, TheSameInputGivesTheSameReport) {
    EXPECT_EQ(sample("cost_spike.json")->json, sample("cost_spike.json")->json);
}

TEST(IntelligenceSamples, AChildJudgesOnlyWhatItIsAbout) {
    const auto sampled = sample("outage_and_silence.json");
    ASSERT_TRUE(sampled);
    const auto chosen =
        given_history(sampled->request, kNow, [](const std::string& type) { return type == "seo_monitor"; });
    ASSERT_EQ(chosen.size(), 1U);
    EXPECT_EQ(chosen.front().workflow_type, "seo_monitor");
    auto named = sampled->request;
    named.workflow_types = {"nobody", "seo_monitor"};
    const auto with_nobody = given_history(named, kNow, kAll);
    ASSERT_EQ(with_nobody.size(), 2U);
    EXPECT_THAT(with_nobody.front().executions, IsEmpty());
    EXPECT_EQ(analyse(named, kNow, with_nobody).types.front().executions, 0);
}

}
}
