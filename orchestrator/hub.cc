#include "orchestrator/hub.h"

#include <algorithm>

#include "orchestrator/lane_limiters.h"
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
constexpr std::size_t kMostGateNotes = 100;
/// Between two looks at deadlines that may not be acted on.
constexpr auto kLostContactPause = milliseconds{50};

/// Nothing to be done but wait until it opens by itself: 003's COOLDOWN.
bool cooling(const domain::Gate& gate) { return gate.cooling && gate.opens_at; }
}

Hub::Hub(Node& node, HubSettings settings)
    : node_(node),
      settings_(settings),
      wakeup_(node.executor()),
      renewal_(node.executor()),
      machine_(node.clock().now()),
      gates_(settings.gate_debounce),
      health_pause_(node.executor()),
      database_throttle_(settings.max_batch_size, true),
      memory_throttle_(settings.max_batch_size, false) {
    node_.on_row = [this](const Execution& row) {
        if (!board_) return;
        board_->observe(row);
        if (node_.operations().settled() < doubted_until_) doubted_.insert(row.id);
        wake();
    };
    node_.on_answered = [this](const ExecutionId& execution, const domain::AttemptId& attempt) {
        if (!board_) return;
        board_->answered(execution, attempt);
        wake();
    };
    node_.on_endpoint_news = [this](const EndpointNews& news) {
        if (!board_) return;
        board_->endpoint_news(news, node_.clock().now());
        wake();
    };
    node_.on_consumed = [this](const Execution& ended, const resource_manager::Consumption& used) {
        if (board_) board_->learn(ended, used);
    };
    node_.on_usage = [this] { inbox_hinted_ = true; };
    node_.on_provider_news = [this](const resource_manager::ProviderNews& news) {
        if (!board_) return;
        board_->provider_news(news, node_.clock().now());
        wake();
    };
    node_.on_catalogue = [this] {
        if (!board_) return;
        board_->set_catalogue(node_.catalogue());
        board_->set_weather(node_.weather());
        board_->set_fairness(node_.fairness());
        wake();
    };
    node_.on_in_doubt = [this] { rebuild(); };
    node_.on_unsettled = [this](const std::vector<ExecutionId>& parents) {
        if (!board_) return;
        for (const auto& parent : parents) settle_later(parent, node_.clock().now() + kSettlePause);
    };
    node_.on_arrival = [this](const Execution& row) { return admit(row); };
    node_.leads = [this] { return leads(); };
}

void Hub::hint(const std::string& payload) {
    if (payload == "grants") node_.grants_hint();
    if (payload == "catalogue") node_.catalogue_hint();
    if (payload == "timers" || payload == "alerts" || payload.empty()) node_.hint(payload);
    if (payload.empty()) {
        // A new listening session: others must not miss the old one for long.
        node_.heartbeat_hint();
        renewal_.signal();
    }
    feed_hinted_ = true;
    inbox_hinted_ = true;
    wake();
}

Task<void> Hub::run() {
    running_ = true;
    asio::co_spawn(node_.executor(), keep_lead(), asio::detached);
    asio::co_spawn(node_.executor(), watch_health(), asio::detached);
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
        idle_ = true;
        co_await wakeup_.wait(idle_for(node_.clock().now()));
        idle_ = false;
        // Under load every answer and every end is a wake-up: together they make one turn.
        const auto pause = paced_until_ - steady_clock::now();
        if (pause > steady_clock::duration::zero() && !stopping_) co_await platform::pause_for(pause);
    }
    running_ = false;
}

