#include "orchestrator/health_store.h"

#include "orchestrator_sql.h"

namespace impresario::orchestrator {

using platform::RowReader;
using platform::Tx;

Health HealthStore::look(Tx& tx) const {
    Health health;
    const auto nodes = tx.exec(sql::count_nodes);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        RowReader row(nodes, i);
        const auto state = row.text();
        health.nodes[state] = row.integer();
    }
    const auto letters = tx.exec(sql::count_dead_letters);
    for (std::size_t i = 0; i < letters.size(); ++i) {
        RowReader row(letters, i);
        domain::Lane lane;
        lane.organization_id = row.text();
        lane.workflow_type = row.text();
        health.dead_letters[lane] = row.integer();
    }
    const auto locks = tx.exec(sql::count_locks);
    health.locks = RowReader(locks, 0).integer();
    return health;
}

domain::MicroUsd HealthStore::ledger_difference(Tx& tx) const {
    const auto rows = tx.exec(sql::ledger_difference);
    return domain::MicroUsd{RowReader(rows, 0).integer()};
}

}
