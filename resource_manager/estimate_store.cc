#include "resource_manager/estimate_store.h"

#include "resource_manager_sql.h"

namespace impresario::resource_manager {

using platform::Params;
using platform::RowReader;
using platform::SqlArray;
using platform::Tx;

std::map<domain::Lane, TypeEstimates> EstimateStore::load(Tx& tx) const {
    std::map<domain::Lane, TypeEstimates> estimates;
    const auto rows = tx.exec(sql::load_estimates);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RowReader row(rows, i);
        domain::Lane lane;
        lane.organization_id = row.text();
        lane.workflow_type = row.text();
        estimates.emplace(std::move(lane), TypeEstimates::parse(row.view()));
    }
    return estimates;
}

void EstimateStore::keep(Tx& tx, const std::map<domain::Lane, TypeEstimates>& estimates) const {
    if (estimates.empty()) return;
    SqlArray organizations;
    SqlArray types;
    SqlArray learnt;
    for (const auto& [lane, each] : estimates) {
        organizations.add(lane.organization_id);
        types.add(lane.workflow_type);
        learnt.add(each.text());
    }
    tx.send(sql::keep_estimates, Params().add(std::move(organizations)).add(std::move(types)).add(std::move(learnt)));
}

}
