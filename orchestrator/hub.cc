#include "orchestrator/hub.h"

#include "journal/event_store.h"
#include "journal/metric_store.h"
#include "orchestrator/lane_events.h"
#include "platform/gate_json.h"
#include "platform/json_text.h"
#include "platform/json_writer.h"
#include "platform/log.h"
#include "priority_queue/queue_store.h"

namespace impresario::orchestrator {

using domain::Duration;
using domain::Execution;
using domain::ExecutionId;
using domain::TimePoint;
using platform::Task;
using platform::Tx;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
namespace asio = platform::asio;
namespace log = platform::log;

namespace {
/// More than this from other writers between two readings of the feed: rebuilding is cheaper.
constexpr int kMostFeed = 20000;
constexpr std::size_t kMostSweep = 500;
constexpr std::size_t kMostGateNotes = 100;
/// How often orchestrator_metrics gets a new line of each kind.
constexpr auto kMetricsEvery = std::chrono::minutes{1};
/// How long a row is left alone: that another transaction holds; that did not change as it should have; that cannot be
/// written at all.
constexpr Duration kHeldPause = seconds{1};
constexpr Duration kUnchangedPause = milliseconds{20};
constexpr Duration kFaultyPause = std::chrono::minutes{1};
/// Parents that could not be settled, and lane records that could not be written, are tried again after this.
constexpr Duration kSettlePause = seconds{1};
/// Between two looks at deadlines that may not be acted on.
constexpr auto kLostContactPause = milliseconds{50};
/// How long a status URL may take to answer before the deadline counts after all.
constexpr Duration kStatusPatience = seconds{30};
}

Hub::Hub(Node& node, HubSettings settings)
    : node_(node),
      settings_(settings),
      wakeup_(node.executor()),
      renewal_(node.executor()),
      machine_(node.clock().now()) {
    node_.on_row = [this](const Execution& row) {
        if (!board_) return;
        board_->observe(row);
        wake();
    };
    node_.on_endpoint_news = [this](const EndpointNews& news) {
        if (!board_) return;
        board_->endpoint_news(news, node_.clock().now());
        wake();
    };
    node_.on_catalogue = [this] {
        if (!board_) return;
        board_->set_catalogue(node_.catalogue());
        wake();
    };
    node_.on_in_doubt = [this] { rebuild(); };
    node_.on_unsettled = [this](const std::vector<ExecutionId>& parents) {
        if (!board_) return;
        settle_later(parents);
    };
    node_.leads = [this] { return leads(); };
}

void Hub::hint(const std::string& payload) {
    if (payload == "grants") node_.grants_hint();
    if (payload == "catalogue") node_.catalogue_hint();
    if (payload.empty()) {
        // A new listening session: others must not miss the old one for long.
        node_.heartbeat_hint();
        renewal_.signal();
    }
    feed_hinted_ = true;
    wake();
}

void Hub::settle_later(const std::vector<ExecutionId>& parents) {
    if (unsettled_.empty()) settle_at_ = node_.clock().now() + kSettlePause;
    unsettled_.insert(parents.begin(), parents.end());
}

Task<void> Hub::run() {
    running_ = true;
    asio::co_spawn(node_.executor(), keep_lead(), asio::detached);
    while (!stopping_) {
        bool busy = false;
        bool trouble = false;
        try {
            if (rebuild_) step_down("what is in doubt is read again from the tables");
            if (!lead_) {
                const bool led = co_await try_lead();
                if (!led) {
                    co_await wakeup_.wait(seconds{1});
                    continue;
                }
            }
            in_turn_ = true;
            busy = co_await turn();
            in_turn_ = false;
        } catch (const Fenced&) {
            node_.probe().fenced();
            step_down("another node leads");
        } catch (const platform::DatabaseUnavailable&) {
            trouble = true;
            step_down("the database is away");
        } catch (const platform::DatabaseInDoubt&) {
            trouble = true;
            node_.doubt_grants();
            step_down("a commit is in doubt");
        } catch (const platform::StatementRefused& refused) {
            trouble = true;
            if (refused.later() && board_ && in_turn_) {
                // Nothing was written and nothing observed: memory is as true as before.
                log::warn("a turn has to wait",
                          {{"error", refused.what()}, {"next", "trying again; pg_locks shows who holds what"}});
            } else {
                log::error("a turn failed", {{"error", refused.what()}, {"next", "starting again from the tables"}});
                step_down("a turn failed");
            }
        } catch (const std::exception& e) {
            trouble = true;
            log::error("a turn failed", {{"error", e.what()}, {"next", "starting again from the tables"}});
            step_down("a turn failed");
        }
        in_turn_ = false;
        if (trouble) {
            co_await platform::pause_for(milliseconds{500});
            continue;
        }
        if (busy || !lead_) continue;
        co_await wakeup_.wait(idle_for(node_.clock().now()));
    }
    running_ = false;
}

Task<void> Hub::stop() {
    stopping_ = true;
    wake();
    renewal_.signal();
    while (running_ || recording_) co_await platform::pause_for(milliseconds{5});
    if (!lead_) co_return;
    const auto epoch = *lead_;
    step_down("stopping");
    try {
        auto resigning =
            node_.database().transact([epoch, id = node_.id()](Tx& tx) { SchedulerStore().resign(tx, epoch, id); });
        co_await std::move(resigning);
        node_.notify_others("scheduler");
    } catch (const std::exception&) {
        // The lease runs out by itself.
    }
}

void Hub::step_down(const char* why) {
    rebuild_ = false;
    if (!lead_) return;
    log::info("no longer scheduler", {{"epoch", *lead_}, {"why", why}});
    lead_.reset();
    board_.reset();
    recorded_gates_.clear();
    pending_gates_.clear();
    held_endpoints_.clear();
    unsettled_.clear();
    status_asked_.clear();
}

Task<bool> Hub::try_lead() {
    if (node_.draining()) co_return false;
    const auto id = node_.id();
    const int pid = node_.backend_pid();
    const auto lease = node_.settings().lease;
    auto asked_row = node_.database().read([](Tx& tx) { return SchedulerStore().look(tx); });
    const auto row = co_await std::move(asked_row);
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
    outage_ = lead->outage;
    renewed_at_ = steady_clock::now();
    const auto operation = node_.operations().begin();
    board_ = std::make_unique<Board>(node_.operations());
    board_->set_outage(outage_);
    machine_ = StateMachine(lead->now);
    shown_moves_ = -1;
    co_await load();
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
    };
    co_await node_.refresh_catalogue();
    board_->set_catalogue(node_.catalogue());
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
        all.gates = SchedulerStore().lane_gates(tx);
        all.alive = SchedulerStore().alive(tx);
        return all;
    });
    const auto loaded = co_await std::move(asked_loaded);
    if (!board_) throw platform::DatabaseUnavailable("stepped down while loading");
    feed_position_ = loaded.feed.position;
    feed_begun_ = loaded.feed.begun;
    feed_hinted_ = true;
    for (const auto& row : loaded.rows) board_->observe(row.execution);
    for (const auto& row : loaded.gated) board_->observe(row.execution);
    for (const auto& level : loaded.levels) board_->expect(level);
    board_->end_due_reading(loaded.next_due);
    for (const auto& gate : loaded.gates) recorded_gates_[gate.lane] = gate;
    see_alive(loaded.alive);
    co_await refill_levels();
    // Partial results whose last child ended while nobody led.
    std::vector<Command> commands;
    for (const auto& parent : board_->parents_to_check()) commands.push_back(node_.command(parent, ChildrenEnded{}));
    add_never_sent(commands);
    if (!commands.empty()) co_await run_commands(std::move(commands));
    scanned_at_ = steady_clock::now();
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

