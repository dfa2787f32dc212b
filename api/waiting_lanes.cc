#include "api/waiting_lanes.h"

#include <algorithm>

#include "api_sql.h"
#include "platform/read_rows.h"
#include "priority_queue/queue_store.h"
#include "resource_manager/estimate_store.h"

namespace impresario::api {

std::map<domain::Lane, std::int64_t> count_waiting(platform::Tx& tx) {
    std::map<domain::Lane, std::int64_t> waiting;
    const auto levels = priority_queue::QueueStore().count_levels(tx);
    for (const auto& level : levels) waiting[level.lane] += static_cast<std::int64_t>(level.count);
    return waiting;
}

std::vector<resource_manager::WaitingLane> waiting_lanes(platform::Tx& tx, const subworkflows::Catalogue& catalogue,
                                                         domain::MicroUsd unknown_cost) {
    const auto waiting = count_waiting(tx);
    const auto estimates = resource_manager::EstimateStore().load(tx);
    std::vector<resource_manager::WaitingLane> lanes;
    for (const auto& [lane, type] : catalogue.types) {
        const auto count = waiting.find(lane);
        const auto learnt = estimates.find(lane);
        const resource_manager::PriceList prices(type.needs, type.cost_estimate,
                                                 learnt == estimates.end() ? nullptr : &learnt->second, unknown_cost);
        lanes.push_back({lane, count == waiting.end() ? 0 : count->second, prices.at(0), type.importance});
    }
    return lanes;
}

void add_keys(platform::Tx& tx, const std::string& provider, std::vector<resource_manager::WaitingLane>& lanes) {
    for (auto& each : lanes) {
        const auto& needs = each.price.needs;
        if (std::none_of(needs.begin(), needs.end(), [&](const auto& need) { return need.provider == provider; }))
            continue;
        const auto rows = tx.exec(sql::waiting_by_keys,
                                  platform::Params().add(each.lane.organization_id).add(each.lane.workflow_type));
        each.keys = platform::read_rows(rows, [](platform::RowReader& row) {
            resource_manager::WaitingLane::SameKeys same;
            same.limit_keys = row.text();
            same.waiting = row.integer();
            return same;
        });
    }
}

}
