#include "orchestrator/lane_times.h"

#include <map>

#include "orchestrator_sql.h"
#include "platform/read_rows.h"

namespace impresario::orchestrator {

using platform::Params;
using platform::RowReader;
using platform::SqlArray;
using platform::Tx;

namespace {
std::vector<LaneTimes> read(const platform::Rows& rows) {
    return platform::read_rows(rows, [](RowReader& row) {
        LaneTimes each;
        each.lane.organization_id = row.text();
        each.lane.workflow_type = row.text();
        each.started_at = row.maybe_time();
        each.ended_at = row.maybe_time();
        return each;
    });
}
}

void LaneTimesStore::note(Tx& tx, const std::vector<LaneTimes>& times) const {
    if (times.empty()) return;
    std::map<domain::Lane, LaneTimes> latest;
    for (const auto& each : times) {
        auto& known = latest[each.lane];
        // An optional without a value is less than any.
        known.started_at = std::max(known.started_at, each.started_at);
        known.ended_at = std::max(known.ended_at, each.ended_at);
    }
    SqlArray organizations;
    SqlArray types;
    SqlArray started;
    SqlArray ended;
    for (const auto& [lane, each] : latest) {
        organizations.add(lane.organization_id);
        types.add(lane.workflow_type);
        started.add(each.started_at);
        ended.add(each.ended_at);
    }
    tx.exec(sql::note_lane_times,
            Params().add(std::move(organizations)).add(std::move(types)).add(std::move(started)).add(std::move(ended)));
}

std::vector<LaneTimes> LaneTimesStore::load(Tx& tx) const { return read(tx.exec(sql::load_lane_times)); }

std::vector<LaneTimes> LaneTimesStore::lock(Tx& tx, const std::set<domain::Lane>& lanes) const {
    if (lanes.empty()) return {};
    SqlArray organizations;
    SqlArray types;
    for (const auto& lane : lanes) {
        organizations.add(lane.organization_id);
        types.add(lane.workflow_type);
    }
    return read(tx.exec(sql::lock_lane_times, Params().add(std::move(organizations)).add(std::move(types))));
}

}
