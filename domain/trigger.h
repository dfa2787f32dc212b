#pragma once
// What a sub-workflow is asked. platform/trigger_json.h reads and writes its wire form.

#include <string>

#include "domain/id.h"
#include "domain/secret.h"
#include "domain/time.h"

namespace impresario::domain {

/// SubWorkflowTrigger of seed 003, plus attempt, deadline, organization and context.
struct Trigger {
    ExecutionId execution_id;
    std::string organization_id;
    std::string workflow_type;
    int priority = 50;
    /// JSON text as it was enqueued; empty stands for null.
    std::string input_data;
    /// JSON text; empty stands for {}.
    std::string context;
    int timeout_seconds = 300;
    TimePoint deadline;
    std::string callback_url;
    /// What the callback must carry as its bearer.
    Secret callback_token;
    /// Number of the attempt, from 1.
    int attempt = 1;
    /// JSON array: what was reserved for it. Empty stands for [].
    std::string reserved;
    /// JSON object: what it is asked to save; empty: nothing.
    std::string thrift;
    /// Which trace it belongs to, as headers: W3C Trace Context. `tracestate` is empty where there is none.
    std::string traceparent;
    std::string tracestate;
};

}
