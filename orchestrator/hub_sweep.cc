// Of the hub: what has happened without anybody asking. Deadlines, due times, lost nodes, what other writers did.
#include "orchestrator/hub.h"

#include "journal/event_store.h"
#include "journal/metric_store.h"
#include "orchestrator/gate_store.h"
#include "orchestrator/provider_news.h"
#include "platform/json_text.h"
#include "platform/log.h"
#include "priority_queue/queue_store.h"

namespace impresario::orchestrator {

using domain::Duration;
using domain::ExecutionId;
using domain::TimePoint;
using platform::Task;
using platform::Tx;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
namespace log = platform::log;

namespace {
/// More than this from other writers between two readings of the feed: rebuilding is cheaper.
constexpr int kMostFeed = 20000;
/// How often it is looked at which numbers the feed has left behind: that matters from partition to partition.
constexpr seconds kMarkFeedEvery{60};
/// How long a row is left alone that did not change as it should have, and one that cannot be written at all.
constexpr Duration kUnchangedPause = milliseconds{20};
constexpr Duration kFaultyPause = std::chrono::minutes{1};
/// How long a status URL may take to answer before the deadline counts after all.
constexpr Duration kStatusPatience = seconds{30};
constexpr std::size_t kMostStatusAsked = 10'000;
}

void Hub::settle_later(const ExecutionId& parent, TimePoint at) { unsettled_.try_emplace(parent, at); }

/// What the commands bring is observed; what brings nothing, because somebody holds the row or it is not as memory
/// believes, is put off instead of being asked again and again. A row that cannot be written fails alone.
Task<void> Hub::run_commands(std::vector<Command> commands) {
    const auto operation = node_.operations().begin();
    struct About {
        ExecutionId execution;
        bool family = false;
    };
    std::vector<About> about;
    for (const auto& command : commands)
        about.push_back({command.execution, std::holds_alternative<ChildrenEnded>(command.happening)});
    platform::Flush<Command, Reply> flush = [this, epoch = *lead_](Tx& tx, const std::vector<Command>& some) {
        SchedulerStore().fence(tx, epoch, node_.id());
        return node_.applier().apply(tx, some);
    };
    auto asked_written = platform::write_each<Command, Reply>(
        node_.database(), std::move(flush), std::make_shared<const std::vector<Command>>(std::move(commands)));
    const auto written = co_await std::move(asked_written);
    if (!board_) co_return;
    const auto now = node_.clock().now();
    std::vector<const Reply*> replies;
    std::exception_ptr failure;
    for (std::size_t i = 0; i < written.size(); ++i) {
        if (const auto* reply = std::get_if<Reply>(&written[i])) {
            // What became of a family is in the lists of the reply.
            if (!reply->after && !about[i].family)
                board_->put_off(about[i].execution, now + (reply->held ? kHeldPause : kUnchangedPause));
            replies.push_back(reply);
            continue;
        }
        const bool faulty = put_off_faulty(about[i].execution, std::get<std::exception_ptr>(written[i]), now);
        if (!faulty) failure = std::get<std::exception_ptr>(written[i]);
        if (about[i].family) settle_later(about[i].execution, now + (faulty ? kFaultyPause : kSettlePause));
    }
    node_.committed(replies);
    if (failure) std::rethrow_exception(failure);
}

/// True where the row itself was to blame.
bool Hub::put_off_faulty(const ExecutionId& id, const std::exception_ptr& failure, TimePoint now) {
    try {
        std::rethrow_exception(failure);
    } catch (const platform::StatementRefused& refused) {
        if (!refused.data()) return false;
        log::error(
            "an execution cannot be written",
            {{"execution_id", id}, {"error", refused.what()}, {"next", "it is left out for a minute; see its row"}});
        board_->put_off(id, now + kFaultyPause);
        return true;
    } catch (...) {
        return false;
    }
}

/// What other writers did (protocol R13): their events name rows, the rows are the truth.
namespace {
/// What it says while it runs changes nothing about it.
bool changes_execution(const journal::FeedEvent& event) {
    return event.kind == "execution" && event.type != domain::event::output && event.type != domain::event::log;
}
}

Task<void> Hub::read_feed() {
    feed_hinted_ = false;
    feed_read_at_ = steady_clock::now();
    const auto operation = node_.operations().begin();
    struct Read {
        journal::Feed feed;
        std::vector<priority_queue::LockedExecution> rows;
        journal::Mark mark;
    };
    const bool marks = feed_read_at_ - feed_marked_at_ > kMarkFeedEvery;
    auto asked_read = node_.database().transact([position = feed_position_, begun = feed_begun_, id = node_.id(),
                                                 settled = feed_horizon_.settled(), marks](Tx& tx) {
        Read result;
        result.feed = journal::EventStore().feed(tx, position, begun, id, kMostFeed, settled);
        if (marks) result.mark = journal::EventStore().begin_feed(tx).mark;
        if (result.feed.overflow) return result;
        std::set<ExecutionId> ids;
        for (const auto& event : result.feed.events)
            if (changes_execution(event)) ids.insert(ExecutionId{event.stream});
        if (!ids.empty()) result.rows = priority_queue::QueueStore().read(tx, {ids.begin(), ids.end()});
        return result;
    });
    const auto read = co_await std::move(asked_read);
    if (!board_) co_return;
    if (read.feed.overflow) {
        log::info("too far behind other writers, reading the tables again");
        rebuild();
        co_return;
    }
    feed_position_ = read.feed.position;
    if (marks) feed_marked_at_ = feed_read_at_;
    feed_horizon_.mark(read.mark);
    feed_horizon_.ended(journal::oldest_in(feed_position_));
    for (const auto& event : read.feed.events) {
        if (!changes_execution(event)) continue;
        if (const auto news = endpoint_news_in(event.payload)) board_->endpoint_news(*news, node_.clock().now());
        for (const auto& news = provider_news_in(event.payload); const auto& each : news)
            board_->provider_news(each, node_.clock().now());
    }
    node_.probe().feed_events(read.feed.events.size());
    // SQL may have closed attempts among them.
    if (!read.feed.events.empty()) inbox_hinted_ = true;
    std::map<ExecutionId, resource_manager::Consumption> consumed;
    for (const auto& event : read.feed.events) {
        if (!tells_consumption(event.type)) continue;
        if (const auto used = consumption_in(event.payload))
            consumed.insert_or_assign(ExecutionId{event.stream}, *used);
    }
    std::vector<Command> parents;
    for (const auto& row : read.rows) {
        if (const auto used = consumed.find(row.execution.id); used != consumed.end())
            board_->learn(row.execution, used->second);
        board_->observe(row.execution);
        // An end that SQL wrote has not settled its parent, nor its children.
        if (!domain::terminal(row.execution.status)) continue;
        if (row.execution.parent) parents.push_back(node_.command(*row.execution.parent, ChildrenEnded{}));
        if (row.execution.open_children > 0) parents.push_back(node_.command(row.execution.id, ChildrenEnded{}));
    }
    if (!parents.empty()) co_await run_commands(std::move(parents));
}

/// Rows that were put off.
Task<void> Hub::recheck(std::vector<ExecutionId> ids) {
    const auto operation = node_.operations().begin();
    auto asked_rows = node_.database().read([ids](Tx& tx) { return priority_queue::QueueStore().read(tx, ids); });
    const auto rows = co_await std::move(asked_rows);
    if (!board_) co_return;
    std::set<ExecutionId> missing(ids.begin(), ids.end());
    for (const auto& row : rows) {
        missing.erase(row.execution.id);
        board_->observe(row.execution);
    }
    for (const auto& id : missing) board_->forget(id);
}

Task<std::size_t> Hub::sweep(TimePoint now) {
    std::vector<Command> commands;
    std::size_t failures = 0;

    auto back = board_->put_off_until(now);
    auto doubted = std::exchange(doubted_, {});
    back.insert(back.end(), doubted.begin(), doubted.end());
    if (!back.empty()) {
        try {
            co_await recheck(std::move(back));
        } catch (...) {
            doubted_.merge(doubted);
            throw;
        }
        if (!board_) co_return 0;
    }
    if (board_->next_due() && *board_->next_due() <= now) {
        board_->begin_due_reading();
        const auto put_off = board_->put_off();
        auto asked_due = node_.database().read([now, put_off](Tx& tx) {
            const priority_queue::QueueStore queue;
            return std::pair(queue.due(tx, now, static_cast<int>(kMostSweep), put_off), queue.next_due(tx, put_off));
        });
        const auto due = co_await std::move(asked_due);
        if (!board_) co_return 0;
        for (const auto& id : due.first) commands.push_back(node_.command(id, BecameDue{}));
        board_->end_due_reading(due.first.empty() ? due.second : std::optional(now));
    }
    for (auto at = unsettled_.begin(); at != unsettled_.end();) {
        if (at->second > now) {
            ++at;
            continue;
        }
        commands.push_back(node_.command(at->first, ChildrenEnded{}));
        at = unsettled_.erase(at);
    }
    // Whether there was an outage is known once the lead has been renewed; until then nobody runs out of time.
    const bool out_of_contact = lost_contact();
    if (out_of_contact) renewal_.signal();
    // Of those that have ended meanwhile nobody tells here.
    if (status_asked_.size() > kMostStatusAsked) status_asked_.clear();
    std::vector<Board::Passed> over;
    if (!out_of_contact) over = board_->passed_deadlines(now, kMostSweep);
    for (const auto& passed : over) {
        // Nobody knows whether it began, or whether it still runs: where somebody can be asked, ask before trying anew.
        const bool worth_asking =
            passed.state == domain::AttemptState::unknown || passed.state == domain::AttemptState::accepted;
        const auto asked = status_asked_.find(passed.attempt);
        const bool answered = asked != status_asked_.end() && asked->second == passed.timeout_at;
        if (worth_asking && !answered &&
            node_.ask_status(passed.execution, passed.attempt, passed.lane, passed.endpoint)) {
            status_asked_[passed.attempt] = passed.timeout_at;
            board_->put_off_deadline(passed.execution, now + kStatusPatience);
            continue;
        }
        if (asked != status_asked_.end()) status_asked_.erase(asked);
        commands.push_back(node_.command(passed.execution, DeadlinePassed{passed.attempt}));
        ++failures;
    }
    if (steady_clock::now() - alive_read_at_ > milliseconds{1000}) {
        auto asked_alive = node_.database().read([](Tx& tx) { return SchedulerStore().alive(tx); });
        const auto seen = co_await std::move(asked_alive);
        see_alive(seen);
        if (!board_) co_return 0;
        if (!lost_contact() && (!outage_ || now >= outage_->no_takeover_before(node_.settings().lease))) {
            std::set<domain::NodeId> alive;
            for (const auto& [id, takes] : alive_) alive.insert(id);
            for (const auto& lapsed : board_->lapsed(alive, now, settings_.grant_patience)) {
                const auto* type = board_->catalogue()->find(lapsed.lane);
                // With nothing under way it would be the first to be given the same again.
                silent_[lapsed.node] = now;
                commands.push_back(node_.command(
                    lapsed.execution,
                    LeaseLost{lapsed.attempt, lapsed.fence, type && type->repeats_safely(lapsed.endpoint)}));
                ++failures;
            }
        }
    }
    if (commands.empty()) co_return 0;
    if (failures > 0)
        move(HubState::error_recovery, now, std::to_string(failures) + " attempts ran out of time or lost their node");
    const auto count = commands.size();
    co_await run_commands(std::move(commands));
    if (failures > 0 && board_)
        move(HubState::monitoring, now, "decided about " + std::to_string(failures) + " failures");
    co_return count;
}

/// What memory should hold, by the table's own order: the net under everything else.
Task<void> Hub::safety_scan(TimePoint now) {
    scanned_at_ = steady_clock::now();
    inbox_hinted_ = true;
    std::size_t missed = 0;
    const auto catalogue = node_.catalogue();
    for (const auto& [lane, type] : catalogue->types) {
        const auto operation = node_.operations().begin();
        const auto of = lane;
        auto asked_rows = node_.database().read([of, now](Tx& tx) {
            const priority_queue::QueueStore queue;
            return queue.read(tx, queue.first_by_table(tx, of, 100, now));
        });
        const auto rows = co_await std::move(asked_rows);
        if (!board_) co_return;
        for (const auto& row : rows) {
            const auto* order = board_->order(of);
            if (!row.execution.ready || (order && order->contains(row.execution.id))) continue;
            board_->observe(row.execution);
            order = board_->order(of);
            if (order && order->contains(row.execution.id)) ++missed;
        }
    }
    board_->begin_due_reading();
    const auto put_off = board_->put_off();
    auto asked_due =
        node_.database().read([put_off](Tx& tx) { return priority_queue::QueueStore().next_due(tx, put_off); });
    const auto due = co_await std::move(asked_due);
    if (!board_) co_return;
    board_->end_due_reading(due);
    // One transaction: the turn waits for it.
    auto forgetting = node_.database().transact([id = node_.id()](Tx& tx) {
        SchedulerStore().forget_nodes(tx);
        GateStore().forget(tx);
        journal::MetricStore().forget(tx);
        resource_manager::ProviderStore().forget_permits(tx);
        Intake(id).forget_old_keys(tx);
    });
    co_await std::move(forgetting);
    if (missed > 0) log::warn("the safety scan found work that no wake-up had told of", {{"executions", missed}});
}

}
