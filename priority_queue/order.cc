#include "priority_queue/order.h"

#include <algorithm>
#include <utility>

namespace impresario::priority_queue {

using domain::TimePoint;

void Order::show(int priority, const Place& place, const Known& known) {
    levels_[static_cast<std::size_t>(priority)].places.insert(place);
    waiting_.insert({known.ready_at, place.id});
    ++shown_;
}

void Order::hide(int priority, const Place& place, const Known& known) {
    levels_[static_cast<std::size_t>(priority)].places.erase(place);
    if (!known.elder) waiting_.erase({known.ready_at, place.id});
    --shown_;
}

void Order::insert(const Entry& entry, int free_slots) {
    erase(entry.id);
    Level& level = levels_[static_cast<std::size_t>(entry.priority)];
    if (level.beyond > 0 && !entry.gated && Place{entry.created_at, entry.id} > level.last_held) {
        // Behind the window: the table keeps it. (What is noted as stopped is never read from there again.)
        skip(level, {entry.created_at, entry.id});
        return;
    }
    place(entry, free_slots);
    trim(entry.priority);
}

void Order::skip(Level& level, const Place& place) {
    ++level.beyond;
    ++beyond_total_;
    if (level.refilling && (!level.skipped || place < *level.skipped)) level.skipped = place;
}

void Order::place(const Entry& entry, int free_slots) {
    const Place place{entry.created_at, entry.id};
    Level& level = levels_[static_cast<std::size_t>(entry.priority)];
    Known known;
    known.priority = entry.priority;
    known.seq = entry.seq;
    known.created_at = entry.created_at;
    known.ready_at = entry.ready_at;
    known.gated = entry.gated;
    known.size_class = static_cast<std::int8_t>(entry.size_class);
    ++level.held;
    if (entry.batch) {
        auto& [batch, queue] = *batches_.try_emplace(*entry.batch).first;
        known.batch = &batch;
        queue.members.insert({entry.ready_at, entry.id});
    }
    known.need_amounts = join(need_amounts_, entry.need_amounts);
    known.limit_keys = join(limit_keys_, entry.limit_keys);
    if (is_held(known)) {
        known.held = known.parked = true;
        held_.insert_or_assign(entry.id, entry);
        index_.emplace(entry.id, known);
        note(entry.id, known);
        return;
    }
    if (entry.key.empty() && !by_limits_) {
        show(entry.priority, place, known);
        index_.emplace(entry.id, known);
        note(entry.id, known);
        return;
    }
    if (!entry.key.empty()) set_free_slots(entry.key, free_slots);
    const auto [at, fresh] = groups_.try_emplace(group_for(entry));
    auto& [group, queue] = *at;
    queue.free_slots = entry.key.empty() ? kAny : free_slots;
    if (fresh && by_limits_) {
        queue.limit_slots = 0;
        queue.noting = Noting::nobody;
    }
    if (by_limits_) changed_.insert(group);
    known.group = &group;
    known.parked = true;
    queue.parked[entry.priority].insert(place);
    queue.juniors.insert({entry.ready_at, entry.id});
    index_.emplace(entry.id, known);
    note(entry.id, known);
    balance(queue, entry.priority);
    balance_elders(queue);
}

Order::Group Order::group_for(const Entry& entry) const {
    return {entry.key, by_limits_ ? entry.limit_keys : std::string{}};
}

void Order::note(const domain::ExecutionId& id, const Known& known) {
    const bool wrong = known.parked != known.gated;
    if (!known.group || !by_limits_) {
        if (wrong) {
            misnoted_.insert(id);
        } else {
            misnoted_.erase(id);
        }
        return;
    }
    auto& queue = groups_.find(*known.group)->second;
    queue.unnoted.erase(id);
    queue.overnoted.erase(id);
    if (wrong) (known.parked ? queue.unnoted : queue.overnoted).insert(id);
    note_group(*known.group, queue);
}

void Order::note_group(const Group& group, KeyQueue& queue) {
    const bool parked = queue.noting == Noting::parked || queue.noting == Noting::everybody;
    const bool shown = queue.noting == Noting::shown || queue.noting == Noting::everybody;
    if ((parked && !queue.unnoted.empty()) || (shown && !queue.overnoted.empty())) {
        to_note_.insert(group);
    } else {
        to_note_.erase(group);
    }
}

bool Order::erase(const domain::ExecutionId& id) {
    const auto found = index_.find(id);
    if (found == index_.end()) return false;
    const Known known = found->second;
    const Place place{known.created_at, id};
    Level& level = levels_[static_cast<std::size_t>(known.priority)];
    --level.held;
    if (!known.parked) hide(known.priority, place, known);
    if (known.elder) waiting_.erase({known.ready_at, id});
    held_.erase(id);
    index_.erase(found);
    misnoted_.erase(id);
    leave_batch(known, id);
    leave(need_amounts_, known.need_amounts);
    leave(limit_keys_, known.limit_keys);
    if (known.group) {
        KeyQueue& queue = groups_.find(*known.group)->second;
        queue.unnoted.erase(id);
        queue.overnoted.erase(id);
        (known.elder ? queue.elders : queue.juniors).erase({known.ready_at, id});
        auto& side = known.parked ? queue.parked : queue.shown;
        const auto at = side.find(known.priority);
        at->second.erase(place);
        if (at->second.empty()) side.erase(at);
        balance(queue, known.priority);
        balance_elders(queue);
        const auto group = groups_.find(*known.group);
        if (by_limits_) note_group(group->first, queue);
        if (by_limits_) changed_.insert(group->first);
        if (queue.empty()) groups_.erase(group);
    }
    return true;
}

void Order::leave_batch(const Known& known, const domain::ExecutionId& id) {
    if (!known.batch) return;
    const auto found = batches_.find(*known.batch);
    found->second.members.erase({known.ready_at, id});
    if (found->second.below == 0 && found->second.members.empty()) batches_.erase(found);
}

const std::string* Order::join(Texts& texts, const std::string& text) {
    if (text.empty()) return nullptr;
    auto& [known, count] = *texts.try_emplace(text).first;
    ++count;
    return &known;
}

void Order::leave(Texts& texts, const std::string* text) {
    if (!text) return;
    const auto found = texts.find(*text);
    if (--found->second == 0) texts.erase(found);
}

bool Order::is_held(const Known& known) const {
    return known.priority < held_below_ || (known.batch && known.priority < batches_.find(*known.batch)->second.below);
}

Entry Order::entry_of(const domain::ExecutionId& id, const Known& known) const {
    if (known.held) return held_.at(id);
    Entry entry{id, known.priority, known.created_at, known.ready_at, {}, known.seq, known.gated, known.size_class};
    if (known.group) entry.key = known.group->key;
    if (known.batch) entry.batch = *known.batch;
    if (known.need_amounts) entry.need_amounts = *known.need_amounts;
    if (known.limit_keys) entry.limit_keys = *known.limit_keys;
    return entry;
}

/// Each to where it belongs now.
void Order::move_held(const std::vector<domain::ExecutionId>& ids, const FreeSlots& free_slots) {
    std::set<int> shown;
    for (const auto& id : ids) {
        const Known known = index_.at(id);
        if (known.held == is_held(known)) continue;
        const Entry entry = entry_of(id, known);
        erase(id);
        place(entry, entry.key.empty() ? 0 : free_slots(entry.key));
        if (known.held) shown.insert(known.priority);
    }
    for (const int priority : shown) trim(priority);
}

void Order::hold_below(int priority, const FreeSlots& free_slots) {
    if (held_below_ == priority) return;
    const int before = std::exchange(held_below_, priority);
    const int least = std::min(before, priority);
    const int most = std::max(before, priority);
    std::vector<domain::ExecutionId> ids;
    for (const auto& [id, known] : index_)
        if (known.priority >= least && known.priority < most) ids.push_back(id);
    // The same order on every machine.
    std::sort(ids.begin(), ids.end());
    move_held(ids, free_slots);
}

void Order::hold_below(const domain::BatchId& batch, int priority, const FreeSlots& free_slots) {
    if (priority == 0 && !batches_.contains(batch)) return;
    auto& queue = batches_[batch];
    if (queue.below == priority) return;
    queue.below = priority;
    std::vector<domain::ExecutionId> ids;
    for (const auto& each : queue.members) ids.push_back(each.id);
    move_held(ids, free_slots);
    const auto left = batches_.find(batch);
    if (left != batches_.end() && left->second.below == 0 && left->second.members.empty()) batches_.erase(left);
}

bool Order::has(const domain::BatchId& batch) const {
    const auto found = batches_.find(batch);
    return found != batches_.end() && !found->second.members.empty();
}

std::optional<Candidate> Order::eldest_of(const domain::BatchId& batch, TimePoint now,
                                          domain::Duration max_wait) const {
    if (!has(batch)) return std::nullopt;
    const auto& eldest = *batches_.find(batch)->second.members.begin();
    return candidate(eldest.id, eldest.ready_at < now - max_wait, now);
}

bool Order::erase(const domain::ExecutionId& id, int priority, TimePoint created_at) {
    if (erase(id)) return true;
    Level& level = levels_[static_cast<std::size_t>(priority)];
    // The last one stays counted: only an exhausted refill may say that the table has no more.
    if (level.beyond < 2 || Place{created_at, id} <= level.last_held) return false;
    --level.beyond;
    --beyond_total_;
    return true;
}

/// Brings one level of a key to its rule: the first `free_slots` are shown, the rest is parked.
void Order::balance(KeyQueue& queue, int priority) {
    const auto free_slots = queue.slots();
    auto& shown = queue.shown[priority];
    auto& parked = queue.parked[priority];
    const auto park_last = [&] {
        const Place last = *std::prev(shown.end());
        Known& known = index_.at(last.id);
        hide(priority, last, known);
        known.parked = true;
        note(last.id, known);
        shown.erase(std::prev(shown.end()));
        parked.insert(last);
    };
    while (shown.size() > free_slots) park_last();
    while (!parked.empty() &&
           (shown.size() < free_slots || (!shown.empty() && *parked.begin() < *std::prev(shown.end())))) {
        const Place first = *parked.begin();
        parked.erase(parked.begin());
        Known& known = index_.at(first.id);
        known.parked = false;
        note(first.id, known);
        shown.insert(first);
        show(priority, first, known);
        if (shown.size() > free_slots) park_last();
    }
    if (shown.empty()) queue.shown.erase(priority);
    if (parked.empty()) queue.parked.erase(priority);
}

/// The same for the key as a whole, by the time that they have waited.
void Order::balance_elders(KeyQueue& queue) {
    const auto free_slots = queue.slots();
    while (queue.elders.size() > free_slots || (!queue.elders.empty() && !queue.juniors.empty() &&
                                                *queue.juniors.begin() < *std::prev(queue.elders.end()))) {
        const auto last = queue.elders.extract(std::prev(queue.elders.end()));
        Known& known = index_.at(last.value().id);
        known.elder = false;
        if (known.parked) waiting_.erase(last.value());
        queue.juniors.insert(last.value());
    }
    while (queue.elders.size() < free_slots && !queue.juniors.empty()) {
        const auto first = queue.juniors.extract(queue.juniors.begin());
        index_.at(first.value().id).elder = true;
        waiting_.insert(first.value());
        queue.elders.insert(first.value());
    }
}

void Order::set_free_slots(const std::string& key, int free_slots) {
    for (auto at = groups_.lower_bound({key, {}}); at != groups_.end() && at->first.key == key; ++at) {
        if (at->second.free_slots == free_slots) continue;
        at->second.free_slots = free_slots;
        rebalance(at->second);
    }
}

void Order::rebalance(KeyQueue& queue) {
    std::set<int> priorities;
    for (const auto& [priority, places] : queue.shown) priorities.insert(priority);
    for (const auto& [priority, places] : queue.parked) priorities.insert(priority);
    for (const int priority : priorities) balance(queue, priority);
    balance_elders(queue);
}

void Order::show(const Group& group, int most, Noting noting) {
    const auto found = groups_.find(group);
    if (found == groups_.end()) return;
    KeyQueue& queue = found->second;
    queue.noting = noting;
    if (queue.limit_slots != most) {
        queue.limit_slots = most;
        rebalance(queue);
    }
    note_group(group, queue);
}

void Order::keep_by_limits(bool by_limits, const FreeSlots& free_slots) {
    if (by_limits_ == by_limits) return;
    std::vector<Entry> entries;
    for (const auto& [id, known] : index_)
        if (!known.held) entries.push_back(entry_of(id, known));
    // The same order on every machine.
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.id < b.id; });
    for (const auto& entry : entries) erase(entry.id);
    by_limits_ = by_limits;
    changed_.clear();
    for (const auto& entry : entries) place(entry, entry.key.empty() ? 0 : free_slots(entry.key));
    for (int priority = 0; priority < kLevels; ++priority) trim(priority);
}

