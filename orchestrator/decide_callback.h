#pragma once
// What a callback makes of an execution, by every rule of P3. Pure; inside of decide only.

#include <string>

#include "orchestrator/draft.h"

namespace impresario::orchestrator {

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
