#pragma once
// An execution belongs to an organization; to everybody else there is none.

#include <optional>
#include <string>
#include <vector>

#include "api/problem.h"
#include "priority_queue/queue_store.h"

namespace impresario::api {

/// What stands for "that id is not one": the same as one that does not exist.
inline platform::HttpResponse no_such_execution() { return problem(404, "not-found", "there is no such execution"); }

/// Its row, if it is that organization's.
inline std::optional<priority_queue::LockedExecution> own_execution(platform::Tx& tx, const domain::ExecutionId& id,
                                                                    const std::string& organization_id) {
    auto rows = priority_queue::QueueStore().read(tx, {id});
    if (rows.empty() || rows.front().execution.lane.organization_id != organization_id) return std::nullopt;
    return std::move(rows.front());
}

/// Runs `read` if it is that organization's; nullopt otherwise.
template <class Read>
auto of_execution(platform::Tx& tx, const domain::ExecutionId& id, const std::string& organization_id, Read read)
    -> std::optional<decltype(read(tx))> {
    if (!own_execution(tx, id, organization_id)) return std::nullopt;
    return read(tx);
}

}
