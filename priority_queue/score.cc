#include "priority_queue/score.h"

namespace impresario::priority_queue {

ScoreParts score_parts(int priority, domain::TimePoint created_at, domain::TimePoint now) {
    const double base = 10.0 * priority;
    const double whole = static_cast<double>(score(priority, created_at, now)) / static_cast<double>(kPoint);
    const double starvation = (now - created_at).count() > 30 * kPoint ? 50.0 : 0.0;
    return {base, whole - base - starvation, starvation};
}

}
