#pragma once
// Failure × policy × now → another try, or the end. The one place where trouble turns into a retry or a dead letter.
// Pure.

#include <optional>
#include <string>
#include <variant>

#include "domain/execution.h"
#include "domain/retry.h"

namespace impresario::orchestrator {

enum class FailureCause {
    /// A delivery certainly did not arrive, or the peer could not take it.
    delivery,
    /// The sub-workflow said that it failed.
    reported,
    /// Its deadline passed, or it said so itself.
    timeout,
    /// Nobody knows what became of it.
    lost,
    /// None: somebody asked for another try.
    asked,
    /// Its provider had had enough for now.
    throttled,
};

struct Failure {
    FailureCause cause = FailureCause::delivery;
    /// Not before this has passed.
    std::optional<domain::Duration> retry_after;
    /// What the peer recommends.
    bool retry_recommended = true;
};

struct TryAgain {
    domain::TimePoint at;
};
struct GiveUp {
    domain::Status status = domain::Status::dead;
    /// attempts_exhausted, timeout, lost, reported.
    std::string reason;
};
using Recovery = std::variant<TryAgain, GiveUp>;

/// `retry_count` failures came before this one; `unit` is the dice's word on the jitter.
Recovery recover(const Failure& failure, const domain::RetryPolicy& policy, int retry_count, int max_retries,
                 domain::TimePoint now, double unit);

}
