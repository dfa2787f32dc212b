// Of the board: limits whose key is taken from the input. What waits in a lane with the same keys is one group; it is
// asked about as its first is, and while that does not fit none of it is shown (protocol R15).
#include <algorithm>

#include "domain/limit_keys.h"
#include "orchestrator/board.h"

namespace impresario::orchestrator {

using domain::Lane;
using domain::TimePoint;
using priority_queue::Order;
using resource_manager::KeyShare;
using Noting = Order::Noting;

namespace {
/// What is closed for less is not written down (and what is open for less not struck out).
constexpr domain::Duration kLasting = std::chrono::seconds{1};

KeyShare& share_at(PlanInput& input, std::size_t place) { return std::get<KeyShare>(input.admission.at(place)); }
}

/// Whether a limit that falls on the lane has a key; its order is kept accordingly.
bool Board::by_limits(const Lane& lane, LaneState& state, const Applied& rates) {
    const bool keyed = std::any_of(rates.begin(), rates.end(), [](const auto& each) { return each.keys != nullptr; });
    if (keyed != state.order.by_limits()) {
        state.order.keep_by_limits(keyed, [&](const std::string& key) { return free_slots(lane, state, key); });
        state.groups.clear();
        state.restless.clear();
        state.settling.clear();
        state.sleepers.clear();
    }
    return keyed;
}

void Board::set_free_slots(const Lane& lane, LaneState& state, const std::string& key) {
    state.order.set_free_slots(key, free_slots(lane, state, key));
    for (auto at = state.groups.lower_bound({key, {}}); at != state.groups.end() && at->first.key == key; ++at)
        if (!state.sleepers.has(at->first)) state.restless.insert(at->first);
}

/// The meters, or which of them fall on whom, are others.
void Board::count_keys_anew() {
    meters_.nobody_waits();
    for (auto& [lane, state] : lanes_) {
        state.sleepers.clear();
        for (auto& [group, known] : state.groups) {
            known.asks.clear();
            state.restless.insert(group);
        }
    }
}

void Board::behind_keys(const Plan& plan) {
    for (const auto& [lane, id] : plan.behind_keys) {
        LaneState& state = lane_state(lane);
        if (auto group = state.order.group_of(id)) state.restless.insert(*std::move(group));
    }
}

/// Whose time has come, and whose account something has left.
void Board::wake_keys(PlanInput& input, TimePoint now) {
    // Several lanes share it, and each is to hear.
    std::map<std::size_t, std::set<std::string>> eased;
    for (const auto& view : input.lanes)
        for (const auto place : view.key_shares)
            if (const auto [at, fresh] = eased.try_emplace(place); fresh)
                at->second = share_at(input, place).keys->take_eased();
    for (const auto& view : input.lanes) {
        if (view.key_shares.empty()) continue;
        auto& state = lanes_.at(view.lane);
        const auto rouse = [&](std::vector<Order::Group> groups) {
            for (auto& group : groups) state.restless.insert(std::move(group));
        };
        rouse(state.sleepers.wake_due(now));
        while (!state.settling.empty() && state.settling.begin()->first <= now)
            state.restless.insert(state.settling.extract(state.settling.begin()).value().second);
        for (std::size_t i = 0; i < view.key_shares.size(); ++i)
            for (const auto& key : eased.at(view.key_shares[i])) rouse(state.sleepers.wake_all_of({i, key}));
    }
}

/// Who has something waiting is known of all lanes before anybody is asked about.
void Board::count_keys(PlanInput& input, const LaneView& view, LaneState& state, TimePoint now) {
    const bool stopped = input.admission.stopped(view.demand({}), view.limiters, now);
    if (std::exchange(state.stopped, stopped) != stopped)
        for (const auto& [group, known] : state.groups)
            if (!state.sleepers.has(group)) state.restless.insert(group);
    for (const auto& group : state.order.take_changed_groups()) {
        if (state.order.has(group)) state.groups.try_emplace(group, KeyGroup{{}, std::nullopt, 0, now});
        state.sleepers.wake(group);
        state.restless.insert(group);
    }
    for (auto at = state.restless.begin(); at != state.restless.end();) {
        const auto found = state.groups.find(*at);
        if (found == state.groups.end()) {
            at = state.restless.erase(at);
            continue;
        }
        auto& [group, known] = *found;
        const bool there = state.order.has(group);
        std::vector<std::int64_t> asks(view.key_shares.size(), 0);
        if (there && !stopped && (group.key.empty() || free_slots(view.lane, state, group.key) > 0)) {
            const auto demand = view.demand(*state.order.first_of(group, now, view.max_wait));
            // What one limit closes waits for that one, and keeps nothing of the others idle.
            for (std::size_t i = 0; i < asks.size(); ++i)
                if (!known.gate || known.closed_by == i) asks[i] = share_at(input, view.key_shares[i]).asked(demand);
        }
        if (asks != known.asks) {
            for (std::size_t i = 0; i < asks.size(); ++i) {
                auto& share = share_at(input, view.key_shares[i]);
                const auto key = domain::limit_key(group.limit_keys, share.pointer);
                if (i < known.asks.size() && known.asks[i] > 0) share.keys->waits(key, known.asks[i], -1);
                if (asks[i] > 0) share.keys->waits(key, asks[i], 1);
            }
            known.asks = std::move(asks);
        }
        if (there) {
            ++at;
        } else {
            state.groups.erase(found);
            at = state.restless.erase(at);
        }
    }
}

bool Board::counts_only(const KeyGroup& known) {
    for (std::size_t i = 0; i < known.asks.size(); ++i)
        if (i != known.closed_by && known.asks[i] != 0) return false;
    return true;
}

void Board::ask_group(PlanInput& input, const LaneView& view, LaneState& state, const Order::Group& group,
                      TimePoint now) {
    auto& known = state.groups.at(group);
    const auto first = state.order.first_of(group, now, view.max_wait);
    const auto demand = view.demand(*first);
    std::optional<domain::Gate> gate;
    for (std::size_t i = 0; i < view.key_shares.size() && !gate; ++i) {
        gate = share_at(input, view.key_shares[i]).check(demand, now);
        if (gate) known.closed_by = i;
    }
    if (gate.has_value() != known.gate.has_value()) known.since = now;
    known.gate = std::move(gate);
    const auto lasts_from = known.since + kLasting;
    const bool lasting = now >= lasts_from;
    Noting noting = Noting::nobody;
    if (lasting) noting = known.gate ? Noting::parked : Noting::shown;
    // Of a concurrency key everything is written down, as where no limit has a key.
    if (!known.gate && !group.key.empty()) noting = Noting::everybody;
    if (!known.gate) {
        // Whoever finds it closed in its turn says so.
        state.order.show(group, Order::kShownOfGroup, noting);
        state.restless.erase(group);
        if (!lasting) state.settling.emplace(lasts_from, group);
        return;
    }
    const auto& share = share_at(input, view.key_shares[known.closed_by]);
    auto until = counts_only(known) ? share.closed_until(demand, now) : std::nullopt;
    // One beyond its max_wait is asked in its turn: what it lacks then is kept for it.
    state.order.show(group, demand.starving && !until ? 1 : 0, noting);
    if (!until) {
        input.next_opening = domain::earlier(input.next_opening, known.gate->opens_at);
        if (!lasting) input.next_opening = domain::earlier(input.next_opening, lasts_from);
        return;
    }
    if (!demand.starving) until = std::min(*until, *state.order.starves_at(group, view.max_wait));
    if (!lasting) until = std::min(*until, lasts_from);
    state.sleepers.sleep(group, {known.closed_by, share.key(demand)}, *until);
    state.restless.erase(group);
}

void Board::ask_keys(PlanInput& input, TimePoint now) {
    wake_keys(input, now);
    for (const auto& view : input.lanes)
        if (!view.key_shares.empty()) count_keys(input, view, lanes_.at(view.lane), now);
    for (const auto& view : input.lanes) {
        if (view.key_shares.empty()) continue;
        auto& state = lanes_.at(view.lane);
        const std::vector<Order::Group> groups(state.restless.begin(), state.restless.end());
        for (const auto& group : groups) ask_group(input, view, state, group, now);
        input.next_opening = domain::earlier(input.next_opening, state.sleepers.next_due());
        if (!state.settling.empty())
            input.next_opening = domain::earlier(input.next_opening, state.settling.begin()->first);
    }
}

}