std::optional<Order::Group> Order::group_of(const domain::ExecutionId& id) const {
    const auto found = index_.find(id);
    if (found == index_.end() || !found->second.group) return std::nullopt;
    return *found->second.group;
}

const Order::Waiting* Order::eldest(const KeyQueue& queue) {
    const Waiting* eldest = queue.elders.empty() ? nullptr : &*queue.elders.begin();
    if (!queue.juniors.empty() && (!eldest || *queue.juniors.begin() < *eldest)) eldest = &*queue.juniors.begin();
    return eldest;
}

std::optional<TimePoint> Order::starves_at(const Group& group, domain::Duration max_wait) const {
    const auto found = groups_.find(group);
    if (found == groups_.end()) return std::nullopt;
    const auto* first = eldest(found->second);
    // Beyond it, not at it.
    return first ? std::optional(first->ready_at + max_wait + domain::Duration{1}) : std::nullopt;
}

std::optional<Candidate> Order::first_of(const Group& group, TimePoint now, domain::Duration max_wait) const {
    const auto found = groups_.find(group);
    if (found == groups_.end()) return std::nullopt;
    const KeyQueue& queue = found->second;
    const auto* first = eldest(queue);
    if (first && first->ready_at < now - max_wait) return candidate(first->id, true, now);
    const Place* best = nullptr;
    Score highest = 0;
    const auto look = [&](const std::map<int, std::set<Place>>& side) {
        for (const auto& [priority, places] : side) {
            const Place& here = *places.begin();
            const Score its = score(priority, here.created_at, now);
            if (best && (its < highest || (its == highest && *best < here))) continue;
            best = &here;
            highest = its;
        }
    };
    look(queue.shown);
    look(queue.parked);
    if (!best) return std::nullopt;
    return candidate(best->id, false, now);
}

