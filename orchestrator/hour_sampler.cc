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
constexpr std::chrono::minutes kEvery{1};
/// After an hour it rests for so many times as long as that took: it is nobody's rival.
constexpr int kRest = 4;
constexpr std::chrono::milliseconds kShortestRest{20};
/// What is more unusual than this says which executions are behind it.
constexpr double kNotable = 3;

std::map<LaneSeries, double> read_hour(Tx& tx, TimePoint hour) {
    std::map<domain::Lane, reports::Ended> ended;
    reports::ReportStore().add_ended(tx, {hour, hour + hours{1}}, {}, ended);
    return hour_of(ended);
}

}

/// What the database refuses, because it takes too long, is tried again a minute later.
Task<steady_clock::duration> HourSampler::turn() {
    try {
        co_await catch_up();
    } catch (const platform::StatementRefused& refused) {
        log::warn("what an hour came to could not be summed up",
                  {{"error", refused.what()}, {"next", "it is tried again in a minute"}});
    }
    co_return kEvery;
}

Task<void> HourSampler::catch_up() {
    const auto last = std::chrono::floor<hours>(node_.clock().now() - kSettled) - hours{1};
    auto asking = node_.database().read([](Tx& tx) { return HourStore().next(tx, kLongest); });
    const auto next = co_await std::move(asking);
    if (!next) co_return;
    for (auto hour = *next; hour <= last && goes_on(); hour += hours{1}) {
        const auto began = steady_clock::now();
        co_await sample(hour);
        co_await pause(std::max<steady_clock::duration>((steady_clock::now() - began) * kRest, kShortestRest));
    }
    if (goes_on() && compared_ != last) co_await compare_with_history(last);
}

Task<void> HourSampler::sample(TimePoint hour) {
    auto reading = node_.database().read([hour](Tx& tx) { return read_hour(tx, hour); });
    const auto values = co_await std::move(reading);
    auto writing = node_.database().transact([this, epoch = hub_.epoch(), hour, &values](Tx& tx) {
        SchedulerStore().fence(tx, epoch, node_.id());
        HourStore().write(tx, hour, values);
    });
    co_await std::move(writing);
}

Task<void> HourSampler::compare_with_history(TimePoint hour) {
    auto comparing = node_.database().read([hour](Tx& tx) {
        const HourStore store;
        const auto values = read_hour(tx, hour);
        const auto compared = compare(hour, values, store.history(tx, hour, kLongest));
        std::vector<LaneSeries> notable;
        for (const auto& each : compared)
            if (each.deviations >= kNotable) notable.push_back(each.of);
        auto evidence = store.evidence(tx, notable, hour);
        std::vector<alerts::Reading> readings;
        for (const auto& each : compared) {
            alerts::Reading reading;
            reading.labels = {{"organization", each.of.lane.organization_id},
                              {"workflow_type", each.of.lane.workflow_type},
                              {"series", std::string(name(each.of.series))}};
            reading.value = each.deviations;
            const auto found = std::find(notable.begin(), notable.end(), each.of);
            if (found != notable.end())
                reading.evidence = std::move(evidence[static_cast<std::size_t>(found - notable.begin())]);
            readings.push_back(std::move(reading));
        }
        return readings;
    });
    readings_ = co_await std::move(comparing);
    compared_ = hour;
}

}
