#include "orchestrator/event_partitions.h"

#include <algorithm>

#include "journal/event_store.h"
#include "journal/partition_store.h"
#include "journal/stream_store.h"
#include "platform/log.h"

namespace impresario::orchestrator {

namespace log = platform::log;
using journal::EventStore;
using journal::PartitionStore;
using journal::StreamStore;
using platform::Task;
using platform::Tx;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {
/// Nobody waits for the journal: it is asked for again, at first soon, because the work at it comes and goes in
/// milliseconds.
constexpr milliseconds kFirstPause{20};
constexpr milliseconds kLongestPause{5000};
/// Then somebody is told: a copy of the database may take hours, and there are partitions ahead.
constexpr std::chrono::minutes kPatience{30};
constexpr std::string_view kTookTooLong = "57014";
constexpr std::chrono::hours kAfterTooLong{1};
}

EventPartitions::EventPartitions(Node& node, Hub& hub, EventPartitionsSettings settings)
    : LeaderLoop(node, hub, "the journal's partitions have to wait"), settings_(settings) {}

Task<steady_clock::duration> EventPartitions::turn() {
    try {
        co_await look();
        put_off_ = milliseconds{0};
        said_ = false;
    } catch (const platform::StatementRefused& refused) {
        put_off(refused.later() ? "somebody is at the journal" : "the database refuses", refused.what());
        // What took too long held everybody up, and would again.
        if (refused.sqlstate == kTookTooLong) put_off_ = kAfterTooLong;
    } catch (const std::exception& e) {
        put_off("the database is away", e.what());
    }
    co_return put_off_ > milliseconds{0} ? put_off_ : settings_.look_every;
}

void EventPartitions::put_off(const char* what, const std::string& error) {
    const auto now = steady_clock::now();
    if (put_off_ == milliseconds{0}) put_off_since_ = now;
    put_off_ = std::clamp(std::min(put_off_, kLongestPause) * 2, kFirstPause, kLongestPause);
    log::debug("the journal's partitions have to wait", {{"reason", what}, {"error", error}});
    if (now - put_off_since_ < kPatience || std::exchange(said_, true)) return;
    log::warn("the journal's partitions have had to wait for a long time",
              {{"reason", what}, {"error", error}, {"next", "events go on; it is tried again and again"}});
}

Task<void> EventPartitions::look() {
    if (hub_.epoch() != epoch_) {
        epoch_ = hub_.epoch();
        wanted_from_ = 0;
        horizon_ = {};
        drop_at_ = {};
    }
    auto looking = node_.database().read([](Tx& tx) { return StreamStore().latest(tx); });
    const auto latest = co_await std::move(looking);
    if (latest >= wanted_from_) co_await make();
    if (steady_clock::now() < drop_at_) co_return;
    co_await drop();
    drop_at_ = steady_clock::now() + settings_.drop_every;
}

Task<void> EventPartitions::make() {
    const auto now = node_.clock().now();
    auto measuring = node_.database().read([now](Tx& tx) { return PartitionStore().size(tx, now); });
    const auto size = co_await std::move(measuring);
    auto making = node_.database().transact([this, epoch = epoch_, size](Tx& tx) {
        SchedulerStore().fence(tx, epoch, node_.id());
        return PartitionStore().make(tx, size, settings_.ahead);
    });
    const auto next = co_await std::move(making);
    wanted_from_ = next;
}

/// What is to go was settled when this was last called.
Task<void> EventPartitions::drop() {
    auto looking = node_.database().read([](Tx& tx) { return StreamStore().oldest_transaction(tx); });
    const auto oldest = co_await std::move(looking);
    horizon_.ended(oldest);
    auto dropping = node_.database().transact([this, epoch = epoch_, settled = horizon_.settled()](Tx& tx) {
        // Looks first, which may take a while: with the fence it would hold back who follows the journal.
        const auto dropped = PartitionStore().drop(tx, settled);
        SchedulerStore().fence(tx, epoch, node_.id());
        return dropped;
    });
    const auto dropped = co_await std::move(dropping);
    if (dropped > 0) log::info("partitions of the journal went that had no event any more", {{"partitions", dropped}});
    auto marking = node_.database().read([](Tx& tx) { return EventStore().begin_feed(tx).mark; });
    const auto mark = co_await std::move(marking);
    horizon_.mark(mark);
}

}