/// Lets the youngest go when a level has outgrown its window.
void Order::trim(int priority) {
    Level& level = levels_[static_cast<std::size_t>(priority)];
    // What is parked is not counted and not cut: nothing may wait in the table behind a key that is closed.
    while (level.places.size() > window_) {
        const auto last = std::prev(level.places.end());
        const Place gone = *last;
        const auto id = last->id;
        const auto known = index_.find(id);
        if (known->second.group != nullptr || known->second.gated) return;
        waiting_.erase({known->second.ready_at, id});
        misnoted_.erase(id);
        const Known left = known->second;
        index_.erase(known);
        leave_batch(left, id);
        leave(need_amounts_, left.need_amounts);
        leave(limit_keys_, left.limit_keys);
        level.places.erase(last);
        --level.held;
        --shown_;
        const Place kept = *std::prev(level.places.end());
        level.last_held = level.beyond == 0 ? kept : std::min(level.last_held, kept);
        skip(level, gone);
    }
}

void Order::set_window(std::size_t window) {
    window_ = window;
    for (int priority = 0; priority < kLevels; ++priority) trim(priority);
}

std::optional<int> Order::seq_of(const domain::ExecutionId& id) const {
    const auto found = index_.find(id);
    if (found == index_.end()) return std::nullopt;
    return found->second.seq;
}

