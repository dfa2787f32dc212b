#pragma once
// Timers. Borrows a transaction. Stateless; any thread. SQL callers have the same by the functions of
// migrations/0037_timers.up.sql; the table itself gives tokens and tells events, whoever writes.

#include <optional>
#include <string>
#include <vector>

#include "platform/sql.h"
#include "schedules/timer.h"

namespace impresario::schedules {

struct TimerPlace {
    domain::TimePoint at;
    TimerId id;
};

class TimerStore {
  public:
    /// Sets the one of that organization and name, or moves it; `timer.token` set: only where it waits under that one.
    /// nullopt: it does not. Asked again for what it is already it stays as it is, with its token.
    std::optional<Timer> put(platform::Tx& tx, const Timer& timer, std::optional<WaitingToken> token,
                             const domain::NodeId& writer) const;
    /// nullopt: none of that name waits, or not under that token.
    std::optional<Timer> cancel(platform::Tx& tx, const std::string& organization_id, const std::string& name,
                                const std::string& by, std::optional<WaitingToken> token,
                                const domain::NodeId& writer) const;
    std::optional<Timer> find(platform::Tx& tx, const std::string& organization_id, const std::string& name) const;
    /// Those that wait, the earliest first; those that have ended, the latest first. Beyond `after`.
    std::vector<Timer> list(platform::Tx& tx, const std::string& organization_id, TimerState state,
                            std::optional<TimerPlace> after, int most) const;

    /// Lets what is due by the transaction's time come due. When each was to.
    std::vector<domain::TimePoint> fire(platform::Tx& tx, int most, const domain::NodeId& writer) const;
    /// When the next is due.
    std::optional<domain::TimePoint> next(platform::Tx& tx) const;
    /// Removes some of those that ended longer ago than that. Returns how many.
    std::int64_t forget(platform::Tx& tx, domain::Duration age) const;
};

}
