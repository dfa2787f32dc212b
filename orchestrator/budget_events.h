#pragma once
// Appends to a budget's stream, under its row's lock.

#include <string>
#include <string_view>

#include "domain/id.h"
#include "platform/sql.h"
#include "resource_manager/budget_state.h"

namespace impresario::orchestrator {

/// Does nothing where there is no such budget.
void append_budget_event(platform::Tx& tx, const domain::BudgetId& budget, const domain::NodeId& writer,
                         std::string_view type, std::string payload);

/// Which of its steps it is, and where it stands.
std::string step_payload(const resource_manager::BudgetState& state, const resource_manager::BudgetStep& step,
                         domain::TimePoint now);

}
