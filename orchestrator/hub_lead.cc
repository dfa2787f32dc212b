// Of the hub: how it comes to lead, what it then knows, and how it stays in touch.
#include "orchestrator/hub.h"

#include <limits>

#include "journal/event_store.h"
#include "orchestrator/gate_store.h"
#include "platform/log.h"
#include "priority_queue/queue_store.h"
#include "resource_manager/estimate_store.h"
#include "resource_manager/weather_store.h"

namespace impresario::orchestrator {

using domain::TimePoint;
using platform::Task;
using platform::Tx;
using std::chrono::steady_clock;
namespace log = platform::log;

void Hub::step_down(const char* why) {
    rebuild_ = false;
    if (!lead_) return;
    log::info("no longer scheduler", {{"epoch", *lead_}, {"reason", why}});
    lead_.reset();
    loaded_ = false;
    board_.reset();
    gates_.clear();
    changed_endpoints_.clear();
    changed_weather_.clear();
    recorded_weather_.clear();
    unsettled_.clear();
    status_asked_.clear();
    doubted_.clear();
    silent_.clear();
    standings_shown_.clear();
    lane_times_shown_.clear();
}

Task<bool> Hub::try_lead() {
    if (node_.draining()) co_return false;
    const auto id = node_.id();
    const int pid = node_.backend_pid();
    const auto lease = node_.settings().lease;
    auto asked_look = node_.database().read([bounded = bounded()](Tx& tx) {
        const SchedulerStore scheduler;
        return std::pair(scheduler.look(tx), bounded ? scheduler.queue_lengths(tx) : QueueLengths{});
    });
    auto [row, lengths] = co_await std::move(asked_look);
    queue_lengths_ = std::move(lengths);
    joined_before_ = std::exchange(joining_, {});
    const bool gone =
        row.node && leader_presence_.gone(*row.node, row.session, row.session_missing, steady_clock::now());
    const int missed = gone ? row.session : 0;
    if (!row.to_be_had(id, missed)) co_return false;
    // Committed before anything is loaded: the load is a new snapshot (protocol R2).
    auto asked_lead =
        node_.database().transact([=](Tx& tx) { return SchedulerStore().take_lead(tx, id, pid, lease, missed); });
    const auto lead = co_await std::move(asked_lead);
    if (!lead) co_return false;
    lead_ = lead->epoch;
    database_throttle_ = resource_manager::Throttle(settings_.max_batch_size, true);
    slowest_write_ = {};
    joining_.clear();
    joined_before_.clear();
    queue_lengths_.clear();
    outage_ = lead->outage;
    renewed_at_ = steady_clock::now();
    const auto operation = node_.operations().begin();
    board_ = std::make_unique<Board>(
        node_.operations(), [this] { return node_.clock().now(); }, settings_.breaker);
    doubted_until_ = std::numeric_limits<std::uint64_t>::max();
    board_->set_memory_total(settings_.memory_total_mb);
    if (!memory_throttle_.whole()) board_->hold_less(true);
    board_->set_outage(outage_);
    board_->set_unknown_cost(settings_.unknown_cost);
    machine_ = StateMachine(lead->now);
    shown_moves_ = -1;
    co_await load();
    loaded_ = true;
    node_.record_event(domain::event::node_leads, "{\"epoch\":" + std::to_string(*lead_) + "}");
    log::info("scheduler", {{"epoch", *lead_}, {"waiting", board_->waiting()}, {"live", board_->live()}});
    co_return true;
}

/// Memory from the tables. What commits meanwhile is observed as it comes; older readings change nothing.
Task<void> Hub::load() {
    struct Loaded {
        journal::FeedStart feed;
        std::vector<priority_queue::LevelCount> levels;
        std::vector<priority_queue::LockedExecution> rows;
        std::vector<priority_queue::LockedExecution> gated;
        std::optional<TimePoint> next_due;
        std::vector<RecordedGate> gates;
        std::vector<NodeSeen> alive;
        std::vector<resource_manager::LoadedPermit> permits;
        std::map<domain::Lane, resource_manager::TypeEstimates> estimates;
        resource_manager::WeatherRecords weather;
        std::vector<LaneTimes> times;
    };
    co_await node_.refresh_catalogue();
    board_->set_catalogue(node_.catalogue());
    board_->set_fairness(node_.fairness());
    board_->begin_due_reading();
    auto asked_loaded = node_.database().transact([](Tx& tx) {
        // The feed begins before what is loaded: a little is read twice, nothing is missed.
        Loaded all;
        all.feed = journal::EventStore().begin_feed(tx);
        const priority_queue::QueueStore queue;
        all.levels = queue.count_levels(tx);
        all.rows = queue.load_unsettled(tx);
        all.gated = queue.load_gated(tx);
        all.next_due = queue.next_due(tx, {});
        all.gates = GateStore().closed(tx);
        all.alive = SchedulerStore().alive(tx);
        all.permits = resource_manager::ProviderStore().permits(tx);
        all.estimates = resource_manager::EstimateStore().load(tx);
        all.weather = resource_manager::WeatherStore().load(tx);
        all.times = LaneTimesStore().load(tx);
        return all;
    });
    const auto loaded = co_await std::move(asked_loaded);
    if (!board_) throw platform::DatabaseUnavailable("stepped down while loading");
    feed_position_ = loaded.feed.position;
    feed_begun_ = loaded.feed.begun;
    feed_horizon_ = {};
    feed_horizon_.mark(loaded.feed.mark);
    feed_marked_at_ = steady_clock::now();
    feed_hinted_ = true;
    doubted_until_ = node_.operations().now();
    inbox_hinted_ = true;
    board_->set_estimates(loaded.estimates);
    board_->set_lane_times(loaded.times);
    for (const auto& row : loaded.rows) board_->observe(row.execution);
    for (const auto& row : loaded.gated) board_->observe(row.execution);
    board_->set_providers(*node_.providers(), loaded.permits, loaded.weather);
    recorded_weather_ = loaded.weather;
    known_providers_ = node_.providers();
    for (const auto& level : loaded.levels) board_->expect(level);
    board_->end_due_reading(loaded.next_due);
    gates_.load(loaded.gates);
    see_alive(loaded.alive);
    co_await refill_levels();
    // Partial results whose last child ended while nobody led.
    std::vector<Command> commands;
    for (const auto& parent : board_->parents_to_check()) commands.push_back(node_.command(parent, ChildrenEnded{}));
    if (!commands.empty()) co_await run_commands(std::move(commands));
    scanned_at_ = steady_clock::now();
}

/// Limits that changed are counted anew, from the tables. An arrival whose commit is under way is in memory only.
Task<void> Hub::refresh_providers() {
    if (known_providers_ == node_.providers() || arriving_ > 0) co_return;
    const auto providers = node_.providers();
    auto asked_permits =
        node_.database().transact([](Tx& tx) { return resource_manager::ProviderStore().permits(tx); });
    const auto permits = co_await std::move(asked_permits);
    if (!board_) throw platform::DatabaseUnavailable("stepped down while loading");
    board_->set_providers(*providers, permits);
    known_providers_ = providers;
}

Task<void> Hub::refill_levels() {
    for (;;) {
        auto wanted = board_->wanted_refills();
        if (wanted.empty()) co_return;
        std::exception_ptr failure;
        for (auto& [lane, refill] : wanted) {
            const auto operation = node_.operations().begin();
            const auto of = lane;
            const auto asked = refill;
            std::optional<std::vector<priority_queue::Entry>> rows;
            try {
                if (!failure) {
                    auto asked_rows = node_.database().read(
                        [of, asked](Tx& tx) { return priority_queue::QueueStore().load_level(tx, of, asked); });
                    rows = co_await std::move(asked_rows);
                }
            } catch (const std::exception&) {
                failure = std::current_exception();
            }
            if (!board_) throw platform::DatabaseUnavailable("stepped down while loading");
            // Also where nothing could be read: then the level asks again.
            board_->refill(of, asked, rows);
        }
        if (failure) std::rethrow_exception(failure);
    }
}

Task<void> Hub::keep_lead() {
    while (!stopping_) {
        co_await renewal_.wait(node_.settings().heartbeat);
        if (!lead_ || stopping_) continue;
        const auto epoch = *lead_;
        const int pid = node_.backend_pid();
        std::optional<Lead> kept;
        try {
            auto asked_kept =
                node_.database().transact([epoch, id = node_.id(), pid, lease = node_.settings().lease](Tx& tx) {
                    return SchedulerStore().renew(tx, epoch, id, pid, lease);
                });
            kept = co_await std::move(asked_kept);
        } catch (const std::exception&) {
            // Trying again before the lease ends; if it does, the fence decides.
            continue;
        }
        if (lead_ != epoch) continue;
        if (!kept) {
            rebuild();
            continue;
        }
        outage_ = kept->outage;
        renewed_at_ = steady_clock::now();
        if (board_) board_->set_outage(outage_);
    }
}

/// A node that seems to have gone is given nothing, though it is believed to be there until that is certain.
void Hub::see_alive(const std::vector<NodeSeen>& nodes) {
    alive_.clear();
    const auto now = steady_clock::now();
    for (const auto& each : nodes) {
        if (presence_.gone(each.node, each.session, each.session_missing, now)) continue;
        alive_[each.node] = each.takes_work && !each.session_missing;
        const auto silent = silent_.find(each.node);
        if (silent != silent_.end() && each.heartbeat_at > silent->second) silent_.erase(silent);
    }
    alive_[node_.id()] = !node_.draining();
    std::erase_if(silent_, [&](const auto& each) { return !alive_.contains(each.first); });
    alive_read_at_ = now;
}

}
