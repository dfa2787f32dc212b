// Of the hub: how long queues may grow. Who may join them, what leaves them without having run, and what the other
// nodes are told of their length.
#include "orchestrator/hub.h"

#include <algorithm>

#include "platform/log.h"
#include "priority_queue/queue_store.h"

namespace impresario::orchestrator {

using domain::Lane;
using domain::TimePoint;
using platform::Task;
using platform::Tx;
using resource_manager::QueueBounds;
using resource_manager::QueueLength;
using std::chrono::seconds;
using std::chrono::steady_clock;
namespace asio = platform::asio;
namespace log = platform::log;

namespace {
/// What stands for all lanes together.
const Lane kAll{};

QueueBounds bounds_of(const subworkflows::WorkflowType* type) {
    if (!type) return {};
    return {type->queue_soft_limit, type->queue_hard_limit};
}
bool any(const QueueBounds& bounds) { return bounds.soft || bounds.hard; }

std::int64_t points(priority_queue::Score score) { return score / priority_queue::kPoint; }
}

bool Hub::bounded() const {
    if (any(settings_.queue)) return true;
    const auto catalogue = node_.catalogue();
    return std::any_of(catalogue->types.begin(), catalogue->types.end(),
                       [](const auto& each) { return any(bounds_of(&each.second)); });
}

/// What is scheduled for later does not wait yet, and joins when it is due, whatever waits then.
Hub::Joined Hub::join_queue(const std::vector<priority_queue::NewExecution>& executions) {
    const auto catalogue = node_.catalogue();
    std::map<Lane, std::int64_t> more;
    for (const auto& each : executions) {
        if (!each.execution.ready) continue;
        if (any(bounds_of(catalogue->find(each.execution.lane)))) ++more[each.execution.lane];
        if (any(settings_.queue)) ++more[kAll];
    }
    Joined joined;
    for (const auto& [lane, count] : more) {
        auto length = !board_        ? queue_lengths_[lane]
                      : lane == kAll ? board_->queue_length()
                                     : board_->queue_length(lane);
        length.waiting += joining_[lane].waiting + joined_before_[lane].waiting;
        joined.full = full(lane == kAll ? settings_.queue : bounds_of(catalogue->find(lane)), length, count);
        if (!joined.full) continue;
        if (lane != kAll) joined.lane = lane;
        return joined;
    }
    for (const auto& [lane, count] : more) joining_[lane].waiting += count;
    // On a node that leads they are in its memory by then; on another one they count until the next but one reading.
    if (board_ && !more.empty())
        joined.counted = std::shared_ptr<void>(this, [more](void* hub) {
            auto& joining = static_cast<Hub*>(hub)->joining_;
            for (const auto& [lane, count] : more)
                joining[lane].waiting = std::max<std::int64_t>(0, joining[lane].waiting - count);
        });
    return joined;
}

/// Who has waited too long is taken out first; while a queue is too long after that, those with the lowest scores are.
Task<std::size_t> Hub::drop(TimePoint now) {
    std::vector<Command> commands;
    for (const auto& each : board_->overdue(settings_.queue_ttl, now, kMostSweep)) {
        const auto ttl = std::chrono::duration_cast<seconds>(each.ttl).count();
        commands.push_back(node_.command(
            each.execution,
            Dropped{"expired",
                    "waited longer than its queue lets it, " + std::to_string(ttl) + " s since it last became due",
                    {{"queue_ttl_seconds", ttl}},
                    now - each.ttl}));
    }
    if (!commands.empty()) {
        const auto count = commands.size();
        co_await run_commands(std::move(commands));
        node_.probe().dropped("expired", count);
        log::warn("executions waited too long and were cancelled", {{"executions", count}, {"reason", "expired"}});
        co_return count;
    }

    struct Over {
        std::vector<Lane> lanes;
        std::int64_t excess = 0;
        std::int64_t limit = 0;
        std::int64_t waiting = 0;
        std::string what;
    };
    std::vector<Over> over;
    const auto look = [&](std::int64_t limit, std::int64_t waiting, std::vector<Lane> lanes, std::string what) {
        if (waiting > limit)
            over.push_back({std::move(lanes), std::min<std::int64_t>(waiting - limit, kMostSweep), limit, waiting,
                            std::move(what)});
    };
    for (const auto& [lane, type] : board_->catalogue()->types)
        if (type.queue_hard_limit)
            look(*type.queue_hard_limit, board_->queue_length(lane).waiting, {lane},
                 "the queue of " + lane.workflow_type);
    if (over.empty() && settings_.queue.hard)
        look(*settings_.queue.hard, board_->queue_length().waiting, board_->lanes(), "the queue of the hub");
    if (over.empty()) co_return 0;

    auto asked_last = node_.database().read([over, now](Tx& tx) {
        std::vector<std::vector<priority_queue::QueueStore::LastByScore>> found(over.size());
        for (std::size_t i = 0; i < over.size(); ++i)
            for (const auto& lane : over[i].lanes) {
                auto some = priority_queue::QueueStore().last_by_score(tx, lane, static_cast<int>(over[i].excess), now);
                found[i].insert(found[i].end(), some.begin(), some.end());
            }
        return found;
    });
    auto last = co_await std::move(asked_last);
    if (!board_) co_return 0;
    for (std::size_t i = 0; i < over.size(); ++i) {
        const auto& each = over[i];
        auto& victims = last[i];
        std::sort(victims.begin(), victims.end(), [](const auto& a, const auto& b) {
            return std::tie(a.score, b.created_at, b.id) < std::tie(b.score, a.created_at, a.id);
        });
        if (victims.size() > static_cast<std::size_t>(each.excess))
            victims.resize(static_cast<std::size_t>(each.excess));
        for (const auto& victim : victims)
            commands.push_back(node_.command(
                victim.id, Dropped{"shed",
                                   each.what + " was longer than its hard bound, " + std::to_string(each.limit) +
                                       ", and this had the lowest score of what waited",
                                   {{"waiting", each.waiting}, {"limit", each.limit}, {"score", points(victim.score)}},
                                   std::nullopt}));
        log::warn("a queue was longer than its hard bound", {{"queue", each.what},
                                                             {"waiting", each.waiting},
                                                             {"limit", each.limit},
                                                             {"shed", victims.size()},
                                                             {"next", "impresario replay"}});
    }
    const auto count = commands.size();
    if (count == 0) co_return 0;
    co_await run_commands(std::move(commands));
    node_.probe().dropped("shed", count);
    co_return count;
}

/// For the next scheduler and for people; a pace that must hold is written with each start and end (lane_times.h).
void Hub::show_lane_times() {
    const auto now = steady_clock::now();
    // What has just come may not have started after all.
    if (now - lane_times_shown_at_ < kShowEvery || arriving_ > 0) return;
    lane_times_shown_at_ = now;
    std::vector<LaneTimes> changed;
    std::map<Lane, LaneTimes> known;
    for (auto& each : board_->lane_times()) {
        const auto shown = lane_times_shown_.find(each.lane);
        if (shown == lane_times_shown_.end() || shown->second != each) changed.push_back(each);
        known.emplace(each.lane, std::move(each));
    }
    lane_times_shown_ = std::move(known);
    if (changed.empty()) return;
    show_others([changed](Tx& tx) { LaneTimesStore().note(tx, changed); }, [this] { lane_times_shown_.clear(); });
}

void Hub::show_queue_lengths() {
    const auto now = steady_clock::now();
    if (now - lengths_shown_at_ < kShowEvery || !bounded()) return;
    lengths_shown_at_ = now;
    QueueLengths lengths;
    for (const auto& [lane, type] : board_->catalogue()->types)
        if (any(bounds_of(&type))) lengths[lane] = board_->queue_length(lane);
    if (any(settings_.queue)) lengths[kAll] = board_->queue_length();
    if (lengths == queue_lengths_) return;
    queue_lengths_ = lengths;
    show_others([lengths](Tx& tx) { SchedulerStore().write_queue_lengths(tx, lengths); },
                [this] { queue_lengths_.clear(); });
}

}
