#include "resource_manager/usage_store.h"

#include "resource_manager_sql.h"

namespace impresario::resource_manager {

void UsageStore::record(platform::Tx& tx, const std::vector<UsageRecord>& usage) const {
    if (usage.empty()) return;
    std::array<platform::SqlArray, 6> a;
    for (const auto& each : usage) {
        a[0].add(each.execution);
        a[1].add(each.resource_type);
        a[2].add_or_null(each.provider);
        a[3].add(each.amount);
        a[4].add(each.cost);
        a[5].add_or_null(each.usage_id);
    }
    tx.send(sql::record_usage, platform::Params().add(std::move(a)));
}

void UsageStore::remove(platform::Tx& tx, const std::vector<domain::ExecutionId>& executions) const {
    tx.send(sql::remove_usage, platform::Params().add(platform::SqlArray::of(executions)));
}

}
