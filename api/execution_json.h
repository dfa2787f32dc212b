#pragma once
// Executions as the API shows them.

#include <optional>
#include <string>

#include "domain/execution.h"
#include "orchestrator/gate_store.h"
#include "priority_queue/queue_store.h"

namespace impresario::api {

struct ExecutionView {
    domain::Execution execution;
    /// Input, context and result; nullopt in lists.
    std::optional<priority_queue::QueueStore::Payload> payload;
    std::optional<priority_queue::ResultRecord> result;
    /// What stops its whole lane, where it waits.
    std::optional<orchestrator::RecordedGate> lane_gate;
};

std::string execution_json(const ExecutionView& view);

}
