#pragma once
// A lane that takes part in a plan, and who of two goes first by the score.

#include <tuple>

#include "orchestrator/plan.h"

namespace impresario::orchestrator {

struct Runner {
    const LaneView* view;
    priority_queue::Cursor cursor;
};

/// Whether a's head goes before b's: first those beyond their lane's max_wait, oldest first, then by score.
inline bool before(const priority_queue::Cursor::Candidate& a, const priority_queue::Cursor::Candidate& b) {
    if (a.starving != b.starving) return a.starving;
    if (a.starving) return std::tie(a.ready_at, a.id) < std::tie(b.ready_at, b.id);
    if (a.score != b.score) return a.score > b.score;
    return std::tie(a.created_at, a.id) < std::tie(b.created_at, b.id);
}

}