std::vector<std::string> Order::keys() const {
    std::vector<std::string> keys;
    for (const auto& [group, queue] : groups_)
        if (!group.key.empty() && (keys.empty() || keys.back() != group.key)) keys.push_back(group.key);
    return keys;
}

std::vector<Order::Misnoted> Order::misnoted(std::size_t most) const {
    std::vector<Misnoted> found;
    const auto take = [&](const std::set<domain::ExecutionId>& ids) {
        for (const auto& id : ids) {
            if (found.size() >= most) return;
            const Known& known = index_.at(id);
            found.push_back({id, known.group ? *known.group : Group{}, known.parked, known.held, known.priority});
            if (known.batch) found.back().batch = *known.batch;
        }
    };
    take(misnoted_);
    for (const auto& group : to_note_) {
        const KeyQueue& queue = groups_.at(group);
        if (queue.noting != Noting::shown) take(queue.unnoted);
        if (queue.noting != Noting::parked) take(queue.overnoted);
    }
    return found;
}

std::optional<TimePoint> Order::oldest_ready() const {
    std::optional<TimePoint> oldest;
    if (!waiting_.empty()) oldest = waiting_.begin()->ready_at;
    return oldest;
}

std::vector<domain::ExecutionId> Order::ready_before(TimePoint time, std::size_t most) const {
    std::vector<domain::ExecutionId> found;
    const auto take = [&](const std::set<Waiting>& waiting) {
        for (const auto& each : waiting) {
            if (each.ready_at >= time || found.size() >= most) return;
            found.push_back(each.id);
        }
    };
    // Of those behind a key the juniors are in its own list only, unless they are shown; elders are among the others.
    take(waiting_);
    const std::set<domain::ExecutionId> taken(found.begin(), found.end());
    for (const auto& [group, queue] : groups_)
        for (const auto& each : queue.juniors) {
            if (each.ready_at >= time || found.size() >= most) break;
            if (!taken.contains(each.id)) found.push_back(each.id);
        }
    return found;
}