Task<void> Hub::stop() {
    stopping_ = true;
    wake();
    renewal_.signal();
    health_pause_.signal();
    while (running_ || recording_ || recording_weather_ || lifting_) co_await platform::pause_for(milliseconds{5});
    if (!lead_) co_return;
    const auto epoch = *lead_;
    try {
        if (board_) co_await keep_estimates();
    } catch (const std::exception&) {
        // Those of the last minute are lost.
    }
    if (!lead_) co_return;
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

/// By allowed moves only, wherever a turn that was broken off has left it.
void Hub::move(HubState to, TimePoint now, std::string why) {
    for (const auto next : way(machine_.state(), to))
        if (next != to) move_once(next, now, "on its way to " + std::string(name(to)));
    move_once(to, now, std::move(why));
}

void Hub::move_once(HubState to, TimePoint now, std::string why) {
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

/// Requests under way at each node that takes work, this one first: who has the least is given the next.
std::vector<std::pair<domain::NodeId, std::size_t>> Hub::loads() const {
    std::vector<std::pair<domain::NodeId, std::size_t>> loads;
    constexpr std::size_t kDraining = 1'000'000;
    loads.emplace_back(node_.id(), node_.draining() ? kDraining : board_->sending_at(node_.id()));
    for (const auto& [id, takes] : alive_)
        if (takes && id != node_.id() && !silent_.contains(id)) loads.emplace_back(id, board_->sending_at(id));
    return loads;
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
    const std::size_t dropped = co_await drop(now);
    if (!board_ || rebuild_) co_return true;
    co_await refill_levels();
    co_await refresh_providers();
    if (std::exchange(inbox_hinted_, false)) co_await book_inbox();
    if (!board_ || rebuild_) co_return true;
    co_await refresh_budgets();
    if (!board_ || rebuild_) co_return true;
    co_await refresh_locks();
    if (!board_ || rebuild_) co_return true;
    if (started - estimates_kept_at_ > settings_.keep_estimates) {
        estimates_kept_at_ = started;
        co_await keep_estimates();
    }
    if (!board_ || rebuild_) co_return true;
    show_queue_lengths();
    show_standings(now);
    show_lane_times();
    lift_pauses(now);

    now = node_.clock().now();
    Plan planned = plan(board_->plan_input(batch_limit()), now);
    board_->see_shares(planned, true);
    next_opening_ = planned.next_opening;
    board_->behind_keys(planned);
    const bool work = !planned.gates.empty();
    if (work && machine_.state() != HubState::analyzing && !planned.grants.empty())
        move(HubState::analyzing, now, std::to_string(board_->waiting()) + " waiting");
    const bool more = planned.more;
    const Granted granted = co_await grant(std::move(planned), now);
    if (!board_) co_return true;
    co_await show_state(false);
    record_metrics(now);
    if (granted.count > 0) {
        // One alone is not load.
        if (granted.count > 1) paced_until_ = started + settings_.pace;
        const auto took = std::chrono::duration_cast<Duration>(steady_clock::now() - started);
        node_.probe().turn(took);
        if (on_granted) on_granted(took, granted.count);
    }
    co_return more || granted.missed || granted.more_notes || swept >= kMostSweep || dropped >= kMostSweep;
}

/// What a planned grant is at the node that is to send it.
GrantTerms Hub::terms(const PlannedGrant& planned, const domain::NodeId& node, TimePoint now) const {
    GrantTerms terms;
    terms.fresh_attempt = node_.ids().make<domain::AttemptId>(now);
    terms.node = node;
    terms.own = node == node_.id();
    terms.endpoint = planned.endpoint;
    terms.demand = planned.demand;
    terms.budgeted = planned.budgeted;
    terms.thrift = planned.thrift;
    terms.lease = node_.settings().lease;
    return terms;
}

Task<Hub::Granted> Hub::grant(Plan planned, TimePoint now) {
    see_gates(planned, now);
    record_lanes(now);
    record_weather(now);
    auto notes = board_->gate_notes(kMostGateNotes);
    const bool more_notes = notes.size() >= kMostGateNotes;
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
            if (!gate || !cooling(*gate)) all_cooling = false;
        if (board_->live() > 0) return move(HubState::monitoring, now, std::to_string(board_->live()) + " under way");
        if (all_cooling) return move(HubState::cooldown, now, "every lane with work is cooling");
        return move(HubState::idle, now, std::move(why));
    };

    if (planned.grants.empty() && notes.empty()) {
        rest(board_->waiting() > 0 ? "what waits may not start now" : "nothing waits");
        co_return Granted{};
    }
    if (!planned.grants.empty()) move(HubState::dispatching, now, "granting " + std::to_string(planned.grants.size()));

    std::vector<Pick> chosen;
    auto load = loads();
    for (const auto& each : planned.grants) {
        auto& least = *std::min_element(load.begin(), load.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
        ++least.second;
        chosen.push_back({each.execution, terms(each, least.first, now), std::nullopt});
    }
    for (auto& note : notes) chosen.push_back({note.execution, std::nullopt, std::move(note.gate)});
    const auto shared = std::make_shared<const std::vector<Pick>>(std::move(chosen));
    const auto& picks = *shared;

    const auto operation = node_.operations().begin();
    // Whether it runs again after it has thrown is the database's matter, so it remembers by itself.
    const auto budgets = std::make_shared<Budgets>(ample_budgets(now) ? Budgets::last : Budgets::first);
    platform::Flush<Pick, Picked> flush = [this, epoch = *lead_, catalogue = node_.catalogue(), budgets](
                                              Tx& tx, const std::vector<Pick>& some) {
        return pick(tx, some, *catalogue, epoch, std::exchange(*budgets, Budgets::first));
    };
    auto asked_written = platform::write_each<Pick, Picked>(node_.database(), std::move(flush), shared);
    const auto began = steady_clock::now();
    auto written = co_await std::move(asked_written);
    slowest_write_ = std::max(slowest_write_, std::chrono::duration_cast<Duration>(steady_clock::now() - began));
    if (!board_) co_return Granted{};

    const auto observed = node_.clock().now();
    std::size_t granted = 0;
    bool others = false;
    bool broke = false;
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
        auto* tracer = node_.tracer();
        if (tracer && picked->opened) tracer->opened(row, picked->opened->first, picked->opened->second, observed);
        // The next turn reads what is left.
        if (picked->broke) budgets_read_at_ = {};
        broke = broke || picked->broke || picked->too_soon;
        if (picked->too_soon) board_->set_lane_times({*picked->too_soon});
        // Who holds it is read before the next turn.
        broke = broke || picked->locked;
        if (picked->locked) board_->lock_busy(*picked->locked, observed + kHeldPause);
        if (!picked->granted) continue;
        board_->charge(row, picks[i].terms->demand);
        if (tracer) tracer->granted(row, now, observed);
        ++granted;
        if (row.ready_at) node_.probe().dispatched(row.lane, picked->found->now - *row.ready_at);
        last_execution_ = picked->found->now;
        if (row.attempt->node == node_.id()) {
            const auto last = node_.last_moment(*picked->found, began);
            node_.deliver(std::move(*picked->found), last);
        } else {
            others = true;
        }
    }
    if (others) node_.notify_others("grants");
    node_.probe().granted(granted);
    if (failure) std::rethrow_exception(failure);
    // Held by another transaction, or gone: whatever is behind them goes first.
    for (const auto& id : missing) board_->put_off(id, observed + kHeldPause);
    rest("dispatched");
    co_return Granted{granted, broke || !missing.empty(), more_notes};
}

namespace {
using Drafts = std::vector<std::optional<Decision>>;

/// What those that are granted are expected to cost.
struct Reservations {
    std::vector<resource_manager::Movement> movements;
    /// Where their drafts are.
    std::vector<std::size_t> places;

    void take_from(Drafts& drafts) {
        for (std::size_t i = 0; i < drafts.size(); ++i) {
            if (!drafts[i] || !drafts[i]->reservation) continue;
            movements.push_back(*std::move(drafts[i]->reservation));
            places.push_back(i);
        }
    }
    /// Which of them do not fit any more: somebody has spent the money since the plan was made (protocol R17).
    std::set<std::size_t> reserve(Tx& tx, TimePoint granted_at) const {
        std::set<std::size_t> broke;
        for (const auto place : resource_manager::LedgerStore().reserve(tx, movements, granted_at))
            broke.insert(places[place]);
        return broke;
    }
};

/// Of those that are granted: a gate's note takes no slot.
bool grants(const std::optional<Decision>& draft) { return draft && draft->after.holds_slot(); }

/// Drops those that come too short a time after the lane's last start or end, as the tables say: an end that another
/// node has written may not have come here yet. Told of each place what the tables say.
std::map<std::size_t, LaneTimes> keep_pace(Tx& tx, Drafts& drafts, const subworkflows::Catalogue& catalogue) {
    std::set<domain::Lane> paced;
    for (const auto& draft : drafts)
        if (const auto* type = grants(draft) ? catalogue.find(draft->after.lane) : nullptr; type && has_pace(*type))
            paced.insert(draft->after.lane);
    std::map<std::size_t, LaneTimes> dropped;
    for (const auto& times : LaneTimesStore().lock(tx, paced)) {
        const auto pace = pace_of(*catalogue.find(times.lane), times);
        for (std::size_t i = 0; i < drafts.size(); ++i) {
            if (!grants(drafts[i]) || drafts[i]->after.lane != times.lane) continue;
            if (!pace.check({}, drafts[i]->after.attempt->granted_at)) continue;
            drafts[i].reset();
            dropped.emplace(i, times);
        }
    }
    return dropped;
}

/// Drops those whose type's lock somebody else has, and says at each place which.
std::map<std::size_t, schedules::LockName> take_locks(Tx& tx, Drafts& drafts,
                                                      const subworkflows::Catalogue& catalogue) {
    std::vector<schedules::TypeLock> locks;
    std::map<ExecutionId, std::size_t> places;
    for (std::size_t i = 0; i < drafts.size(); ++i) {
        if (!grants(drafts[i])) continue;
        const auto& row = drafts[i]->after;
        const auto* type = catalogue.find(row.lane);
        if (!type || type->lock.empty()) continue;
        locks.push_back({{row.lane.organization_id, type->lock},
                         row.id,
                         row.attempt->id,
                         "execution " + row.id.text() + " of " + row.lane.workflow_type});
        places[row.id] = i;
    }
    std::map<std::size_t, schedules::LockName> dropped;
    const auto without = schedules::LockStore().take(tx, locks);
    for (auto& each : locks) {
        if (!without.contains(each.execution)) continue;
        const auto place = places.at(each.execution);
        drafts[place].reset();
        dropped.emplace(place, std::move(each.lock));
    }
    return dropped;
}
}

/// On a database thread: confirms by id what memory has planned. What is not found is held by somebody, or gone.
std::vector<Hub::Picked> Hub::pick(Tx& tx, const std::vector<Pick>& picks, const subworkflows::Catalogue& catalogue,
                                   std::int64_t epoch, Budgets budgets) const {
    const auto fence = SchedulerStore().ask_fence(tx, epoch, node_.id());
    std::vector<ExecutionId> ids;
    for (const auto& each : picks) ids.push_back(each.execution);
    std::map<ExecutionId, priority_queue::ClaimableExecution> rows;
    auto claimable = priority_queue::QueueStore().lock_claimable(tx, ids);
    fence();
    for (auto& row : claimable) {
        const auto id = row.execution.id;
        rows.emplace(id, std::move(row));
    }
    Drafts drafts(picks.size());
    for (std::size_t i = 0; i < picks.size(); ++i) {
        const auto row = rows.find(picks[i].execution);
        if (row == rows.end()) continue;
        const auto& found = row->second;
        if (const auto& terms = picks[i].terms) {
            Circumstances circumstances;
            circumstances.type = catalogue.find(found.execution.lane);
            circumstances.now = found.now;
            drafts[i] = decide_grant(found.execution, *terms, circumstances);
        } else {
            drafts[i] = decide_gate(found.execution, picks[i].gate, found.now);
        }
    }
    std::vector<Picked> picked(picks.size());
    for (auto& [place, times] : keep_pace(tx, drafts, catalogue)) picked[place].too_soon = times;
    for (auto& [place, lock] : take_locks(tx, drafts, catalogue)) picked[place].locked = lock;
    Reservations reservations;
    reservations.take_from(drafts);
    const auto granted_at = rows.empty() ? TimePoint{} : rows.begin()->second.now;
    std::set<std::size_t> broke;
    if (budgets == Budgets::first) broke = reservations.reserve(tx, granted_at);
    std::vector<Decision> decisions;
    decisions.reserve(picks.size());
    std::vector<LaneTimes> times;
    for (std::size_t i = 0; i < picks.size(); ++i) {
        const auto row = rows.find(picks[i].execution);
        if (row == rows.end()) continue;
        auto& found = row->second;
        picked[i].broke = broke.contains(i);
        if (auto& decision = drafts[i]; decision && !picked[i].broke) {
            picked[i].granted = picks[i].terms.has_value();
            decision->columns = priority_queue::changed_columns(found.execution, decision->after);
            const auto& before = found.execution;
            if (before.gate && before.gate_since && !decision->after.gate)
                picked[i].opened = {*before.gate, *before.gate_since};
            found.execution = decision->after;
            if (decision->lane_times) times.push_back(*decision->lane_times);
            decisions.push_back(std::move(*decision));
        }
        picked[i].found = std::move(found);
    }
    node_.applier().write(tx, decisions);
    LaneTimesStore().note(tx, times);
    if (budgets == Budgets::last && !reservations.reserve(tx, granted_at).empty())
        throw platform::TryAgain("a budget has less left than was planned with");
    return picked;
}

steady_clock::duration Hub::idle_for(TimePoint now) const {
    // In microseconds: what is due in 300 years is more nanoseconds than there are.
    Duration longest = std::min<Duration>(settings_.feed_poll, seconds{1});
    if (!board_) return longest;
    const auto until = [&](const std::optional<TimePoint>& at) {
        if (at) longest = std::min(longest, std::max(*at, now) - now);
    };
    until(board_->next_due());
    until(board_->next_deadline());
    until(board_->next_put_off());
    until(board_->next_overdue(settings_.queue_ttl));
    for (const auto& [parent, at] : unsettled_) until(at);
    if (lost_contact()) longest = std::max<Duration>(longest, kLostContactPause);
    until(next_opening_);
    return longest;
}

}
