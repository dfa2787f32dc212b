#include "orchestrator/metrics/queue.h"

#include <array>
#include <limits>
#include <utility>

#include "orchestrator/board.h"

namespace impresario::orchestrator::metrics {

namespace {
constexpr std::size_t kMostStarving = 1000;
constexpr std::array<const char*, 4> kBands{"low", "normal", "high", "critical"};

/// Of a hundred levels, such that people can read them.
std::size_t band(int priority) { return priority >= 90 ? 3 : priority >= 70 ? 2 : priority >= 50 ? 1 : 0; }

double drains_in(const resource_manager::QueueLength& queue) {
    if (queue.waiting == 0) return 0;
    if (queue.per_minute <= 0) return std::numeric_limits<double>::infinity();
    return static_cast<double>(queue.waiting) / queue.per_minute * 60;
}
}

void Queue::show(const Board& board, domain::TimePoint now) {
    for (const auto& lane : board.lanes()) {
        const platform::LabelValues of{lane.organization_id, lane.workflow_type};
        const auto* order = board.order(lane);
        std::array<double, kBands.size()> bands{};
        for (const auto& [priority, count] : order->by_priority()) bands[band(priority)] += static_cast<double>(count);
        for (std::size_t i = 0; i < kBands.size(); ++i)
            depth.set({lane.organization_id, lane.workflow_type, kBands[i]}, bands[i]);
        const auto since = order->oldest_ready();
        oldest.set(of, since ? domain::in_seconds(now - *since) : 0);
        const auto* type = board.catalogue()->find(lane);
        starving.set(of,
                     type ? static_cast<double>(order->ready_before(now - type->max_wait, kMostStarving).size()) : 0);
        drain.set(of, drains_in(board.queue_length(lane)));
    }
    show_nothing();
}

void Queue::show_nothing() {
    for (auto* gauge : {&depth, &oldest, &starving, &drain}) gauge->drop_unset();
}

}
