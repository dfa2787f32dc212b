#include "journal/metric_store.h"

#include "journal_sql.h"

namespace impresario::journal {

using platform::Params;
using platform::SqlArray;
using platform::Tx;

void MetricStore::record(Tx& tx, const std::vector<Measurement>& measurements) const {
    if (measurements.empty()) return;
    SqlArray types;
    SqlArray values;
    SqlArray metadata;
    SqlArray times;
    for (const auto& each : measurements) {
        types.add(each.type);
        values.add_number(std::to_string(each.value));
        metadata.add_json(each.metadata);
        times.add(each.at);
    }
    tx.send(sql::record_metrics,
            Params().add(std::move(types)).add(std::move(values)).add(std::move(metadata)).add(std::move(times)));
}

void MetricStore::forget(Tx& tx) const { tx.send(sql::forget_metrics); }

}
