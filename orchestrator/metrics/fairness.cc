#include "orchestrator/metrics/fairness.h"

#include <set>

#include "orchestrator/board.h"

namespace impresario::orchestrator::metrics {

void Fairness::show(const Board& board, domain::TimePoint now) {
    if (!board.shares()) return show_nothing();
    std::set<std::string> organizations;
    for (const auto& [lane, type] : board.catalogue()->types) organizations.insert(lane.organization_id);
    for (const auto& each : board.shares()->standings(now)) {
        const domain::Lane lane{each.share.organization_id, each.share.workflow_type};
        if (!lane.workflow_type.empty() ? !board.catalogue()->find(lane)
                                        : !organizations.contains(lane.organization_id))
            continue;
        const auto set = [&](const char* what, double percent) {
            share.set({lane.organization_id, lane.workflow_type, what}, percent / 100);
        };
        set("asked", each.asked_percent.value_or(0));
        set("had", each.had_percent.value_or(0));
        set("minimum", each.share.minimum_percent);
        behind.set({lane.organization_id, lane.workflow_type}, each.behind);
    }
    show_nothing();
}

void Fairness::show_nothing() {
    share.drop_unset();
    behind.drop_unset();
}

}
