#include "orchestrator/outbox_policy.h"

#include <algorithm>

#include "domain/retry.h"

namespace impresario::orchestrator {

using domain::Duration;
using domain::TimePoint;
using journal::kFailing;
using journal::MessageState;

namespace {

Duration wait_after(const journal::Subscriber& subscriber, int failures, double unit) {
    domain::RetryPolicy policy;
    policy.base = subscriber.backoff;
    policy.cap = subscriber.backoff_longest;
    return domain::retry_wait(policy, std::max(failures, 1), unit);
}

bool taken(const webhooks::DeliveryOutcome& outcome) {
    return std::holds_alternative<webhooks::Accepted>(outcome) || std::holds_alternative<webhooks::Done>(outcome);
}

/// What the peer asks for; nullopt: nothing.
std::optional<Duration> asked_for(const webhooks::DeliveryOutcome& outcome) {
    if (const auto* overload = std::get_if<webhooks::Overload>(&outcome)) return overload->retry_after;
    if (const auto* transient = std::get_if<webhooks::Transient>(&outcome)) return transient->retry_after;
    return std::nullopt;
}

}

OutboxVerdict after_delivery(const journal::Subscriber& subscriber, const journal::SubscriberState& before,
                             const journal::MessageTries& tries, const webhooks::DeliveryOutcome& outcome,
                             TimePoint now, double unit) {
    OutboxVerdict verdict;
    verdict.state = before;
    verdict.tries = tries;
    ++verdict.tries.deliveries;
    auto& state = verdict.state;
    if (taken(outcome)) {
        verdict.message = MessageState::published;
        verdict.recovered = before.failures >= kFailing;
        state.failures = 0;
        state.failing_since.reset();
        state.not_before.reset();
        state.last_published = now;
        state.last_error.clear();
        ++state.published;
        return verdict;
    }
    ++state.failures;
    if (!state.failing_since) state.failing_since = now;
    state.last_error = std::string(reason(outcome));
    verdict.began_to_fail = state.failures == kFailing;

    const bool of_the_subscriber =
        std::holds_alternative<webhooks::Overload>(outcome) || std::holds_alternative<webhooks::EndpointFault>(outcome);
    const bool of_the_message = !of_the_subscriber && before.failures < kFailing;
    if (of_the_message || std::holds_alternative<webhooks::Rejected>(outcome)) {
        ++verdict.tries.failures;
        if (!verdict.tries.failing_since) verdict.tries.failing_since = now;
    }
    const bool others_were_taken =
        !subscriber.ordered && verdict.tries.failing_since && state.last_published > verdict.tries.failing_since;
    // Who has taken others before has looked at this one.
    const bool refused =
        std::holds_alternative<webhooks::Rejected>(outcome) && (subscriber.ordered || state.last_published);
    if (verdict.tries.failures >= subscriber.attempts && (others_were_taken || refused)) {
        verdict.message = MessageState::failed;
        ++state.failed;
    }

    const auto asked = asked_for(outcome);
    verdict.hold = of_the_subscriber || subscriber.ordered || state.failures >= kFailing;
    if (verdict.hold) {
        // The first so many were tried one after the other: only then does it begin to double.
        const int waits = of_the_subscriber || subscriber.ordered ? state.failures : state.failures - kFailing + 1;
        state.not_before = now + std::max(asked.value_or(Duration{0}), wait_after(subscriber, waits, unit));
    }
    if (verdict.message == MessageState::pending && of_the_message)
        verdict.due = now + std::max(asked.value_or(Duration{0}), wait_after(subscriber, verdict.tries.failures, unit));
    verdict.disable = subscriber.disable_after && state.failures >= kFailing &&
                      now - *state.failing_since >= *subscriber.disable_after;
    return verdict;
}

}