std::map<int, std::size_t> Order::by_priority() const {
    std::map<int, std::size_t> counts;
    for (int priority = 0; priority < kLevels; ++priority) {
        const Level& level = levels_[static_cast<std::size_t>(priority)];
        if (level.held + level.beyond > 0) counts[priority] = level.held + level.beyond;
    }
    return counts;
}

std::optional<Order::Refill> Order::wants_refill() {
    if (beyond_total_ == 0) return std::nullopt;
    for (int priority = 0; priority < kLevels; ++priority) {
        Level& level = levels_[static_cast<std::size_t>(priority)];
        if (level.beyond == 0 || level.refilling) continue;
        const std::size_t shown = level.places.size();
        if (shown > window_ / 2 && *level.places.begin() <= level.last_held) continue;
        level.refilling = true;
        level.skipped.reset();
        const std::size_t room = window_ - std::min(shown, window_ / 2);
        return Refill{priority, level.last_held.created_at, level.last_held.id, std::min(room, kPage), ++level.ticket};
    }
    return std::nullopt;
}

void Order::refill(const Refill& refill, const std::optional<std::vector<Entry>>& rows, bool exhausted,
                   const std::function<int(const std::string&)>& free_slots) {
    Level& level = levels_[static_cast<std::size_t>(refill.priority)];
    if (level.ticket != refill.ticket) return;
    level.refilling = false;
    if (!rows) return;
    for (const Entry& entry : *rows) {
        const Place here{entry.created_at, entry.id};
        // The next reading begins at the hole.
        if (level.skipped && here > *level.skipped) break;
        level.last_held = std::max(level.last_held, here);
        if (!index_.contains(entry.id)) place(entry, entry.key.empty() ? 0 : free_slots(entry.key));
        if (level.beyond > 1) {
            --level.beyond;
            --beyond_total_;
        }
    }
    if (exhausted && !level.skipped) {
        beyond_total_ -= level.beyond;
        level.beyond = 0;
    }
}

void Order::expect(int priority, std::size_t count) {
    Level& level = levels_[static_cast<std::size_t>(priority)];
    level.beyond += count;
    beyond_total_ += count;
    // Older ones than those held may be among them.
    level.last_held = kBeforeAll;
}

Cursor::Cursor(const Order& order, TimePoint now, domain::Duration max_wait)
    : order_(order), now_(now), starving_before_(now - max_wait), waiting_(order.waiting_.begin()) {
    for (int priority = Order::kLevels - 1; priority >= 0; --priority) {
        const auto& places = order.levels_[static_cast<std::size_t>(priority)].places;
        if (!places.empty()) levels_.push_back({priority, places.begin(), places.end()});
    }
    find();
}

Candidate Order::candidate(const domain::ExecutionId& id, bool starving, TimePoint now) const {
    const auto& known = index_.at(id);
    return {id,
            known.priority,
            known.created_at,
            known.ready_at,
            known.group && !known.group->key.empty() ? &known.group->key : nullptr,
            starving,
            score(known.priority, known.created_at, now),
            known.size_class,
            known.batch,
            known.need_amounts,
            known.limit_keys};
}

/// Moves a level on to its next entry that has not come out among the starving.
void Cursor::settle(LevelCursor& level) const {
    while (level.at != level.end && order_.index_.at(level.at->id).ready_at < starving_before_) ++level.at;
}

void Cursor::find() {
    head_.reset();
    if (!starving_over_) {
        if (waiting_ != order_.waiting_.end() && waiting_->ready_at < starving_before_) {
            head_ = order_.candidate(waiting_->id, true, now_);
            return;
        }
        starving_over_ = true;
        for (auto& level : levels_) settle(level);
    }
    Score best = 0;
    const Order::Place* place = nullptr;
    for (std::size_t i = 0; i < levels_.size(); ++i) {
        const auto& level = levels_[i];
        if (level.at == level.end) continue;
        const Score here = score(level.priority, level.at->created_at, now_);
        if (!place || here > best || (here == best && *level.at < *place)) {
            best = here;
            place = &*level.at;
            best_ = i;
        }
    }
    if (place) head_ = order_.candidate(place->id, false, now_);
}

void Cursor::advance() {
    if (!head_) return;
    if (!starving_over_) {
        ++waiting_;
    } else {
        ++levels_[best_].at;
        settle(levels_[best_]);
    }
    find();
}

}
