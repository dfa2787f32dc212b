#include "orchestrator/gate_store.h"

#include "orchestrator_sql.h"
#include "platform/gate_json.h"
#include "platform/json_text.h"
#include "platform/read_rows.h"

namespace impresario::orchestrator {

using platform::Params;
using platform::RowReader;
using platform::Tx;

namespace {
std::vector<std::pair<std::string, std::string>> read_numbers(const std::string& json) {
    std::vector<std::pair<std::string, std::string>> numbers;
    for (const auto& [key, value] : platform::json_members(json))
        numbers.emplace_back(key, platform::json_string(value));
    return numbers;
}
}

std::vector<RecordedGate> GateStore::closed(Tx& tx) const {
    const auto rows = tx.exec(sql::load_lane_gates);
    return platform::read_rows(rows, [](RowReader& row) {
        RecordedGate each;
        each.lane.organization_id = row.text();
        each.lane.workflow_type = row.text();
        each.gate.kind = domain::parse_gate_kind(row.view()).value_or(domain::GateKind::paused);
        each.gate.subject = row.text();
        each.gate.detail = row.text();
        each.gate.numbers = read_numbers(row.text());
        each.since = row.time();
        each.gate.opens_at = row.maybe_time();
        return each;
    });
}

void GateStore::write(Tx& tx, const GateWrite& write) const {
    const auto& lane = write.lane;
    const auto& gate = write.gate;
    if (!write.until)
        tx.send(sql::close_other_lane_gates, Params()
                                                 .add(lane.organization_id)
                                                 .add(lane.workflow_type)
                                                 .add(domain::name(gate.kind))
                                                 .add(gate.subject)
                                                 .add(write.closed_since));
    domain::Gate first;
    first.numbers = write.first_numbers;
    tx.send(sql::write_lane_gate, Params()
                                      .add(lane.organization_id)
                                      .add(lane.workflow_type)
                                      .add(domain::name(gate.kind))
                                      .add(gate.subject)
                                      .add(gate.detail)
                                      .add(platform::gate_numbers_json(first))
                                      .add(platform::gate_numbers_json(gate))
                                      .add(gate.opens_at)
                                      .add(write.first)
                                      .add(write.closed_since)
                                      .add(write.until)
                                      .add(write.seen_at)
                                      .add(write.times)
                                      .add(write.seen)
                                      .add(static_cast<std::int64_t>(write.closed.count())));
}

void GateStore::forget(Tx& tx) const { tx.send(sql::forget_lane_gates); }

}
