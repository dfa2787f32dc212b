#pragma once
// What has ended may go after a time: the decision. Pure.

#include <optional>

#include "domain/family.h"
#include "domain/time.h"

namespace impresario::journal {

/// How long what has ended is kept, from its end; nullopt: for ever.
struct RetentionPolicy {
    std::optional<domain::Duration> completed = std::chrono::hours{24 * 90};
    std::optional<domain::Duration> failed = std::chrono::hours{24 * 180};
    std::optional<domain::Duration> cancelled = std::chrono::hours{24 * 90};
    /// Once somebody has decided about it.
    std::optional<domain::Duration> dead = std::chrono::hours{24 * 180};
    /// Events of anything else than executions.
    std::optional<domain::Duration> events = std::chrono::hours{24 * 90};

    const std::optional<domain::Duration>& of(domain::Status status) const;
    /// The shortest of the executions'; nullopt: nothing ever goes.
    std::optional<domain::Duration> shortest() const;
};

/// When a family may go; nullopt: not as things stand. It goes as a whole: not before its last member may, and not
/// while one lives, is a dead letter that nobody has decided about, or has an event beyond `told`, the number up to
/// which every subscriber has been told.
std::optional<domain::TimePoint> goes_at(const RetentionPolicy& policy, const domain::Family& family,
                                         std::int64_t told);

}
