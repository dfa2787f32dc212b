#include "orchestrator/board.h"

#include <algorithm>
#include <limits>

#include "domain/need_amounts.h"
#include "resource_manager/ledger.h"

namespace impresario::orchestrator {

using domain::Execution;
using domain::ExecutionId;
using domain::Lane;
using domain::TimePoint;
using priority_queue::Entry;

void Board::set_catalogue(subworkflows::CataloguePtr catalogue) {
    catalogue_ = std::move(catalogue);
    std::map<domain::EndpointId, EndpointState> endpoints;
    for (const auto& [lane, type] : catalogue_->types) {
        const bool redefined = versions_.contains(lane) && versions_[lane] != type.version;
        versions_[lane] = type.version;
        for (const auto& endpoint : type.endpoints) {
            auto known = endpoints_.find(endpoint.id);
            EndpointState state;
            if (known != endpoints_.end() && !redefined) {
                state = std::move(known->second);
            } else {
                state.health.held_until = endpoint.held_until;
                state.health.held_since = endpoint.held_since;
                state.health.reason = endpoint.held_reason;
                state.health.detail = endpoint.held_detail;
                state.health.holds = endpoint.holds;
                if (endpoint.held_until) state.health.window = 1;
                if (known != endpoints_.end()) {
                    state.breaker = std::move(known->second.breaker);
                    state.breaker_changed = known->second.breaker_changed;
                }
            }
            // New here, or set by hand: that counts, whatever it was about to become by itself.
            if (known == endpoints_.end() || endpoint.breaker.orders > state.breaker.record().orders) {
                state.breaker = resource_manager::Breaker(breaker_settings_, endpoint.breaker);
                state.breaker_changed = false;
            }
            if (state.breaker.record().state != domain::BreakerState::closed) state.health.window = 1;
            endpoints.emplace(endpoint.id, std::move(state));
        }
    }
    endpoints_ = std::move(endpoints);
    names_locks_ = std::any_of(catalogue_->types.begin(), catalogue_->types.end(),
                               [](const auto& each) { return !each.second.lock.empty(); });
    // Requests under way are counted anew: an endpoint that came back knows nothing of them.
    for (auto& [id, state] : endpoints_) state.in_flight = 0;
    for (const auto& id : in_flight_)
        if (const auto at = endpoints_.find(live_.at(id).endpoint); at != endpoints_.end()) ++at->second.in_flight;
    // Limits of keys may have changed.
    for (auto& [lane, state] : lanes_) {
        state.windows.reset();
        for (const auto& key : state.order.keys()) set_free_slots(lane, state, key);
    }
    count_keys_anew();
}

int Board::free_slots(const Lane& lane, const LaneState& state, const std::string& key) const {
    const auto* known = type(lane);
    if (!known || known->concurrency_key.empty()) return std::numeric_limits<int>::max() / 2;
    const auto used = state.key_in_use.find(key);
    return known->concurrency_key_limit - (used == state.key_in_use.end() ? 0 : used->second);
}

bool Board::stale(const ExecutionId& id, const Lane& lane, int seq) const {
    if (const auto found = live_.find(id); found != live_.end()) return seq < found->second.seq;
    if (const auto found = gone_.find(id); found != gone_.end()) return seq <= found->second.seq;
    if (const auto found = lanes_.find(lane); found != lanes_.end())
        if (const auto known = found->second.order.seq_of(id)) return seq < *known;
    return false;
}

void Board::remember_gone(const ExecutionId& id, int seq) {
    // Readings that began before this may still bring the row as it was; forget it once they have all ended.
    const auto settled = operations_.settled();
    auto keep = gone_order_.begin();
    while (keep != gone_order_.end() && keep->first <= settled) {
        const auto found = gone_.find(keep->second);
        if (found != gone_.end() && found->second.stamp == keep->first) gone_.erase(found);
        ++keep;
    }
    if (keep - gone_order_.begin() > 64 || keep == gone_order_.end()) gone_order_.erase(gone_order_.begin(), keep);
    gone_[id] = {seq, operations_.now()};
    gone_order_.emplace_back(operations_.now(), id);
}

namespace {
/// Whether the grant that memory knows was withdrawn before anything was sent (decide.cc, give_back).
bool never_sent(domain::AttemptState state, const domain::AttemptId& attempt, int fence, int deliveries,
                const Execution& after) {
    if (!after.attempt || after.attempt->id != attempt || after.attempt->fence != fence + 1 ||
        after.attempt->state != domain::AttemptState::waiting_redelivery)
        return false;
    if (state == domain::AttemptState::granted) return after.attempt->deliveries == deliveries;
    return state == domain::AttemptState::sending && after.attempt->deliveries == deliveries - 1;
}
}

/// Its request is not under way any more, if it was.
void Board::leave_endpoint(const ExecutionId& id, const Live& live) {
    if (in_flight_.erase(id) > 0)
        if (const auto endpoint = endpoints_.find(live.endpoint); endpoint != endpoints_.end())
            --endpoint->second.in_flight;
}

/// Told once: most of what becomes known of an execution comes after it.
void Board::request_ended(const ExecutionId& id, Live& live, TimePoint at) {
    if (std::exchange(live.request_counts, false)) meters_.ended(id, at);
}

/// When a request that may still be under way has certainly come to its end: what ended the attempt is the peer's own
/// word, so it is there; or nobody may send it any more (protocol R5).
TimePoint Board::request_over(const Live& live, const Execution* after) const {
    const auto now = now_();
    const bool word = after && after->status != domain::Status::cancelled && after->reason != "sql" &&
                      now < live.timeout_at && (!after->attempt || after->attempt->fence == live.fence);
    return word || !live.in_flight() ? now : std::max(now, live.lease_until);
}

void Board::remove_live(const ExecutionId& id, const Execution* after) {
    const auto found = live_.find(id);
    if (found == live_.end()) return;
    const Live live = std::move(found->second);
    live_.erase(found);
    deadlines_.erase({live.deadline, id});
    leave_endpoint(id, live);
    meters_.released(id, request_over(live, after));
    LaneState& state = lane_state(live.lane);
    --state.in_use;
    // What is only to be sent once more has not ended.
    if (after && !after->attempt) state.ended_at = std::max(state.ended_at, std::optional(now_()));
    if (!live.key.empty()) {
        const auto used = state.key_in_use.find(live.key);
        if (--used->second == 0) state.key_in_use.erase(used);
        set_free_slots(live.lane, state, live.key);
    }
}

void Board::observe(const Execution& row) {
    if (stale(row.id, row.lane, row.last_seq)) return;
    put_off_.erase(row.id);
    const auto known = live_.find(row.id);
    const bool was_live = known != live_.end();
    if (was_live)
        if (const auto& was = known->second; never_sent(was.state, was.attempt, was.fence, was.deliveries, row)) {
            meters_.given_back(row.id);
            correct_share(row.id, 0);
        }
    LaneState& state = lane_state(row.lane);
    if (row.open_children > 0) {
        parents_.insert(row.id);
    } else {
        parents_.erase(row.id);
    }
    if (row.claimable()) {
        remove_live(row.id, &row);
        gone_.erase(row.id);
        const Entry entry{row.id,
                          row.priority,
                          row.created_at,
                          row.ready_at.value_or(row.created_at),
                          row.concurrency_key,
                          row.last_seq,
                          row.gate.has_value(),
                          row.size_class,
                          row.batch,
                          row.need_amounts,
                          row.limit_keys};
        state.order.insert(entry, row.concurrency_key.empty() ? 0 : free_slots(row.lane, state, row.concurrency_key));
        return;
    }
    if (state.order.erase(row.id, row.priority, row.created_at)) state.drain.left(now_());
    if (!row.holds_slot()) {
        if (was_live) recent_ends_.over(row.lane, row.id, row.status, now_());
        remove_live(row.id, &row);
        next_due_ = domain::earlier(next_due_, row.due_at);
        due_meanwhile_ = domain::earlier(due_meanwhile_, row.due_at);
        remember_gone(row.id, row.last_seq);
        return;
    }
    gone_.erase(row.id);
    auto& live = live_[row.id];
    const bool fresh = live.lane.workflow_type.empty();
    const auto over = request_over(live, &row);
    leave_endpoint(row.id, live);
    // Another delivery is another request, of the same attempt as well.
    if (live.attempt != row.attempt->id || live.fence != row.attempt->fence ||
        live.deliveries != row.attempt->deliveries)
        live.answered = false;
    live.lane = row.lane;
    live.key = row.concurrency_key;
    live.attempt = row.attempt->id;
    live.fence = row.attempt->fence;
    live.deliveries = row.attempt->deliveries;
    live.state = row.attempt->state;
    live.node = row.attempt->node;
    live.endpoint = row.attempt->endpoint;
    live.granted_at = row.attempt->granted_at;
    if (state.started_at < live.granted_at)
        live.started_before = std::exchange(state.started_at, std::optional(live.granted_at));
    live.lease_until = row.attempt->lease_until;
    live.seq = row.last_seq;
    const TimePoint timeout_at = row.timeout_at.value_or(domain::kNever);
    // Whatever else the row says, a deadline that was put off stays so until the row has another.
    if (fresh || live.timeout_at != timeout_at) {
        live.timeout_at = timeout_at;
        move_deadline(row.id, live, acted_on(timeout_at));
    }
    if (live.in_flight()) {
        in_flight_.insert(row.id);
        if (const auto endpoint = endpoints_.find(live.endpoint); endpoint != endpoints_.end())
            ++endpoint->second.in_flight;
    }
    if (!live.in_flight()) request_ended(row.id, live, over);
    if (fresh) {
        ++state.in_use;
        if (!live.key.empty()) {
            ++state.key_in_use[live.key];
            set_free_slots(row.lane, state, live.key);
        }
    }
}

void Board::answered(const ExecutionId& id, const domain::AttemptId& attempt) {
    const auto found = live_.find(id);
    if (found == live_.end() || found->second.attempt != attempt || found->second.answered) return;
    found->second.answered = true;
    leave_endpoint(id, found->second);
    request_ended(id, found->second, now_());
}

void Board::end_due_reading(std::optional<TimePoint> read) { next_due_ = domain::earlier(read, due_meanwhile_); }

void Board::expect(const priority_queue::LevelCount& level) {
    lane_state(level.lane).order.expect(level.priority, level.count);
}

void Board::forget(const ExecutionId& id) {
    put_off_.erase(id);
    remove_live(id, nullptr);
    for (auto& [lane, state] : lanes_)
        if (state.order.erase(id)) break;
}

void Board::put_off(const ExecutionId& id, TimePoint until) {
    put_off_[id] = until;
    // The next reading counts, also one that says nothing new.
    gone_.erase(id);
    if (const auto live = live_.find(id); live != live_.end())
        move_deadline(id, live->second, std::max(live->second.deadline, until));
    for (auto& [lane, state] : lanes_)
        if (state.order.erase(id)) break;
}

std::vector<ExecutionId> Board::put_off_until(TimePoint now) const {
    std::vector<ExecutionId> ids;
    for (const auto& [id, until] : put_off_)
        if (until <= now) ids.push_back(id);
    return ids;
}

std::vector<ExecutionId> Board::put_off() const {
    std::vector<ExecutionId> ids;
    for (const auto& [id, until] : put_off_) ids.push_back(id);
    return ids;
}

std::optional<TimePoint> Board::next_put_off() const {
    std::optional<TimePoint> next;
    for (const auto& [id, until] : put_off_) next = domain::earlier(next, until);
    return next;
}

void Board::endpoint_news(const EndpointNews& news, TimePoint now) {
    const auto found = endpoints_.find(news.endpoint);
    if (found == endpoints_.end()) return;
    auto& state = found->second;
    switch (news.kind) {
        case EndpointNews::Kind::accepted: {
            int most = 64;
            for (const auto& [lane, type] : catalogue_->types)
                if (const auto* endpoint = type.endpoint(news.endpoint)) {
                    most = endpoint->max_in_flight;
                    meters_.went_well(domain::with_amounts(type.needs, news.need_amounts), news.began, now);
                }
            state.changed = state.health.accepted(most) || state.changed;
            break;
        }
        case EndpointNews::Kind::strained:
        case EndpointNews::Kind::trouble:
            state.health.trouble();
            break;
        case EndpointNews::Kind::overload:
            state.changed = state.health.overloaded(now, news.retry_after, news.detail) || state.changed;
            break;
        case EndpointNews::Kind::fault:
            state.changed = state.health.at_fault(now, news.detail) || state.changed;
            break;
    }
    // What holds an endpoint says nothing about how it works.
    bool moved = false;
    if (news.kind == EndpointNews::Kind::accepted || news.kind == EndpointNews::Kind::strained)
        moved = state.breaker.succeeded(news.began, now);
    if (news.kind == EndpointNews::Kind::trouble) moved = state.breaker.failed(news.began, now, news.detail);
    state.breaker_changed = moved || state.breaker_changed;
    if (state.breaker.record().state == domain::BreakerState::open) state.health.window = 1;
}

std::vector<Board::ChangedEndpoint> Board::take_changed_endpoints(TimePoint now) {
    std::vector<ChangedEndpoint> changed;
    for (auto& [id, state] : endpoints_) {
        const bool passed = state.breaker.passed(now);
        ChangedEndpoint each;
        each.hold = std::exchange(state.changed, false);
        each.breaker = std::exchange(state.breaker_changed, false) || passed;
        if (!each.hold && !each.breaker) continue;
        for (const auto& [lane, type] : catalogue_->types)
            if (const auto* known = type.endpoint(id)) {
                each.lane = lane;
                each.endpoint = *known;
            }
        auto& endpoint = each.endpoint;
        endpoint.id = id;
        endpoint.held_until = state.health.held_until;
        endpoint.held_since = state.health.held_since;
        endpoint.held_reason = state.health.reason;
        endpoint.held_detail = state.health.detail;
        endpoint.holds = state.health.holds;
        endpoint.breaker = state.breaker.record();
        changed.push_back(std::move(each));
    }
    return changed;
}

void Board::set_providers(const std::vector<resource_manager::Provider>& providers,
                          const std::vector<resource_manager::LoadedPermit>& permits,
                          const resource_manager::WeatherRecords& weather) {
    meters_.load(providers, permits, now_(), weather);
    // What ended while they were read ended before anything was counted, and nothing will end it again.
    for (const auto& each : permits) {
        if (!each.execution) continue;
        see_charged(*each.execution, each.attempt, each.fence, each.lease_until);
    }
    count_keys_anew();
}

void Board::charge_beyond(const std::vector<resource_manager::LoadedPermit>& usage) {
    for (const auto& each : usage) {
        meters_.charge_beyond(each, now_());
        if (const auto lane = lanes_.find(each.lane); lane != lanes_.end() && lane->second.order.by_limits())
            count_keys_anew();
    }
}

/// Its permit counts since now. It may have gone on since it was granted: then a later row is known already, but not
/// whether its request has left.
void Board::see_charged(const ExecutionId& id, const domain::AttemptId& attempt, int fence, TimePoint lease_until) {
    const auto live = live_.find(id);
    if (live == live_.end() || live->second.attempt != attempt || live->second.fence != fence)
        return meters_.released(id, std::max(now_(), lease_until));
    live->second.request_counts = true;
    if (!live->second.in_flight()) request_ended(id, live->second, now_());
}

void Board::charge(const Execution& granted, const domain::Demand& demand) {
    if (!granted.attempt) return;
    const auto& attempt = *granted.attempt;
    charge_share(granted);
    // Until the next reading of the tables.
    if (attempt.reserved) reserve(budgets_, demand, attempt.granted_at);
    if (demand.needs.empty()) return;
    meters_.charge(granted.id, granted.lane, demand.needs, granted.limit_keys, now_());
    if (const auto lane = lanes_.find(granted.lane); lane != lanes_.end() && lane->second.order.by_limits())
        lane->second.restless.insert({granted.concurrency_key, granted.limit_keys});
    see_charged(granted.id, attempt.id, attempt.fence, attempt.lease_until);
}

void Board::take_back(const ExecutionId& id) {
    if (const auto live = live_.find(id); live != live_.end())
        if (auto& started = lane_state(live->second.lane).started_at; started == live->second.granted_at)
            started = live->second.started_before;
    meters_.given_back(id);
    correct_share(id, 0);
    forget(id);
}

std::vector<Board::BreakerView> Board::breakers() const {
    std::vector<BreakerView> views;
    for (const auto& [lane, type] : catalogue_->types)
        for (const auto& endpoint : type.endpoints)
            if (const auto at = endpoints_.find(endpoint.id); at != endpoints_.end())
                views.push_back({lane, endpoint.id, at->second.breaker.record().state});
    return views;
}

resource_manager::QueueLength Board::queue_length(const Lane& lane) const {
    const auto found = lanes_.find(lane);
    if (found == lanes_.end()) return {};
    return {static_cast<std::int64_t>(found->second.order.size()), found->second.drain.per_minute(now_())};
}

resource_manager::QueueLength Board::queue_length() const {
    resource_manager::QueueLength all;
    for (const auto& [lane, state] : lanes_) {
        const auto length = queue_length(lane);
        all.waiting += length.waiting;
        all.per_minute += length.per_minute;
    }
    return all;
}

void Board::hold_less(bool less) {
    window_ = less ? priority_queue::Order::kPage : priority_queue::Order::kWindow;
    for (auto& [lane, state] : lanes_) state.order.set_window(window_);
}

std::vector<Board::Overdue> Board::overdue(std::optional<domain::Duration> ttl, TimePoint now, std::size_t most) const {
    std::vector<Overdue> found;
    for (const auto& [lane, state] : lanes_) {
        const auto longest = longest_wait(lane, ttl);
        if (!longest) continue;
        for (const auto& id : state.order.ready_before(now - *longest, most - found.size()))
            found.push_back({id, *longest});
    }
    return found;
}

std::optional<TimePoint> Board::next_overdue(std::optional<domain::Duration> ttl) const {
    std::optional<TimePoint> next;
    for (const auto& [lane, state] : lanes_) {
        const auto longest = longest_wait(lane, ttl);
        // It is overdue once it has waited longer.
        if (const auto oldest = state.order.oldest_ready(); longest && oldest)
            next = domain::earlier(next, *oldest + *longest + domain::Duration{1});
    }
    return next;
}

/// By what the types say now: correcting a definition corrects what is counted, and a new scheduler counts the same.
std::int64_t Board::memory_reserved_mb() const {
    std::int64_t reserved = 0;
    for (const auto& [lane, state] : lanes_)
        if (const auto* known = type(lane)) reserved += std::int64_t{known->memory_mb.value_or(0)} * state.in_use;
    return reserved;
}

void Board::set_estimates(std::map<Lane, resource_manager::TypeEstimates> estimates) {
    // What was learnt while they were read stands where the tables know nothing.
    estimates.merge(estimates_);
    estimates_ = std::move(estimates);
}

void Board::learn(const Execution& ended, const resource_manager::Consumption& used) {
    if (used.typical) {
        estimates_[ended.lane].learn(ended.size_class, used);
        learnt_.insert(ended.lane);
    }
    if (!shares_) return;
    if (const auto took = fair_amount(shares_->policy().measure, used)) correct_share(ended.id, *took);
}

std::map<Lane, resource_manager::TypeEstimates> Board::take_changed_estimates() {
    std::map<Lane, resource_manager::TypeEstimates> changed;
    for (const auto& lane : std::exchange(learnt_, {})) changed.emplace(lane, estimates_.at(lane));
    return changed;
}

std::vector<std::pair<Lane, priority_queue::Order::Refill>> Board::wanted_refills() {
    std::vector<std::pair<Lane, priority_queue::Order::Refill>> wanted;
    for (auto& [lane, state] : lanes_)
        while (auto refill = state.order.wants_refill()) wanted.emplace_back(lane, *refill);
    return wanted;
}

void Board::refill(const Lane& lane, const priority_queue::Order::Refill& refill,
                   const std::optional<std::vector<Entry>>& rows) {
    LaneState& state = lane_state(lane);
    std::optional<std::vector<Entry>> fresh;
    if (rows) {
        fresh.emplace();
        // A row that has moved on since it was read must not come back.
        for (const auto& entry : *rows)
            if (!stale(entry.id, lane, entry.seq) && !live_.contains(entry.id)) fresh->push_back(entry);
    }
    const bool exhausted = rows && rows->size() < refill.count;
    state.order.refill(refill, fresh, exhausted, [&](const std::string& key) { return free_slots(lane, state, key); });
}

std::vector<Board::GateNote> Board::gate_notes(std::size_t most) const {
    std::vector<GateNote> notes;
    for (const auto& [lane, state] : lanes_) {
        if (notes.size() >= most) break;
        const auto* known = type(lane);
        for (const auto& each : state.order.misnoted(most - notes.size())) {
            if (!each.parked || !known) {
                notes.push_back({each.id, std::nullopt});
                continue;
            }
            if (const auto group = state.groups.find(each.group);
                !each.held && group != state.groups.end() && group->second.gate) {
                notes.push_back({each.id, group->second.gate});
                continue;
            }
            const auto& key = each.group.key;
            const resource_manager::KeyConcurrency limiter{
                known->concurrency_key, known->concurrency_key_limit, &state.key_in_use, {}};
            if (each.held) {
                const auto batch = each.batch ? state.held_batches.find(*each.batch) : state.held_batches.end();
                if (batch != state.held_batches.end() && each.priority < batch->second.below)
                    notes.push_back({each.id, batch->second.gate});
                else if (state.held)
                    notes.push_back({each.id, state.held->gate});
                continue;
            }
            if (key.empty()) continue;
            auto gate = limiter.check({lane, key}, TimePoint{});
            if (!gate) {
                // Its key has room, but those before it will take it.
                gate = domain::Gate{domain::GateKind::key_concurrency,
                                    key,
                                    "others with " + known->concurrency_key + " = " + key + " go first",
                                    {{"limit", std::to_string(known->concurrency_key_limit)}},
                                    std::nullopt};
            }
            notes.push_back({each.id, std::move(gate)});
        }
    }
    return notes;
}

std::optional<TimePoint> Board::next_deadline() const {
    if (deadlines_.empty()) return std::nullopt;
    return deadlines_.begin()->first;
}

void Board::move_deadline(const ExecutionId& id, Live& live, TimePoint to) {
    deadlines_.erase({live.deadline, id});
    live.deadline = to;
    deadlines_.insert({live.deadline, id});
}

void Board::set_outage(std::optional<Outage> outage) {
    if (outage_ == outage) return;
    outage_ = outage;
    for (auto& [id, live] : live_) move_deadline(id, live, std::max(live.deadline, acted_on(live.timeout_at)));
}

void Board::put_off_deadline(const ExecutionId& id, TimePoint until) {
    if (const auto found = live_.find(id); found != live_.end()) move_deadline(id, found->second, until);
}

std::vector<Board::Passed> Board::passed_deadlines(TimePoint now, std::size_t most) const {
    std::vector<Passed> passed;
    for (const auto& [at, id] : deadlines_) {
        if (at > now || passed.size() >= most) break;
        const Live& live = live_.at(id);
        passed.push_back({id, live.attempt, live.state, live.endpoint, live.lane, live.timeout_at});
    }
    return passed;
}

std::vector<Board::Lapsed> Board::lapsed(const std::set<domain::NodeId>& alive, TimePoint now,
                                         domain::Duration patience) const {
    std::vector<Lapsed> found;
    for (const auto& id : in_flight_) {
        const Live& live = live_.at(id);
        const bool gone = !alive.contains(live.node);
        const bool late = live.state == domain::AttemptState::granted && live.granted_at + patience < now;
        if (gone || late) found.push_back({id, live.attempt, live.node, live.fence, live.endpoint, live.lane});
    }
    return found;
}

std::size_t Board::waiting() const {
    std::size_t total = 0;
    for (const auto& [lane, state] : lanes_) total += state.order.size();
    return total;
}

int Board::in_use(const Lane& lane) const {
    const auto found = lanes_.find(lane);
    return found == lanes_.end() ? 0 : found->second.in_use;
}

std::size_t Board::sending_at(const domain::NodeId& node) const {
    return static_cast<std::size_t>(std::count_if(in_flight_.begin(), in_flight_.end(),
                                                  [&](const ExecutionId& id) { return live_.at(id).node == node; }));
}

const priority_queue::Order* Board::order(const Lane& lane) const {
    const auto found = lanes_.find(lane);
    return found == lanes_.end() ? nullptr : &found->second.order;
}

std::vector<Board::LiveView> Board::live_views(std::size_t most) const {
    std::vector<LiveView> views;
    for (const auto& [at, id] : deadlines_) {
        if (views.size() >= most) break;
        views.push_back({id, live_.at(id).lane, at});
    }
    return views;
}

std::vector<Lane> Board::lanes() const {
    std::vector<Lane> lanes;
    for (const auto& [lane, state] : lanes_) lanes.push_back(lane);
    return lanes;
}

}