/// A node that seems to have gone is not believed to be there, but given nothing either until that is certain.
void Hub::see_alive(const std::vector<NodeSeen>& nodes) {
    alive_.clear();
    const auto now = steady_clock::now();
    for (const auto& each : nodes) {
        if (presence_.gone(each.node, each.session, each.session_missing, now)) continue;
        alive_[each.node] = each.takes_work && !each.session_missing;
    }
    alive_[node_.id()] = !node_.draining();
    alive_read_at_ = now;
}

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
    auto asked_written = platform::write_each<Command, Reply>(node_.database(), std::move(flush), std::move(commands));
    const auto written = co_await std::move(asked_written);
    if (!board_) co_return;
    const auto now = node_.clock().now();
    std::vector<Reply> replies;
    std::exception_ptr failure;
    for (std::size_t i = 0; i < written.size(); ++i) {
        if (const auto* reply = std::get_if<Reply>(&written[i])) {
            // What became of a family is in the lists of the reply.
            if (!reply->after && !about[i].family)
                board_->put_off(about[i].execution, now + (reply->held ? kHeldPause : kUnchangedPause));
            replies.push_back(*reply);
            continue;
        }
        if (about[i].family) settle_later({about[i].execution});
        if (!put_off_faulty(about[i].execution, std::get<std::exception_ptr>(written[i]), now)) {
            failure = std::get<std::exception_ptr>(written[i]);
        }
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
            {{"execution", id}, {"error", refused.what()}, {"next", "it is left out for a minute; see its row"}});
        board_->put_off(id, now + kFaultyPause);
        return true;
    } catch (...) {
        return false;
    }
}

