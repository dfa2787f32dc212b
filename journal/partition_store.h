#pragma once
// The journal's partitions, by number (migration 38). Borrows a transaction. Stateless; any thread.

#include <cstdint>

#include "domain/time.h"
#include "platform/sql.h"

namespace impresario::journal {

/// How many numbers the next partition holds: as many as were taken in the last day, but no fewer than a million (a few
/// hundred megabytes), and so many that all that is kept lies in about 32 of them, however long it is kept. Pure.
std::int64_t partition_size(std::int64_t first, std::int64_t day_ago, std::int64_t latest);

class PartitionStore {
  public:
    /// partition_size as things stand.
    std::int64_t size(platform::Tx& tx, domain::TimePoint now) const;
    /// Makes partitions of so many numbers until `ahead` of them with an end lie beyond the latest number. Returns the
    /// number from which on it is to be called again. Waits for nobody: throws StatementRefused (later()) while
    /// somebody is at the journal.
    std::int64_t make(platform::Tx& tx, std::int64_t size, int ahead) const;
    /// Drops partitions without events whose numbers are settled, up to that number. Returns how many. Waits for
    /// nobody, as make.
    int drop(platform::Tx& tx, std::int64_t settled) const;
};

}
