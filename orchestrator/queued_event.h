#pragma once
// The first event of an execution's stream, however it came.

#include "domain/event.h"
#include "domain/execution.h"

namespace impresario::orchestrator {

/// With its batch and what it retries, where it has such.
domain::Event queued_event(const domain::Execution& execution);

}
