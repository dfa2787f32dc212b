#pragma once
// Who is told of events at an address of its own: where, of which events, and how patiently.

#include <optional>
#include <string>

#include "domain/definition_fault.h"
#include "domain/id.h"
#include "domain/time.h"
#include "journal/event_choice.h"
#include "platform/peer_secrets.h"

namespace impresario::journal {

using SubscriberId = domain::Id<struct SubscriberTag>;

struct Subscriber {
    SubscriberId id;
    std::string organization_id;
    /// As domain::good_definition_name wants it.
    std::string name;

    std::string url;
    platform::PeerSecrets secrets;
    EventChoice choice;
    /// Each only after the one before it has been taken.
    bool ordered = false;
    /// Messages that are taken up at once, 1 to 500.
    int batch = 50;
    /// Batches on their way at once, 1 to 16; where it is ordered there is one.
    int workers = 2;
    /// How often a message that is refused is sent before it is given up, 1 to 100.
    int attempts = 12;
    /// The wait after the first failure; it doubles up to the longest.
    domain::Duration backoff = std::chrono::seconds{5};
    domain::Duration backoff_longest = std::chrono::minutes{5};
    /// For the answer.
    domain::Duration timeout = std::chrono::seconds{15};
    /// Who has taken nothing for so long is told no more until somebody enables it; nullopt: it is tried for ever.
    std::optional<domain::Duration> disable_after = std::chrono::hours{120};

    int version = 0;
    /// Grows when there is something else to do for it.
    int orders = 0;
    domain::TimePoint updated_at{};
    std::string updated_by;

    struct Disabled {
        domain::TimePoint at{};
        std::string by;
        std::string reason;
    };
    std::optional<Disabled> disabled;

    /// Whether it is told of all organizations' events: those who look after them all are.
    bool all_organizations() const;
};

/// What cannot be, member by member.
domain::DefinitionFaults faults_of(const Subscriber& subscriber);

/// How it does, and how far it has come.
struct SubscriberState {
    std::int64_t position = 0;
    int failures = 0;
    std::optional<domain::TimePoint> failing_since;
    std::optional<domain::TimePoint> not_before;
    std::int64_t published = 0;
    std::int64_t failed = 0;
    std::optional<domain::TimePoint> last_published;
    std::string last_error;
};

/// Most of one organization.
inline constexpr int kMostSubscribers = 100;

/// From so many requests in a row that failed a subscriber itself is taken to be in trouble, and not the message.
inline constexpr int kFailing = 3;

}