/// What other writers did (protocol R13): their events name rows, the rows are the truth.
Task<void> Hub::read_feed() {
    feed_hinted_ = false;
    feed_read_at_ = steady_clock::now();
    const auto operation = node_.operations().begin();
    struct Read {
        journal::Feed feed;
        std::vector<priority_queue::LockedExecution> rows;
    };
    auto asked_read =
        node_.database().transact([position = feed_position_, begun = feed_begun_, id = node_.id()](Tx& tx) {
            Read result;
            result.feed = journal::EventStore().feed(tx, position, begun, id, kMostFeed);
            if (result.feed.overflow) return result;
            std::set<ExecutionId> ids;
            for (const auto& event : result.feed.events)
                if (event.kind == "execution") ids.insert(ExecutionId{event.stream});
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
    for (const auto& event : read.feed.events) {
        if (event.type == domain::event::deferred || event.type == domain::event::accepted) {
            // News about an endpoint from the node that asked it.
            const auto endpoint = platform::json_member(event.payload, "endpoint_id");
            const auto kind = platform::json_member(event.payload, "news");
            if (!endpoint || !kind) continue;
            EndpointNews news;
            news.endpoint = domain::EndpointId::parse(platform::json_string(*endpoint)).value_or(domain::EndpointId{});
            const std::string what = platform::json_string(*kind);
            news.kind = what == "accepted"   ? EndpointNews::Kind::accepted
                        : what == "overload" ? EndpointNews::Kind::overload
                                             : EndpointNews::Kind::fault;
            if (const auto detail = platform::json_member(event.payload, "detail"))
                news.detail = platform::json_string(*detail);
            if (const auto wait = platform::json_member(event.payload, "retry_after_ms"))
                news.retry_after = milliseconds{std::atol(std::string(*wait).c_str())};
            board_->endpoint_news(news, node_.clock().now());
        }
    }
    node_.probe().feed_events(read.feed.events.size());
    std::vector<Command> parents;
    for (const auto& row : read.rows) {
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

void Hub::add_never_sent(std::vector<Command>& commands) const {
    for (const auto& each : board_->sent_by(node_.id()))
        if (!node_.sends(each.attempt, each.fence))
            commands.push_back(node_.command(each.execution, NeverSent{each.attempt, each.fence}));
}

Task<std::size_t> Hub::sweep(TimePoint now) {
    std::vector<Command> commands;
    std::size_t failures = 0;

    if (auto back = board_->put_off_until(now); !back.empty()) {
        co_await recheck(std::move(back));
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
    if (!unsettled_.empty() && now >= settle_at_) {
        for (const auto& parent : std::exchange(unsettled_, {}))
            commands.push_back(node_.command(parent, ChildrenEnded{}));
    }
    // Whether there was an outage is known once the lead has been renewed; until then nobody runs out of time.
    const bool out_of_contact = lost_contact();
    if (out_of_contact) renewal_.signal();
    std::vector<Board::Passed> over;
    if (!out_of_contact) over = board_->passed_deadlines(now, kMostSweep);
    for (const auto& passed : over) {
        // Nobody knows whether it began: where somebody can be asked, ask before trying anew.
        if (passed.state == domain::AttemptState::unknown && status_asked_.insert(passed.attempt).second &&
            node_.ask_status(passed.execution, passed.attempt, passed.lane, passed.endpoint)) {
            board_->put_off_deadline(passed.execution, now + kStatusPatience);
            continue;
        }
        commands.push_back(node_.command(passed.execution, DeadlinePassed{passed.attempt}));
        ++failures;
    }
    if (steady_clock::now() - alive_read_at_ > milliseconds{1000}) {
        auto asked_alive = node_.database().read([](Tx& tx) { return SchedulerStore().alive(tx); });
        const auto seen = co_await std::move(asked_alive);
        see_alive(seen);
        if (!board_) co_return 0;
        add_never_sent(commands);
        if (!lost_contact() && (!outage_ || now >= outage_->no_takeover_before(node_.settings().lease))) {
            std::set<domain::NodeId> alive;
            for (const auto& [id, takes] : alive_) alive.insert(id);
            for (const auto& lapsed : board_->lapsed(alive, now, settings_.grant_patience)) {
                const auto* type = board_->catalogue()->find(lapsed.lane);
                const auto* endpoint = type ? type->endpoint(lapsed.endpoint) : nullptr;
                commands.push_back(node_.command(
                    lapsed.execution,
                    LeaseLost{lapsed.attempt, lapsed.fence, endpoint && endpoint->known_to_deduplicate()}));
                ++failures;
            }
        }
    }
    if (commands.empty()) co_return 0;
    if (failures > 0) {
        if (machine_.state() == HubState::analyzing) move(HubState::monitoring, now, "attempts are under way");
        move(HubState::error_recovery, now, std::to_string(failures) + " attempts ran out of time or lost their node");
    }
    const auto count = commands.size();
    co_await run_commands(std::move(commands));
    if (failures > 0 && board_)
        move(HubState::monitoring, now, "decided about " + std::to_string(failures) + " failures");
    co_return count;
}

/// What memory should hold, by the table's own order: the net under everything else.
Task<void> Hub::safety_scan(TimePoint now) {
    scanned_at_ = steady_clock::now();
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
    auto forgetting_nodes = node_.database().transact([](Tx& tx) { SchedulerStore().forget_nodes(tx); });
    co_await std::move(forgetting_nodes);
    auto forgetting_metrics = node_.database().transact([](Tx& tx) { journal::MetricStore().forget(tx); });
    co_await std::move(forgetting_metrics);
    auto forgetting_keys = node_.database().transact([id = node_.id()](Tx& tx) { Intake(id).forget_old_keys(tx); });
    co_await std::move(forgetting_keys);
    if (missed > 0) log::warn("the safety scan found work that no wake-up had told of", {{"executions", missed}});
}

void Hub::move(HubState to, TimePoint now, std::string why) {
    const auto moved = machine_.move(to, now, std::move(why));
    if (moved) return;
    node_.probe().illegal_move();
    log::error("the hub's state machine refused a move",
               {{"from", name(moved.error().from)}, {"to", name(moved.error().to)}});
    platform::JsonWriter json;
    json.open();
    json.field("from", name(moved.error().from)).field("to", name(moved.error().to));
    json.close();
    node_.record_event(domain::event::node_illegal_move, std::move(json).text());
}

domain::NodeId Hub::least_loaded_node() const {
    domain::NodeId best = node_.id();
    std::size_t load = board_->sending_at(best) + static_cast<std::size_t>(given_.contains(best) ? given_.at(best) : 0);
    if (node_.draining()) load = 1'000'000;
    for (const auto& [id, takes] : alive_) {
        if (!takes || id == node_.id()) continue;
        const std::size_t here =
            board_->sending_at(id) + static_cast<std::size_t>(given_.contains(id) ? given_.at(id) : 0);
        if (here < load) {
            best = id;
            load = here;
        }
    }
    return best;
}

/// Lane gates whose record is to change. A gate that is about quantity opens and closes with every end; it is recorded
/// once it has lasted.
Hub::GateChanges Hub::gate_changes(const Plan& plan, TimePoint now) {
    GateChanges changes;
    for (const auto& [lane, gate] : plan.gates) {
        const auto recorded = recorded_gates_.find(lane);
        if (!gate) {
            pending_gates_.erase(lane);
            if (recorded != recorded_gates_.end()) changes.emplace_back(lane, std::nullopt);
            continue;
        }
        if (recorded != recorded_gates_.end() && recorded->second.gate.same_as(*gate)) {
            pending_gates_.erase(lane);
            continue;
        }
        const bool lasting = gate->kind == domain::GateKind::paused || gate->opens_at;
        auto& [pending, since] = pending_gates_.try_emplace(lane, *gate, now).first->second;
        if (!pending.same_as(*gate)) {
            pending = *gate;
            since = now;
        }
        if (lasting || now - since >= settings_.gate_debounce) changes.emplace_back(lane, *gate);
    }
    // Nothing waits there any more: nothing is stopped.
    for (const auto& [lane, recorded] : recorded_gates_)
        if (!plan.gates.contains(lane)) changes.emplace_back(lane, std::nullopt);
    std::erase_if(pending_gates_, [&](const auto& each) { return !plan.gates.contains(each.first); });
    return changes;
}

Task<bool> Hub::turn() {
    const auto started = steady_clock::now();
    if (started - scanned_at_ > (node_.hearing() ? settings_.tick : settings_.deaf_tick))
        co_await safety_scan(node_.clock().now());
    if (feed_hinted_ || started - feed_read_at_ >= settings_.feed_poll) co_await read_feed();
    if (!board_ || rebuild_) co_return true;
    TimePoint now = node_.clock().now();
    const std::size_t swept = co_await sweep(now);
    if (!board_ || rebuild_) co_return true;
    co_await refill_levels();

    now = node_.clock().now();
    Plan planned = plan(board_->plan_input(settings_.max_batch_size), now);
    next_opening_ = planned.next_opening;
    const bool work = !planned.gates.empty();
    if (work && machine_.state() != HubState::analyzing && !planned.grants.empty())
        move(HubState::analyzing, now, std::to_string(board_->waiting()) + " waiting");
    const bool more = planned.more;
    const Granted granted = co_await grant(std::move(planned), now);
    if (!board_) co_return true;
    co_await show_state(false);
    record_metrics(now);
    if (granted.some) node_.probe().turn(std::chrono::duration_cast<Duration>(steady_clock::now() - started), 0);
    co_return more || granted.missed || swept >= kMostSweep;
}

Task<Hub::Granted> Hub::grant(Plan planned, TimePoint now) {
    record_lanes(gate_changes(planned, now), now);
    auto notes = board_->gate_notes(kMostGateNotes);
    {
        // What starts now needs no note that its gate has opened.
        std::set<ExecutionId> starting;
        for (const auto& each : planned.grants) starting.insert(each.execution);
        std::erase_if(notes, [&](const Board::GateNote& note) { return starting.contains(note.execution); });
    }
    const auto rest = [&](std::string why) {
        // Where the hub stands when nothing is being dispatched.
        bool all_cooling = !planned.gates.empty();
        for (const auto& [lane, gate] : planned.gates)
            if (!gate || gate->kind != domain::GateKind::endpoint || !gate->opens_at) all_cooling = false;
        if (all_cooling && board_->live() == 0 && machine_.state() != HubState::idle)
            return move(HubState::cooldown, now, "every lane with work is cooling");
        if (all_cooling && board_->live() == 0) {
            move(HubState::analyzing, now, "looking for what may start");
            return move(HubState::cooldown, now, "every lane with work is cooling");
        }
        if (board_->live() > 0) {
            if (machine_.state() == HubState::idle || machine_.state() == HubState::cooldown)
                move(HubState::analyzing, now, "attempts are under way");
            return move(HubState::monitoring, now, std::to_string(board_->live()) + " under way");
        }
        if (machine_.state() == HubState::dispatching) move(HubState::monitoring, now, "dispatched");
        return move(HubState::idle, now, std::move(why));
    };

    if (planned.grants.empty() && notes.empty()) {
        rest(board_->waiting() > 0 ? "what waits may not start now" : "nothing waits");
        co_return Granted{};
    }
    if (!planned.grants.empty()) move(HubState::dispatching, now, "granting " + std::to_string(planned.grants.size()));

    std::vector<Pick> picks;
    given_.clear();
    for (const auto& each : planned.grants) {
        GrantTerms terms;
        terms.fresh_attempt = node_.ids().make<domain::AttemptId>(now);
        terms.node = least_loaded_node();
        terms.own = terms.node == node_.id();
        terms.endpoint = each.endpoint;
        terms.lease = node_.settings().lease;
        ++given_[terms.node];
        picks.push_back({each.execution, terms, std::nullopt});
    }
    for (auto& note : notes) picks.push_back({note.execution, std::nullopt, std::move(note.gate)});

    const auto operation = node_.operations().begin();
    platform::Flush<Pick, Picked> flush = [this, epoch = *lead_, catalogue = node_.catalogue()](
                                              Tx& tx, const std::vector<Pick>& some) {
        SchedulerStore().fence(tx, epoch, node_.id());
        return pick(tx, some, *catalogue);
    };
    auto asked_written = platform::write_each<Pick, Picked>(node_.database(), std::move(flush), picks);
    auto written = co_await std::move(asked_written);
    if (!board_) co_return Granted{};

    const auto observed = node_.clock().now();
    std::size_t granted = 0;
    bool others = false;
    std::vector<ExecutionId> missing;
    std::exception_ptr failure;
    for (std::size_t i = 0; i < written.size(); ++i) {
        const auto& id = picks[i].execution;
        auto* picked = std::get_if<Picked>(&written[i]);
        if (!picked) {
            if (!put_off_faulty(id, std::get<std::exception_ptr>(written[i]), observed))
                failure = std::get<std::exception_ptr>(written[i]);
            continue;
        }
        if (!picked->found) {
            missing.push_back(id);
            continue;
        }
        auto& row = picked->found->execution;
        board_->observe(row);
        if (!picked->granted) continue;
        ++granted;
        if (row.ready_at) node_.probe().dispatched(row.lane, picked->found->now - *row.ready_at);
        last_execution_ = picked->found->now;
        if (row.attempt->node == node_.id()) {
            node_.deliver(std::move(*picked->found));
        } else {
            others = true;
        }
    }
    if (others) node_.notify_others("grants");
    node_.probe().turn(Duration{0}, granted);
    if (failure) std::rethrow_exception(failure);
    // Held by another transaction, or gone: whatever is behind them goes first.
    for (const auto& id : missing) board_->put_off(id, observed + kHeldPause);
    rest("dispatched");
    co_return Granted{granted > 0, !missing.empty()};
}

/// On a database thread: confirms by id what memory has planned. What is not found is held by somebody, or gone.
std::vector<Hub::Picked> Hub::pick(Tx& tx, const std::vector<Pick>& picks,
                                   const subworkflows::Catalogue& catalogue) const {
    std::vector<ExecutionId> ids;
    for (const auto& each : picks) ids.push_back(each.execution);
    std::map<ExecutionId, priority_queue::ClaimableExecution> rows;
    for (auto& row : priority_queue::QueueStore().lock_claimable(tx, ids)) {
        const auto id = row.execution.id;
        rows.emplace(id, std::move(row));
    }
    std::vector<Picked> picked(picks.size());
    std::vector<Decision> decisions;
    for (std::size_t i = 0; i < picks.size(); ++i) {
        const auto row = rows.find(picks[i].execution);
        if (row == rows.end()) continue;
        auto& found = row->second;
        std::optional<Decision> decision;
        if (const auto& terms = picks[i].terms) {
            Circumstances circumstances;
            circumstances.type = catalogue.find(found.execution.lane);
            circumstances.now = found.now;
            decision = decide_grant(found.execution, *terms, circumstances);
            picked[i].granted = decision.has_value();
        } else {
            decision = decide_gate(found.execution, picks[i].gate, found.now);
        }
        if (decision) {
            found.execution = decision->after;
            decisions.push_back(std::move(*decision));
        }
        picked[i].found = std::move(found);
    }
    node_.applier().write(tx, decisions);
    return picked;
}

/// Writes down why lanes wait and which endpoints are held, beside the turns: nothing that starts waits for it, and a
/// lane whose row somebody holds is tried again.
void Hub::record_lanes(GateChanges changes, TimePoint now) {
    for (auto& each : board_->take_changed_endpoints()) held_endpoints_[each.endpoint.id] = std::move(each);
    std::erase_if(held_endpoints_, [&](const auto& each) {
        const auto* type = board_->catalogue()->find(each.second.lane);
        return !type || !type->endpoint(each.first);
    });
    if (recording_ || now < record_at_ || (changes.empty() && held_endpoints_.empty())) return;
    recording_ = true;
    asio::co_spawn(node_.executor(), record_lanes_now(std::move(changes), held_endpoints_, *lead_), asio::detached);
}

Task<void> Hub::record_lanes_now(GateChanges changes, HeldEndpoints endpoints, std::int64_t epoch) {
    struct Recorded {
        std::set<domain::Lane> lanes;
        std::set<domain::EndpointId> endpoints;
    };
    std::set<domain::Lane> lanes;
    for (const auto& [lane, gate] : changes) lanes.insert(lane);
    for (const auto& [id, changed] : endpoints) lanes.insert(changed.lane);
    std::optional<Recorded> recorded;
    try {
        auto recording = node_.database().transact([this, epoch, &lanes, &changes, &endpoints,
                                                    catalogue = node_.catalogue()](Tx& tx) {
            Recorded done;
            const SchedulerStore scheduler;
            scheduler.fence(tx, epoch, node_.id());
            done.lanes = node_.catalogue_store().lock_lanes(tx, lanes);
            // Of a type that is gone there is nothing to lock, only its gate to be closed.
            for (const auto& lane : lanes)
                if (!catalogue->find(lane)) done.lanes.insert(lane);
            for (const auto& [lane, gate] : changes) {
                if (!done.lanes.contains(lane)) continue;
                scheduler.record_lane_gate(tx, lane, gate);
                append_lane_event(tx, node_.catalogue_store(), lane, node_.id(),
                                  gate ? domain::event::lane_stopped : domain::event::lane_opened,
                                  gate ? platform::gate_json(*gate) : "{}");
            }
            for (const auto& [id, changed] : endpoints) {
                if (!done.lanes.contains(changed.lane) || !node_.catalogue_store().hold_endpoint(tx, changed.endpoint))
                    continue;
                append_lane_event(
                    tx, node_.catalogue_store(), changed.lane, node_.id(),
                    changed.endpoint.held_until ? domain::event::endpoint_held : domain::event::endpoint_released,
                    endpoint_payload(changed.endpoint));
                done.endpoints.insert(id);
            }
            return done;
        });
        recorded = co_await std::move(recording);
    } catch (const platform::StatementRefused& refused) {
        log::warn("why lanes wait could not be written down", {{"error", refused.what()}, {"next", "trying again"}});
    } catch (const std::exception&) {
        // The next turn notices what is wrong.
    }
    recording_ = false;
    if (lead_ != epoch || !board_) co_return;
    const auto now = node_.clock().now();
    const bool whole =
        recorded && recorded->lanes.size() == lanes.size() && recorded->endpoints.size() == endpoints.size();
    record_at_ = whole ? now : now + kSettlePause;
    if (!recorded) co_return;
    for (const auto& id : recorded->endpoints) {
        // Unless it has changed again meanwhile.
        const auto pending = held_endpoints_.find(id);
        if (pending != held_endpoints_.end() &&
            pending->second.endpoint.held_until == endpoints.at(id).endpoint.held_until)
            held_endpoints_.erase(pending);
    }
    for (const auto& [lane, gate] : changes) {
        if (!recorded->lanes.contains(lane)) continue;
        pending_gates_.erase(lane);
        if (gate) {
            log::info("lane stopped", {{"lane", lane.text()}, {"gate", name(gate->kind)}, {"detail", gate->detail}});
            recorded_gates_[lane] = {lane, *gate, now};
        } else {
            recorded_gates_.erase(lane);
        }
    }
}

Task<void> Hub::show_state(bool always) {
    const auto steady = steady_clock::now();
    const bool changed = machine_.moves() != shown_moves_;
    const bool quiet = machine_.state() == HubState::idle || machine_.state() == HubState::cooldown;
    if (!always && (!changed || (!quiet && steady - shown_at_ < milliseconds{250}))) co_return;
    shown_moves_ = machine_.moves();
    shown_at_ = steady;
    const TimePoint now = node_.clock().now();
    ShownState shown;
    shown.node = node_.id();
    shown.state = name(machine_.state());
    shown.since = machine_.since();
    shown.why = machine_.why();
    shown.last_execution = last_execution_;
    shown.next_scheduled = board_->next_due();
    platform::JsonWriter json;
    json.open();
    const auto spent = machine_.time_in(now);
    for (int i = 0; i < kHubStates; ++i)
        json.field(name(static_cast<HubState>(i)),
                   static_cast<double>(spent[static_cast<std::size_t>(i)].count() / 1000) / 1000.0);
    json.close();
    shown.seconds_in = std::move(json).text();
    const auto epoch = *lead_;
    auto showing = node_.database().transact([shown, epoch, id = node_.id()](Tx& tx) {
        SchedulerStore().fence(tx, epoch, id);
        SchedulerStore().write_state(tx, shown);
    });
    co_await std::move(showing);
}

void Hub::record_metrics(TimePoint now) {
    const auto steady = steady_clock::now();
    if (measured_at_ && steady - *measured_at_ < kMetricsEvery) return;
    measured_at_ = steady;
    std::vector<journal::Measurement> measurements;
    for (const auto& lane : board_->lanes()) {
        platform::JsonWriter about;
        about.open();
        about.field("organization_id", lane.organization_id).field("workflow_type", lane.workflow_type);
        about.close();
        const std::string metadata = std::move(about).text();
        const auto* order = board_->order(lane);
        const auto oldest = order->oldest_ready();
        const double waiting_for = oldest ? std::chrono::duration<double>(now - *oldest).count() : 0;
        measurements.push_back({"queue_depth", static_cast<double>(order->size()), metadata});
        measurements.push_back({"oldest_waiting_seconds", waiting_for, metadata});
        measurements.push_back({"running", static_cast<double>(board_->in_use(lane)), metadata});
    }
    measurements.push_back({"database_connections_busy", static_cast<double>(node_.database().busy()), "{}"});
    asio::co_spawn(node_.executor(), write_metrics(std::move(measurements)), asio::detached);
}

Task<void> Hub::write_metrics(std::vector<journal::Measurement> measurements) {
    try {
        auto writing =
            node_.database().transact([&measurements](Tx& tx) { journal::MetricStore().record(tx, measurements); });
        co_await std::move(writing);
    } catch (const std::exception& e) {
        log::debug("metrics could not be written", {{"error", e.what()}});
    }
}

steady_clock::duration Hub::idle_for(TimePoint now) const {
    steady_clock::duration longest = std::min<steady_clock::duration>(settings_.feed_poll, seconds{1});
    if (!board_) return longest;
    const auto until = [&](const std::optional<TimePoint>& at) {
        if (!at) return;
        const auto wait = std::max<Duration>(*at - now, Duration{0});
        longest = std::min<steady_clock::duration>(longest, wait);
    };
    until(board_->next_due());
    until(board_->next_deadline());
    until(board_->next_put_off());
    if (!unsettled_.empty()) until(settle_at_);
    if (lost_contact()) longest = std::max<steady_clock::duration>(longest, kLostContactPause);
    until(next_opening_);
    return longest;
}

}
