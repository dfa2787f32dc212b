#pragma once
// What follows from an answer to a message: whether it was taken, when it is sent again, whom that is to blame on.
// Pure.

#include <optional>
#include <string>

#include "journal/outbox_store.h"
#include "journal/subscriber.h"
#include "webhooks/outcome.h"

namespace impresario::orchestrator {

struct OutboxVerdict {
    journal::MessageState message = journal::MessageState::pending;
    journal::MessageTries tries;
    /// Pending: not before that; nullopt: as soon as the subscriber hears again.
    std::optional<domain::TimePoint> due;
    /// The subscriber after it.
    journal::SubscriberState state;
    /// Nothing else is sent to the subscriber before `state.not_before`.
    bool hold = false;
    /// Somebody should hear of it.
    bool began_to_fail = false;
    bool recovered = false;
    /// It has taken nothing for too long: it is told no more.
    bool disable = false;
};

/// `unit` in [0, 1) is the dice's word on the jitter.
///
/// A message is given up only after `attempts` requests that were its own fault: while a subscriber takes nothing at
/// all the subscriber is at fault, it is left alone for ever longer, and no message counts it against itself. What a
/// peer that takes others has looked at and refused is given up; and so is, in order, what would hold up all that come
/// after.
OutboxVerdict after_delivery(const journal::Subscriber& subscriber, const journal::SubscriberState& before,
                             const journal::MessageTries& tries, const webhooks::DeliveryOutcome& outcome,
                             domain::TimePoint now, double unit);

}
