#include "orchestrator/plan.h"

#include <algorithm>

namespace impresario::orchestrator {

using priority_queue::Cursor;

namespace {

struct Runner {
    const LaneView* view;
    Cursor cursor;
};

/// Whether a's head goes before b's.
bool before(const Cursor::Candidate& a, const Cursor::Candidate& b) {
    if (a.starving != b.starving) return a.starving;
    if (a.starving) return std::tie(a.ready_at, a.id) < std::tie(b.ready_at, b.id);
    if (a.score != b.score) return a.score > b.score;
    return std::tie(a.created_at, a.id) < std::tie(b.created_at, b.id);
}

}

Plan plan(PlanInput input, domain::TimePoint now) {
    Plan result;
    std::vector<Runner> runners;
    runners.reserve(input.lanes.size());
    const auto note_opening = [&](const domain::Gate& gate) {
        result.next_opening = domain::earlier(result.next_opening, gate.opens_at);
    };
    for (const auto& lane : input.lanes) {
        Cursor cursor(*lane.order, now, lane.max_wait);
        // One that starves is asked about in its turn: what it lacks then is kept for it.
        if (!cursor.head() || !cursor.head()->starving) {
            auto closed = input.admission.closed(lane.demand({}, false), lane.limiters, now);
            if (closed) {
                note_opening(*closed);
                result.gates[lane.lane] = *std::move(closed);
                continue;
            }
        }
        result.gates[lane.lane] = std::nullopt;
        if (cursor.head()) runners.push_back({&lane, std::move(cursor)});
    }

    // A heap of lanes by their heads: one grant costs its lane's cursor and log(lanes).
    std::vector<std::size_t> heap(runners.size());
    for (std::size_t i = 0; i < heap.size(); ++i) heap[i] = i;
    const auto worse = [&](std::size_t a, std::size_t b) {
        return before(*runners[b].cursor.head(), *runners[a].cursor.head());
    };
    std::make_heap(heap.begin(), heap.end(), worse);
    while (!heap.empty()) {
        if (static_cast<int>(result.grants.size()) >= input.most) {
            result.more = true;
            break;
        }
        std::pop_heap(heap.begin(), heap.end(), worse);
        Runner& runner = runners[heap.back()];
        const auto& head = *runner.cursor.head();
        const auto verdict = input.admission.admit(
            runner.view->demand(head.key ? *head.key : std::string{}, head.starving), runner.view->limiters, now);
        if (const auto* granted = std::get_if<resource_manager::Granted>(&verdict)) {
            result.grants.push_back({head.id, runner.view->lane, granted->endpoint, runner.view->needs});
        } else {
            const auto& deferred = std::get<resource_manager::Deferred>(verdict);
            note_opening(deferred.gate);
            if (deferred.whole_lane) {
                result.gates[runner.view->lane] = deferred.gate;
                heap.pop_back();
                continue;
            }
        }
        runner.cursor.advance();
        if (runner.cursor.head()) {
            std::push_heap(heap.begin(), heap.end(), worse);
        } else {
            heap.pop_back();
        }
    }
    return result;
}

}
