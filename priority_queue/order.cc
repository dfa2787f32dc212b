#include "priority_queue/order.h"

#include <algorithm>

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
    Known known{entry.priority, entry.created_at, entry.ready_at, nullptr, entry.seq, false, entry.gated};
    ++level.held;
    if (entry.key.empty()) {
        show(entry.priority, place, known);
        index_.emplace(entry.id, known);
        note(entry.id, known);
        return;
    }
    set_free_slots(entry.key, free_slots);
    auto& [key, queue] = *keys_.try_emplace(entry.key).first;
    queue.free_slots = free_slots;
    known.key = &key;
    known.parked = true;
    queue.parked[entry.priority].insert(place);
    queue.juniors.insert({entry.ready_at, entry.id});
    index_.emplace(entry.id, known);
    note(entry.id, known);
    balance(queue, entry.priority);
    balance_elders(queue);
}

void Order::note(const domain::ExecutionId& id, const Known& known) {
    if (known.parked != known.gated) {
        misnoted_.insert(id);
    } else {
        misnoted_.erase(id);
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
    index_.erase(found);
    misnoted_.erase(id);
    if (known.key) {
        KeyQueue& queue = keys_.find(*known.key)->second;
        (known.elder ? queue.elders : queue.juniors).erase({known.ready_at, id});
        auto& side = known.parked ? queue.parked : queue.shown;
        const auto at = side.find(known.priority);
        at->second.erase(place);
        if (at->second.empty()) side.erase(at);
        balance(queue, known.priority);
        balance_elders(queue);
        if (queue.empty()) keys_.erase(keys_.find(*known.key));
    }
    return true;
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
    const auto free_slots = static_cast<std::size_t>(std::max(queue.free_slots, 0));
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
    const auto free_slots = static_cast<std::size_t>(std::max(queue.free_slots, 0));
    while (queue.elders.size() > free_slots ||
           (!queue.elders.empty() && !queue.juniors.empty() && *queue.juniors.begin() < *std::prev(queue.elders.end()))) {
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
    const auto found = keys_.find(key);
    if (found == keys_.end() || found->second.free_slots == free_slots) return;
    KeyQueue& queue = found->second;
    queue.free_slots = free_slots;
    std::set<int> priorities;
    for (const auto& [priority, places] : queue.shown) priorities.insert(priority);
    for (const auto& [priority, places] : queue.parked) priorities.insert(priority);
    for (const int priority : priorities) balance(queue, priority);
    balance_elders(queue);
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
        if (known->second.key != nullptr || known->second.gated) return;
        waiting_.erase({known->second.ready_at, id});
        misnoted_.erase(id);
        index_.erase(known);
        level.places.erase(last);
        --level.held;
        --shown_;
        const Place kept = *std::prev(level.places.end());
        level.last_held = level.beyond == 0 ? kept : std::min(level.last_held, kept);
        skip(level, gone);
    }
}

std::optional<int> Order::seq_of(const domain::ExecutionId& id) const {
    const auto found = index_.find(id);
    if (found == index_.end()) return std::nullopt;
    return found->second.seq;
}

std::vector<std::string> Order::keys() const {
    std::vector<std::string> keys;
    for (const auto& [key, queue] : keys_) keys.push_back(key);
    return keys;
}

std::vector<Order::Misnoted> Order::misnoted(std::size_t most) const {
    std::vector<Misnoted> found;
    for (const auto& id : misnoted_) {
        if (found.size() >= most) break;
        const Known& known = index_.at(id);
        found.push_back({id, known.key ? *known.key : std::string{}, known.parked});
    }
    return found;
}

std::optional<TimePoint> Order::oldest_ready() const {
    std::optional<TimePoint> oldest;
    if (!waiting_.empty()) oldest = waiting_.begin()->ready_at;
    return oldest;
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

Cursor::Candidate Cursor::candidate(const domain::ExecutionId& id, bool starving) const {
    const auto& known = order_.index_.at(id);
    return {id,
            known.priority,
            known.created_at,
            known.ready_at,
            known.key,
            starving,
            score(known.priority, known.created_at, now_)};
}

/// Moves a level on to its next entry that has not come out among the starving.
void Cursor::settle(LevelCursor& level) const {
    while (level.at != level.end && order_.index_.at(level.at->id).ready_at < starving_before_) ++level.at;
}

void Cursor::find() {
    head_.reset();
    if (!starving_over_) {
        if (waiting_ != order_.waiting_.end() && waiting_->ready_at < starving_before_) {
            head_ = candidate(waiting_->id, true);
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
    if (place) head_ = candidate(place->id, false);
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
