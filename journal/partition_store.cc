#include "journal/partition_store.h"

#include <algorithm>

#include "journal/outbox_store.h"
#include "journal/stream_store.h"
#include "journal_sql.h"

namespace impresario::journal {

using platform::Params;
using platform::RowReader;
using platform::Tx;

namespace {
constexpr std::int64_t kSmallest = 1'000'000;
/// A read of one stream may open them all.
constexpr std::int64_t kAboutSoMany = 32;
}

std::int64_t partition_size(std::int64_t first, std::int64_t day_ago, std::int64_t latest) {
    return std::max({kSmallest, latest - day_ago, (latest - first) / kAboutSoMany});
}

std::int64_t PartitionStore::size(Tx& tx, domain::TimePoint now) const {
    const StreamStore streams;
    const auto latest = streams.latest(tx);
    return partition_size(streams.first(tx).value_or(latest),
                          OutboxStore().number_before(tx, now - std::chrono::hours{24}), latest);
}

std::int64_t PartitionStore::make(Tx& tx, std::int64_t size, int ahead) const {
    // Of a partition that has filled, every row is read.
    tx.exec(sql::allow_ten_seconds);
    const auto rows = tx.exec(sql::make_event_partitions, Params().add(size).add(ahead));
    return RowReader(rows, 0).integer();
}

int PartitionStore::drop(Tx& tx, std::int64_t settled) const {
    tx.exec(sql::allow_ten_seconds);
    const auto rows = tx.exec(sql::drop_event_partitions, Params().add(settled));
    return RowReader(rows, 0).small();
}

}
