#pragma once
// What the end of a request makes of an execution: every outcome of the design. Pure; inside of decide only.

#include <optional>
#include <string>

#include "orchestrator/draft.h"

namespace impresario::orchestrator {

/// The end of the live attempt's request.
void live_delivery(Draft& draft, const DeliveryReported& report);
/// The request may have been taken or not.
void unknown_outcome(Draft& draft, const std::string& reason, bool deduplicates);
/// What an answer says about who gave it, whatever became of the execution meanwhile. `taken`: it has called back
/// already, so that what went wrong with the answer to our request matters little.
EndpointNews news_of(const DeliveryReported& report, bool taken);
/// The result that an answer carries; nullopt when it is none, or another execution's.
std::optional<CallbackReceived> result_in(const webhooks::Done& done, const DeliveryReported& report,
                                          const domain::ExecutionId& execution, const subworkflows::WorkflowType* type);

}
