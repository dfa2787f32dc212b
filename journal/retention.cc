#include "journal/retention.h"

#include <algorithm>

namespace impresario::journal {

using domain::Duration;
using domain::Status;
using domain::TimePoint;

const std::optional<Duration>& RetentionPolicy::of(Status status) const {
    static const std::optional<Duration> never;
    switch (status) {
        case Status::completed:
            return completed;
        case Status::failed:
            return failed;
        case Status::cancelled:
            return cancelled;
        case Status::dead:
            return dead;
        default:
            return never;
    }
}

std::optional<Duration> RetentionPolicy::shortest() const {
    std::optional<Duration> shortest;
    for (const auto& each : {completed, failed, cancelled, dead})
        if (each) shortest = std::min(shortest.value_or(*each), *each);
    return shortest;
}

std::optional<TimePoint> goes_at(const RetentionPolicy& policy, const domain::Family& family, std::int64_t told) {
    std::optional<TimePoint> at;
    for (const auto& member : family.members) {
        const auto& age = policy.of(member.status);
        if (!age || !member.ended || member.held || member.last_event > told) return std::nullopt;
        at = std::max(at.value_or(*member.ended + *age), *member.ended + *age);
    }
    return at;
}

}
