#include "orchestrator/recent_ends.h"

namespace impresario::orchestrator {

using domain::Status;
using domain::TimePoint;

namespace {
std::int64_t minute_of(TimePoint at) { return std::chrono::floor<std::chrono::minutes>(at).time_since_epoch().count(); }
std::size_t place_of(std::int64_t minute) { return static_cast<std::size_t>(minute % RecentEnds::kMinutes); }
}

void RecentEnds::over(const domain::Lane& lane, const domain::ExecutionId& execution, Status status, TimePoint now) {
    const auto number = minute_of(now);
    auto& lately = lanes_[lane];
    auto& minute = lately.minutes[place_of(number)];
    if (minute.number != number) minute = {number, {}};
    if (status == Status::completed) ++minute.count.completed;
    if (status == Status::retrying) ++minute.count.retried;
    if (status != Status::failed && status != Status::dead) return;
    ++minute.count.failed;
    lately.failed.emplace_front(number, execution);
    if (lately.failed.size() > kNamed) lately.failed.pop_back();
}

RecentEnds::Count RecentEnds::count(const domain::Lane& lane, int from, int to, TimePoint now) const {
    Count sum;
    const auto found = lanes_.find(lane);
    if (found == lanes_.end()) return sum;
    for (auto number = minute_of(now) - to; number <= minute_of(now) - from; ++number) {
        const auto& minute = found->second.minutes[place_of(number)];
        if (minute.number != number) continue;
        sum.completed += minute.count.completed;
        sum.failed += minute.count.failed;
        sum.retried += minute.count.retried;
    }
    return sum;
}

std::vector<domain::Lane> RecentEnds::lanes() const {
    std::vector<domain::Lane> all;
    for (const auto& [lane, ignored] : lanes_) all.push_back(lane);
    return all;
}

std::vector<std::string> RecentEnds::failed(const domain::Lane& lane, int minutes, TimePoint now) const {
    std::vector<std::string> ids;
    const auto found = lanes_.find(lane);
    if (found == lanes_.end()) return ids;
    for (const auto& [number, id] : found->second.failed)
        if (number >= minute_of(now) - minutes) ids.push_back(id.text());
    return ids;
}

}
