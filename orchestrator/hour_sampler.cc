#include "orchestrator/hour_sampler.h"

#include <algorithm>

#include "orchestrator/scheduler_store.h"
#include "platform/log.h"
#include "reports/report_store.h"

namespace impresario::orchestrator {

namespace log = platform::log;
using domain::TimePoint;
using platform::Task;
using platform::Tx;
using std::chrono::hours;
using std::chrono::steady_clock;

namespace {

/// Five weeks: of each hour of the week as many as the baseline asks for, and one more.
constexpr hours kLongest{24 * 35};
/// An hour is looked at once everybody who had to do with it has committed.
constexpr std::chrono::minutes kSettled{2};
constexpr std::chrono::minutes kLookEvery{1};
/// After an hour it rests for so many times as long as that took: it is nobody's rival.
constexpr int kRest = 4;
constexpr std::chrono::milliseconds kShortestRest{20};
/// What is more unusual than this says which executions are behind it.
constexpr double kNotable = 3;
constexpr std::size_t kMostExplained = 20;
constexpr std::chrono::minutes kQuarter{15};

}

/// What the database refuses, because it takes too long, is passed over: the next hour is another one.
Task<steady_clock::duration> HourSampler::turn() {
    const auto last = std::chrono::floor<hours>(node_.clock().now() - kSettled) - hours{1};
    auto asking = node_.database().read([](Tx& tx) { return HourStore().next(tx, kLongest); });
    const auto next = co_await std::move(asking);
    if (!next) {
        readings_.emplace();
        co_return kLookEvery;
    }
    for (auto hour = *next; hour <= last && goes_on(); hour += hours{1}) {
        const auto began = steady_clock::now();
        auto reading = read(hour);
        const auto values = co_await std::move(reading);
        auto writing = write(hour, values);
        co_await std::move(writing);
        co_await pause(std::max<steady_clock::duration>((steady_clock::now() - began) * kRest, kShortestRest));
    }
    if (goes_on() && compared_ != last) {
        auto comparing = compare_with_history(last);
        co_await std::move(comparing);
    }
    co_return kLookEvery;
}

/// A quarter at a time. nullopt: the database refused one.
Task<std::optional<std::map<LaneSeries, double>>> HourSampler::read(TimePoint hour) {
    std::map<domain::Lane, reports::Ended> ended;
    for (auto from = hour; from < hour + hours{1}; from += kQuarter) {
        std::string trouble;
        try {
            auto reading = node_.database().read([from](Tx& tx) {
                std::map<domain::Lane, reports::Ended> part;
                reports::ReportStore().add_ended(tx, {from, from + kQuarter}, {}, part);
                return part;
            });
            const auto part = co_await std::move(reading);
            for (const auto& [lane, sums] : part) ended[lane].add(sums);
        } catch (const platform::StatementRefused& refused) {
            trouble = refused.what();
        }
        if (trouble.empty()) continue;
        log::warn("what an hour came to could not be summed up",
                  {{"from", hour}, {"error", trouble}, {"next", "it is passed over"}});
        co_return std::nullopt;
    }
    co_return hour_of(ended);
}

Task<void> HourSampler::write(TimePoint hour, std::optional<std::map<LaneSeries, double>> values) {
    auto writing = node_.database().transact([this, epoch = hub_.epoch(), hour, &values](Tx& tx) {
        SchedulerStore().fence(tx, epoch, node_.id());
        HourStore().write(tx, hour, values);
    });
    co_await std::move(writing);
}

/// Where it cannot be done, what is known stays as it is until the next hour, and somebody is told (reader_failing).
Task<void> HourSampler::compare_with_history(TimePoint hour) {
    compared_ = hour;
    std::vector<Unusual> compared;
    std::string trouble;
    try {
        auto reading = node_.database().read([hour](Tx& tx) { return HourStore().read(tx, hour, kLongest); });
        const auto hours_read = co_await std::move(reading);
        if (hours_read.values) {
            compared = compare(hour, *hours_read.values, hours_read.history);
        } else if (hours_read.passed_over) {
            trouble = "it was passed over";
        }
    } catch (const platform::StatementRefused& refused) {
        trouble = refused.what();
    }
    if (!trouble.empty()) {
        log::warn("an hour could not be compared with others", {{"from", hour}, {"error", trouble}});
        if (!failing_since_) failing_since_ = node_.clock().now();
        co_return;
    }
    failing_since_.reset();
    auto finding = find_evidence(hour, compared);
    const auto evidence = co_await std::move(finding);
    std::vector<alerts::Reading> readings;
    for (const auto& each : compared) {
        alerts::Reading reading_of;
        reading_of.labels = {{"organization", each.of.lane.organization_id},
                             {"workflow_type", each.of.lane.workflow_type},
                             {"series", std::string(name(each.of.series))}};
        reading_of.value = each.deviations;
        if (const auto found = evidence.find(each.of); found != evidence.end()) reading_of.evidence = found->second;
        readings.push_back(std::move(reading_of));
    }
    readings_ = std::move(readings);
}

/// Of the most unusual. An alert without it is better than none.
Task<std::map<LaneSeries, std::vector<std::string>>> HourSampler::find_evidence(TimePoint hour,
                                                                                std::vector<Unusual> compared) {
    std::erase_if(compared, [](const auto& each) { return each.deviations < kNotable; });
    std::sort(compared.begin(), compared.end(),
              [](const auto& a, const auto& b) { return a.deviations > b.deviations; });
    if (compared.size() > kMostExplained) compared.resize(kMostExplained);
    std::vector<LaneSeries> asked;
    for (const auto& each : compared) asked.push_back(each.of);
    std::map<LaneSeries, std::vector<std::string>> evidence;
    try {
        auto reading = node_.database().read([&asked, hour](Tx& tx) { return HourStore().evidence(tx, asked, hour); });
        auto found = co_await std::move(reading);
        for (std::size_t i = 0; i < asked.size(); ++i) evidence[asked[i]] = std::move(found[i]);
    } catch (const platform::StatementRefused& refused) {
        log::warn("what is behind an unusual hour could not be found", {{"from", hour}, {"error", refused.what()}});
    }
    co_return evidence;
}

}
