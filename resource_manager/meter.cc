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

void Meter::Debt::refill(std::int64_t per_window, TimePoint until) {
    if (until <= at) return;
    // In 128 bits: the first time is decades after the epoch.
    left = std::max<Wide>(0, left - static_cast<Wide>((until - at).count()) * per_window);
    at = until;
}

/// One that ended before what is known counts from that: a little longer than it must.
void Meter::fold(Debt& debt, const Ended& ended) const {
    debt.refill(limit_.limit, ended.until);
    debt.left += static_cast<Wide>(ended.amount) * limit_.per.count();
}

std::int64_t Meter::rounded(const Debt& debt) const {
    const Wide per = limit_.per.count();
    return static_cast<std::int64_t>((debt.left + per - 1) / per);
}

TimePoint Meter::counts_until(TimePoint end) const {
    switch (limit_.kind) {
        case WindowKind::token_bucket:
            return end;
        case WindowKind::fixed_window:
            return next_multiple(end, limit_.per, limit_.reset_at);
        case WindowKind::sliding_window:
            break;
    }
    const Duration step = std::max<Duration>(limit_.per / 256, std::chrono::milliseconds{1});
    return next_multiple(end, step, Duration{0}) + limit_.per;
}

void Meter::end(std::int64_t amount, TimePoint at) {
    in_flight_ -= amount;
    if (amount == 0 || limit_.of == Measure::concurrency) return;
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

std::int64_t Meter::used(TimePoint now) const {
    std::int64_t used = in_flight_ + ended_total_;
    Debt debt = debt_;
    for (const auto& each : ended_) {
        if (each.until > now) break;
        used -= each.amount;
        if (limit_.kind == WindowKind::token_bucket) fold(debt, each);
    }
    debt.refill(limit_.limit, now);
    return used + rounded(debt);
}

std::optional<TimePoint> Meter::fits_at(std::int64_t amount, TimePoint now) const {
    const std::int64_t room = limit_.capacity() - amount;
    if (room < 0) return std::nullopt;
    std::int64_t left = used(now);
    if (left <= room) return now;
    if (in_flight_ > room || limit_.of == Measure::concurrency) return std::nullopt;
    if (limit_.kind == WindowKind::token_bucket) return refilled_at(room, now);
    for (const auto& each : ended_) {
        if (each.until <= now) continue;
        left -= each.amount;
        if (left <= room) return each.until;
    }
    return std::nullopt;
}

/// What ends later counts in full until then and is debt from then on: in between only the debt shrinks.
std::optional<TimePoint> Meter::refilled_at(std::int64_t room, TimePoint now) const {
    Debt debt = debt_;
    std::int64_t whole = in_flight_ + ended_total_;
    auto next = ended_.begin();
    for (;;) {
        if (whole <= room) {
            const Wide wanted = static_cast<Wide>(room - whole) * limit_.per.count();
            const Wide wait = debt.left <= wanted ? 0 : (debt.left - wanted + limit_.limit - 1) / limit_.limit;
            constexpr Wide kLongest = Duration{std::chrono::hours{24 * 365 * 100}}.count();
            const TimePoint at = debt.at + Duration{static_cast<std::int64_t>(std::min(wait, kLongest))};
            if (next == ended_.end() || at <= next->until) return std::max(at, now);
        }
        if (next == ended_.end()) return std::nullopt;
        whole -= next->amount;
        fold(debt, *next);
        ++next;
    }
}

void Meter::trim(TimePoint now) {
    auto counts = ended_.begin();
    for (; counts != ended_.end() && counts->until <= now; ++counts) {
        if (limit_.kind == WindowKind::token_bucket) fold(debt_, *counts);
        ended_total_ -= counts->amount;
    }
    ended_.erase(ended_.begin(), counts);
}

}
