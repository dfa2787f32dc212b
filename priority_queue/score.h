#pragma once
// Priority and age become a score (seed 003):
//     priority × 10 + min(age_minutes, 120) + (age_minutes > 30 ? 50 : 0)
// in whole numbers, so that C++ and SQL (migrations/0006_order) tie alike (protocol R16). Pure.

#include <cstdint>

#include "domain/time.h"

namespace impresario::priority_queue {

/// 60,000,000 of these are one point: an age in microseconds is its own score.
using Score = std::int64_t;
inline constexpr Score kPoint = 60'000'000;

/// An execution of `priority` (0–100) created at `created_at`, at `now`.
constexpr Score score(int priority, domain::TimePoint created_at, domain::TimePoint now) {
    const std::int64_t age = (now - created_at).count();
    const Score boost = age < 120 * kPoint ? age : 120 * kPoint;
    return priority * 10 * kPoint + boost + (age > 30 * kPoint ? 50 * kPoint : 0);
}

/// The score taken apart, for people.
struct ScoreParts {
    double priority = 0;
    double age = 0;
    double starvation = 0;
};
ScoreParts score_parts(int priority, domain::TimePoint created_at, domain::TimePoint now);

}
