#include "orchestrator/recover.h"

#include <algorithm>

namespace impresario::orchestrator {

using domain::Status;

Recovery recover(const Failure& failure, const domain::RetryPolicy& policy, int retry_count, int max_retries,
                 domain::TimePoint now, double unit) {
    const bool reported = failure.cause == FailureCause::reported;
    if (reported && !failure.retry_recommended) return GiveUp{Status::failed, "reported"};
    // Not its fault, and no try: it comes back when the provider may be asked again.
    if (failure.cause == FailureCause::throttled)
        return TryAgain{domain::saturating_add(now, failure.retry_after.value_or(std::chrono::seconds{1}))};
    if (retry_count < max_retries) {
        auto wait = domain::retry_wait(policy, retry_count + 1, unit);
        if (failure.retry_after) wait = std::max(wait, *failure.retry_after);
        return TryAgain{domain::saturating_add(now, wait)};
    }
    switch (failure.cause) {
        case FailureCause::timeout:
            return GiveUp{Status::dead, "timeout"};
        case FailureCause::lost:
            return GiveUp{Status::dead, "lost"};
        case FailureCause::reported:
            // Without retries to spend there is nothing that could be exhausted: what the peer said stands.
            if (max_retries == 0) return GiveUp{Status::failed, "reported"};
            break;
        case FailureCause::delivery:
        case FailureCause::asked:
        case FailureCause::throttled:
            break;
    }
    return GiveUp{Status::dead, "attempts_exhausted"};
}

}
