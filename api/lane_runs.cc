#include "api/lane_runs.h"

#include "api_sql.h"

namespace impresario::api {

std::map<std::string, subworkflows::LaneRuns> lane_runs(platform::Tx& tx, const std::string& organization_id,
                                                        const std::optional<std::string>& type) {
    const auto rows = tx.exec(sql::lane_runs, platform::Params().add(organization_id).add(type));
    std::map<std::string, subworkflows::LaneRuns> runs;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        platform::RowReader row(rows, i);
        auto& each = runs[row.text()];
        each.last_started_at = row.maybe_time();
        each.last_ended_at = row.maybe_time();
        each.next_start_at = row.maybe_time();
    }
    return runs;
}

void write_lane_runs(platform::JsonWriter& json, const subworkflows::LaneRuns& runs) {
    json.field("last_started_at", runs.last_started_at)
        .field("last_ended_at", runs.last_ended_at)
        .field("next_start_at", runs.next_start_at);
}

}
