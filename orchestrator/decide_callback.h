#pragma once
// What a callback makes of an execution, by every rule of P3. Pure; inside of decide only.

#include <string>

#include "orchestrator/draft.h"

namespace impresario::orchestrator {

/// What a sub-workflow says about a failure or of its progress goes into events, dead letters and alerts, and may hold
/// the request it was asked with, headers and all. nullopt: it says nothing of the kind.
std::optional<CallbackReceived> without_secrets(const CallbackReceived& received,
                                                const subworkflows::WorkflowType* type);

/// One about the live attempt.
void live_callback(Draft& draft, const CallbackReceived& received);
/// One about an attempt that is closed, or was never made.
void closed_callback(Draft& draft, const CallbackReceived& received);
/// A result for an attempt whose deadline had been recorded, taken after all.
void take_late(Draft& draft, const domain::AttemptId& attempt, const domain::Callback& callback,
               const std::string& sha256, const std::string& by);
/// While no newer attempt lives, and nothing has been decided since that a result could contradict.
bool late_is_possible(const domain::Execution& row, const webhooks::FoundAttempt& found);

}
