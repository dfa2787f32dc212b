#include "orchestrator/gate_history.h"

#include <algorithm>

namespace impresario::orchestrator {

using domain::Duration;
using domain::Gate;
using domain::GateKind;
using domain::Lane;
using domain::TimePoint;
using std::chrono::seconds;

namespace {
/// Closings too short to be shown are written together, so long after the first of them.
constexpr Duration kBriefFlush = seconds{5};
/// How often the numbers of a closed gate are written anew, and that it is still closed.
constexpr Duration kNumbersEvery = seconds{10};
constexpr Duration kStillClosedEvery = seconds{60};
}

void GateHistory::clear() {
    lanes_.clear();
    seen_at_.reset();
}

void GateHistory::load(const std::vector<RecordedGate>& recorded) {
    clear();
    for (const auto& each : recorded) {
        Known known;
        known.gate.id = ++last_id_;
        known.gate.lane = each.lane;
        known.gate.gate = each.gate;
        known.gate.first_numbers = each.gate.numbers;
        known.gate.first = known.gate.closed_since = known.gate.seen_at = each.since;
        known.recorded = true;
        known.shown = each.gate;
        known.shown_at = each.since;
        lanes_[each.lane] = {std::move(known)};
    }
}

GateHistory::Known* GateHistory::closed_now(Closings& closings) {
    return closings.empty() || closings.back().gate.until ? nullptr : &closings.back();
}

/// What is closed now opens. One that nobody has been shown joins the one before of its kind.
void GateHistory::end(Closings& closings, TimePoint now) {
    auto& last = closings.back();
    last.gate.until = std::max(now, last.gate.closed_since);
    last.gate.closed += *last.gate.until - last.gate.closed_since;
    if (last.recorded || last.under_way) return;
    const auto before = std::find_if(closings.begin(), closings.end() - 1, [&](const Known& each) {
        return !each.recorded && !each.under_way && same(each.gate.gate, last.gate.gate);
    });
    if (before == closings.end() - 1) return;
    auto& joined = before->gate;
    joined.gate = last.gate.gate;
    joined.closed_since = last.gate.closed_since;
    joined.seen_at = last.gate.seen_at;
    joined.until = last.gate.until;
    joined.times += last.gate.times;
    joined.seen += last.gate.seen;
    joined.closed += last.gate.closed;
    closings.pop_back();
}

/// A gate closes: anew, or once more before anybody was told that it had opened.
GateHistory::Known& GateHistory::begin(Closings& closings, const Lane& lane, const Gate& gate, TimePoint now) {
    const auto shown = std::find_if(closings.begin(), closings.end(), [&](const Known& each) {
        return each.recorded && !each.under_way && same(each.gate.gate, gate);
    });
    Known known;
    if (shown != closings.end()) {
        known = std::move(*shown);
        closings.erase(shown);
    } else {
        known.gate.id = ++last_id_;
        known.gate.lane = lane;
        known.gate.first_numbers = gate.numbers;
        known.gate.first = now;
    }
    ++known.gate.times;
    known.gate.closed_since = now;
    known.gate.until.reset();
    return closings.emplace_back(std::move(known));
}

std::vector<GateHistory::Passed> GateHistory::see(const std::map<Lane, std::optional<Gate>>& gates, TimePoint now) {
    std::vector<Passed> passed;
    for (const auto& [lane, gate] : gates)
        if (gate) lanes_.try_emplace(lane);
    for (auto& [lane, closings] : lanes_) {
        // Where nothing waits any more nothing is stopped.
        const auto found = gates.find(lane);
        const Gate* gate = found != gates.end() && found->second ? &*found->second : nullptr;
        Known* closed = closed_now(closings);
        if (closed && seen_at_) {
            const auto length = now - std::max(closed->gate.closed_since, *seen_at_);
            if (length > Duration::zero()) passed.push_back({lane, closed->gate.gate.kind, length});
        }
        if (closed && !(gate && same(closed->gate.gate, *gate))) {
            end(closings, now);
            closed = nullptr;
        }
        if (!gate) continue;
        if (!closed) closed = &begin(closings, lane, *gate, now);
        closed->gate.gate = *gate;
        closed->gate.seen_at = std::max(now, closed->gate.closed_since);
        ++closed->gate.seen;
    }
    std::erase_if(lanes_, [](const auto& each) { return each.second.empty(); });
    seen_at_ = now;
    return passed;
}

bool GateHistory::to_be_shown(const Known& known, TimePoint now) const {
    const auto& gate = known.gate.gate;
    // These close with each start, or each end.
    const bool moves = gate.kind == GateKind::provider || gate.kind == GateKind::execution_interval ||
                       gate.kind == GateKind::cool_down;
    const bool lasting = gate.kind == GateKind::paused || gate.cooling || (gate.opens_at && !moves);
    return lasting || now - known.gate.closed_since >= debounce_;
}

bool GateHistory::worth_renewing(const Known& known, TimePoint now) {
    const bool other_numbers = known.gate.gate.numbers != known.shown.numbers;
    return now - known.shown_at >= (other_numbers ? kNumbersEvery : kStillClosedEvery);
}

std::vector<GateWrite> GateHistory::due(TimePoint now) {
    std::vector<GateWrite> writes;
    for (auto& [lane, closings] : lanes_) {
        const Known* closed = closed_now(closings);
        const bool shows = closed && (closed->recorded || to_be_shown(*closed, now));
        for (auto& each : closings) {
            if (each.under_way) continue;
            auto write = each.gate;
            if (each.gate.until) {
                // Until the next is shown, the one before still is.
                const bool over = each.recorded ? !closed || shows : shows || now - each.gate.first >= kBriefFlush;
                if (!over) continue;
                write.opens = each.recorded && !closed;
            } else {
                write.stops = each.recorded ? !each.gate.gate.same_as(each.shown) : shows;
                if (!write.stops && !(each.recorded && worth_renewing(each, now))) continue;
            }
            each.under_way = true;
            writes.push_back(std::move(write));
        }
    }
    return writes;
}

void GateHistory::written(const std::vector<GateWrite>& writes, const std::set<Lane>& lanes, TimePoint now) {
    for (const auto& write : writes) {
        const auto lane = lanes_.find(write.lane);
        if (lane == lanes_.end()) continue;
        auto& closings = lane->second;
        const auto known =
            std::find_if(closings.begin(), closings.end(), [&](const Known& each) { return each.gate.id == write.id; });
        if (known == closings.end()) continue;
        known->under_way = false;
        if (!lanes.contains(write.lane)) continue;
        known->recorded = true;
        known->shown = write.gate;
        known->shown_at = now;
        known->gate.times -= write.times;
        known->gate.seen -= write.seen;
        known->gate.closed -= write.closed;
        if (write.until) closings.erase(known);
    }
    std::erase_if(lanes_, [](const auto& each) { return each.second.empty(); });
}

}
