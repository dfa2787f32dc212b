#include "resource_manager/meter.h"

#include <algorithm>

namespace impresario::resource_manager {

using domain::Duration;
using domain::TimePoint;

namespace {
/// The next multiple of `step` after `at`, counted from `offset` after the epoch.
TimePoint next_multiple(TimePoint at, Duration step, Duration offset) {
    const auto since = at.time_since_epoch() - offset;
    auto whole = since / step;
    if (since < Duration{0} && since % step != Duration{0}) --whole;
    return TimePoint{offset + (whole + 1) * step};
}
}

TimePoint Meter::counts_until(TimePoint end) const {
    if (limit_.kind == WindowKind::fixed_window) return next_multiple(end, limit_.per, limit_.reset_at);
    const Duration step = std::max<Duration>(limit_.per / 256, std::chrono::milliseconds{1});
    return next_multiple(end, step, Duration{0}) + limit_.per;
}

void Meter::end(std::int64_t amount, TimePoint at) {
    in_flight_ -= amount;
    if (amount == 0 || limit_.of == Measure::concurrency) return;
    if (limit_.kind == WindowKind::token_bucket) {
        const Wide per = limit_.per.count();
        if (at > debt_at_) {
            // In 128 bits: a first end is decades after the epoch.
            const Wide refilled = static_cast<Wide>((at - debt_at_).count()) * limit_.limit;
            debt_ = std::max<Wide>(0, debt_ - refilled);
            debt_at_ = at;
        }
        // One that ended before the latest known end counts from that: a little longer than it must.
        debt_ += static_cast<Wide>(amount) * per;
        return;
    }
    ended_total_ += amount;
    const auto until = counts_until(at);
    auto place = ended_.end();
    while (place != ended_.begin() && std::prev(place)->until > until) --place;
    if (place != ended_.begin() && std::prev(place)->until == until) {
        std::prev(place)->amount += amount;
    } else {
        ended_.insert(place, {until, amount});
    }
}

std::int64_t Meter::debt(TimePoint now) const {
    Wide left = debt_;
    if (now > debt_at_) left -= static_cast<Wide>((now - debt_at_).count()) * limit_.limit;
    if (left <= 0) return 0;
    const Wide per = limit_.per.count();
    return static_cast<std::int64_t>((left + per - 1) / per);
}

std::int64_t Meter::used(TimePoint now) const {
    std::int64_t used = in_flight_ + debt(now) + ended_total_;
    for (const auto& each : ended_) {
        if (each.until > now) break;
        used -= each.amount;
    }
    return used;
}

std::optional<TimePoint> Meter::fits_at(std::int64_t amount, TimePoint now) const {
    const std::int64_t room = limit_.capacity() - amount;
    if (room < 0) return std::nullopt;
    std::int64_t left = used(now);
    if (left <= room) return now;
    if (in_flight_ > room) return std::nullopt;
    if (limit_.of == Measure::concurrency) return std::nullopt;
    if (limit_.kind == WindowKind::token_bucket) {
        // Until debt(t) <= room - in_flight.
        const Wide wanted = static_cast<Wide>(room - in_flight_) * limit_.per.count();
        const Wide wait = (debt_ - wanted + limit_.limit - 1) / limit_.limit;
        constexpr Wide kLongest = Duration{std::chrono::hours{24 * 365 * 100}}.count();
        return debt_at_ + Duration{static_cast<std::int64_t>(std::min(wait, kLongest))};
    }
    for (const auto& each : ended_) {
        if (each.until <= now) continue;
        left -= each.amount;
        if (left <= room) return each.until;
    }
    return std::nullopt;
}

void Meter::trim(TimePoint now) {
    while (!ended_.empty() && ended_.front().until <= now) {
        ended_total_ -= ended_.front().amount;
        ended_.pop_front();
    }
}

}
