#include "resource_manager/queue_bounds.h"

#include <algorithm>
#include <cmath>

namespace impresario::resource_manager {

using domain::Duration;
using domain::TimePoint;

void DrainRate::left(TimePoint now) {
    if (!since_) since_ = now;
    const auto slot = slot_at(now);
    // What was not counted in between was nothing.
    for (auto passed = std::max(newest_ + 1, slot - kSlots + 1); passed <= slot; ++passed)
        counts_[static_cast<std::size_t>(passed % kSlots)] = 0;
    newest_ = std::max(newest_, slot);
    ++counts_[static_cast<std::size_t>(newest_ % kSlots)];
}

double DrainRate::per_minute(TimePoint now) const {
    if (!since_) return 0;
    const auto oldest = slot_at(now) - kSlots + 1;
    std::int64_t count = 0;
    for (auto slot = std::max(oldest, newest_ - kSlots + 1); slot <= newest_; ++slot)
        count += counts_[static_cast<std::size_t>(slot % kSlots)];
    const auto seen = std::clamp<Duration>(now - *since_, kSlot, std::chrono::minutes{1});
    return static_cast<double>(count) * 60e6 / static_cast<double>(seen.count());
}

std::optional<QueueFull> full(const QueueBounds& bounds, const QueueLength& length, std::int64_t more) {
    if (!bounds.soft || length.waiting + more <= *bounds.soft) return std::nullopt;
    QueueFull found{length.waiting, *bounds.soft, std::nullopt, more > *bounds.soft};
    if (length.per_minute > 0 && !found.never) {
        const auto leaving = static_cast<double>(length.waiting + more - *bounds.soft);
        const double seconds = std::min(leaving * 60 / length.per_minute, 86400.0);
        found.room_in = Duration{static_cast<std::int64_t>(std::ceil(seconds * 1e6))};
    }
    return found;
}

}
