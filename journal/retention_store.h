#pragma once
// What is known of what has gone, and events that may go. Borrows a transaction. Stateless; any thread.

#include <optional>
#include <vector>

#include "domain/id.h"
#include "domain/time.h"
#include "platform/sql.h"

namespace impresario::journal {

class RetentionStore {
  public:
    /// Nothing is removed, and nobody begins to be told of something again, beside this transaction.
    void lock(platform::Tx& tx) const;
    /// The same for who wants to be told of something again: it waits for a removal.
    void wait(platform::Tx& tx) const;
    /// The number up to which every subscriber has been told that hears of an organization ("": of any) and is not
    /// disabled.
    std::int64_t told(platform::Tx& tx, const std::string& organization_id) const;
    /// Adds what they come to, by day, and notes their events as gone; then they are removed.
    void sum_up(platform::Tx& tx, const std::vector<domain::ExecutionId>& executions) const;
    /// Removes their events, the last of which has that number. Returns how many.
    std::int64_t remove_events(platform::Tx& tx, const std::vector<domain::ExecutionId>& executions,
                               std::int64_t last) const;

    struct OldEvents {
        std::vector<std::int64_t> numbers;
        /// The last number that was looked at; nullopt: what comes next is too young.
        std::optional<std::int64_t> until;
    };
    /// Of the next page after a number: events of anything but executions that are older than that and have been told.
    OldEvents old_events(platform::Tx& tx, std::int64_t after, domain::Duration age, std::int64_t told) const;
    /// Removes them, and notes where their streams go on. Returns how many.
    std::int64_t forget_events(platform::Tx& tx, const std::vector<std::int64_t>& numbers) const;
    void note_pass(platform::Tx& tx, double seconds) const;

    struct Standing {
        std::int64_t executions = 0;
        std::int64_t events = 0;
        std::optional<domain::TimePoint> last_pass;
        double last_pass_seconds = 0;
    };
    Standing standing(platform::Tx& tx) const;
};

}
