#include "resource_manager/fairness_store.h"

#include "resource_manager/fairness_json.h"
#include "resource_manager_sql.h"

namespace impresario::resource_manager {

using platform::Params;
using platform::RowReader;
using platform::Tx;

std::optional<FairnessPolicy> FairnessStore::load(Tx& tx) const {
    const auto rows = tx.exec(sql::load_fairness);
    if (rows.size() == 0) return std::nullopt;
    RowReader row(rows, 0);
    auto policy = stored_fairness(row.view());
    if (!policy) return std::nullopt;
    policy->version = row.small();
    policy->updated_at = row.time();
    policy->updated_by = row.text();
    policy->reason = row.text();
    return policy;
}

FairnessPolicy FairnessStore::put(Tx& tx, FairnessPolicy policy) const {
    const auto rows =
        tx.exec(sql::put_fairness, Params().add(fairness_json(policy)).add(policy.updated_by).add(policy.reason));
    RowReader row(rows, 0);
    policy.version = row.small();
    policy.updated_at = row.time();
    return policy;
}

bool FairnessStore::clear(Tx& tx, const std::string& by, const std::string& reason) const {
    return tx.exec(sql::clear_fairness, Params().add(by).add(reason)).affected() > 0;
}

std::vector<DefinitionVersion> FairnessStore::versions(Tx& tx) const {
    return read_versions(tx.exec(sql::list_fairness_versions));
}

void FairnessStore::write(Tx& tx, domain::TimePoint at, const std::string& standings) const {
    tx.send(sql::write_standings, Params().add(at).add(standings));
}

std::optional<FairnessStore::Standings> FairnessStore::standings(Tx& tx) const {
    const auto rows = tx.exec(sql::load_standings);
    if (rows.size() == 0) return std::nullopt;
    RowReader row(rows, 0);
    Standings standings;
    standings.at = row.time();
    standings.all = stored_standings(row.view());
    return standings;
}

}
