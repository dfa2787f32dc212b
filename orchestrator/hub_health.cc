// Of the hub: it starts less at once while the database or its own memory is short; and pauses that end by themselves.
#include "orchestrator/hub.h"

#include "orchestrator/lane_events.h"
#include "platform/json_writer.h"
#include "platform/log.h"
#include "platform/memory.h"

namespace impresario::orchestrator {

using domain::Duration;
using domain::TimePoint;
using platform::Task;
using platform::Tx;
using std::chrono::steady_clock;
namespace asio = platform::asio;
namespace log = platform::log;

int Hub::batch_limit() const {
    return std::max(1,
                    std::min(lead_ ? database_throttle_.batch() : settings_.max_batch_size, memory_throttle_.batch()));
}

/// One look a second through the same pool as everything else: what it waits for, a turn waits for as well.
Task<void> Hub::watch_health() {
    while (!stopping_) {
        co_await health_pause_.wait(settings_.health_every);
        if (stopping_) break;
        if (settings_.pressure.memory_mb > 0) read_memory();
        if (!lead_) continue;
        const auto began = steady_clock::now();
        resource_manager::DatabaseReading reading;
        try {
            auto asked = node_.database().read([](Tx& tx) { return SchedulerStore().database_health(tx); });
            reading = co_await std::move(asked);
        } catch (const std::exception&) {
            // It is away, or its pool is: how long that took to find out is the answer.
        }
        if (!lead_ || !board_) continue;
        reading.wait = std::chrono::duration_cast<Duration>(steady_clock::now() - began);
        reading.write = std::exchange(slowest_write_, Duration{0});
        node_.probe().show_database_look(reading);
        const auto now = resource_manager::pressure(reading, settings_.pressure);
        const bool was_closed = database_throttle_.closed();
        const bool was_whole = database_throttle_.whole();
        if (!database_throttle_.read(now)) continue;
        if (database_throttle_.closed() != was_closed) {
            board_->set_database_gate(database_throttle_.closed() ? std::optional(database_throttle_.gate())
                                                                  : std::nullopt);
            wake();
        }
        if (was_whole || database_throttle_.whole() || database_throttle_.closed() != was_closed)
            tell_health("database", database_throttle_, now);
    }
}

void Hub::read_memory() {
    const auto now = resource_manager::memory_pressure(platform::resident_mb(), settings_.pressure);
    const bool was_whole = memory_throttle_.whole();
    const bool changed = memory_throttle_.read(now);
    // What waits deeper in a queue is in its table and is read again when it is needed.
    if (now.load >= 1 && board_) board_->hold_less(true);
    // What is freed below the limit, too: kept, it would hold batches small for ever.
    if (now.load >= 1 || !memory_throttle_.whole()) platform::give_back_memory();
    if (!changed || (!was_whole && !memory_throttle_.whole())) return;
    if (memory_throttle_.whole() && board_) board_->hold_less(false);
    tell_health("memory", memory_throttle_, now);
}

void Hub::tell_health(const char* of, const resource_manager::Throttle& throttle,
                      const resource_manager::Pressure& reading) {
    platform::JsonWriter json;
    json.open();
    json.field("of", of).field("batch", throttle.batch()).field("max_batch_size", settings_.max_batch_size);
    if (!reading.what.empty())
        json.field("reading", reading.what).field("value", reading.value).field("limit", reading.limit);
    json.close();
    const bool eased = throttle.whole();
    log::warn(eased               ? "the pressure has eased"
              : throttle.closed() ? "nothing starts under pressure"
                                  : "less starts at once under pressure",
              {{"of", of},
               {"batch", throttle.batch()},
               {"reading", reading.what},
               {"value", reading.value},
               {"limit", reading.limit}});
    node_.record_event(eased ? domain::event::node_eased : domain::event::node_pressed, std::move(json).text());
}

/// Beside the turns: a pause whose condition holds is taken back as if by hand.
void Hub::lift_pauses(TimePoint now) {
    if (lifting_) return;
    auto met = board_->met_pauses(now);
    if (met.empty()) return;
    lifting_ = true;
    asio::co_spawn(node_.executor(), lift_pauses_now(std::move(met), *lead_), asio::detached);
}

Task<void> Hub::lift_pauses_now(std::vector<subworkflows::PauseRecord> met, std::int64_t epoch) {
    try {
        auto lifting = node_.database().transact([this, &met, epoch, catalogue = node_.catalogue()](Tx& tx) {
            SchedulerStore().fence(tx, epoch, node_.id());
            for (auto pause : met) {
                if (!node_.catalogue_store().resume(tx, pause, pause.since)) continue;
                pause.by = "hub";
                pause.reason = pause.condition;
                tell_lanes(tx, node_.catalogue_store(), *catalogue, pause, node_.id(), domain::event::lane_resumed);
            }
        });
        co_await std::move(lifting);
        co_await node_.refresh_catalogue();
    } catch (const std::exception& e) {
        log::debug("a pause whose condition holds could not be taken back", {{"error", e.what()}});
    }
    lifting_ = false;
    wake();
}

}
