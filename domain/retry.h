#pragma once
// Backoff and jitter: the only place where a wait before another try is computed.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/time.h"

namespace impresario::domain {

/// How often and how patiently a failed delivery or attempt is tried again.
struct RetryPolicy {
    std::string name;
    /// Tries after the first. 0: a failure is final.
    int max_retries = 0;
    /// The first waits, one by one. After them `base` repeats unchanged.
    std::vector<Duration> steps;
    /// Without steps: wait n is base × factor^(n−1), at most `cap`.
    Duration base{0};
    double factor = 2.0;
    Duration cap = std::chrono::hours{24};
    /// Each wait grows by a random share between these two, so that what failed together does not return together.
    double jitter_low = 0.1;
    double jitter_high = 0.4;

    friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};

/// master: 1, 2, 4 min, 3 retries (seed 003). engine: 5 s × 2^(n−1), cap 1 h, 5 attempts (seed 000).
/// playbook: 5, 30, 120 s, then 60 s, 3 attempts (seed 001). none: no retry. Others: nullopt.
std::optional<RetryPolicy> named_retry_policy(std::string_view name);

/// The wait after failure number `failures` (1 for the first). `unit` in [0, 1) is the dice's word on the jitter.
/// Saturates instead of overflowing; never negative.
Duration retry_wait(const RetryPolicy& policy, int failures, double unit);

}
