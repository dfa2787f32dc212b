#pragma once
// Budgets as JSON: in requests, answers and their history.

#include <string>
#include <string_view>
#include <vector>

#include "domain/definition_fault.h"
#include "domain/result.h"
#include "resource_manager/budget.h"

namespace impresario::resource_manager {

/// Reads a definition; everything that is wrong with it is named. `organization`: whose budget it is if the scope does
/// not say; "organization_id": null is one for all of them together. `name`: what it is called elsewhere in the
/// request; empty: only the JSON says.
domain::Result<Budget, domain::DefinitionFaults> parse_budget(std::string_view json, const domain::BudgetId& id,
                                                              const std::string& organization,
                                                              const std::string& name = {});

/// What parse_budget reads, with id, version and who changed it when and why.
std::string budget_json(const Budget& budget);

/// What parse_budget reads and nothing else: as its history keeps it.
std::string definition_json(const Budget& budget);

/// The steps alone, as they are stored.
std::string steps_json(const std::vector<BudgetStep>& steps);
/// What was stored by steps_json. A step of a newer hub that this one cannot read pauses what is not critical.
std::vector<BudgetStep> stored_steps(std::string_view json);

}
