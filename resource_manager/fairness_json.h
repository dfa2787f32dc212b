#pragma once
// The fairness policy and how everybody stands, as JSON: in requests, answers and the tables.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/definition_fault.h"
#include "domain/result.h"
#include "resource_manager/fair_shares.h"

namespace impresario::resource_manager {

/// Reads a policy ({"measure": ..., "shares": [...]}); everything that is wrong with it is named.
domain::Result<FairnessPolicy, domain::DefinitionFaults> parse_fairness(std::string_view json);

/// Measure and shares alone, as they are stored.
std::string fairness_json(const FairnessPolicy& policy);
/// The shares of it.
std::string shares_json(const FairnessPolicy& policy);
/// What fairness_json made; nullopt where a newer hub stored what this one cannot read.
std::optional<FairnessPolicy> stored_fairness(std::string_view json);

/// How all stand, as the scheduler writes it down for the other nodes.
std::string standings_json(const std::vector<FairStanding>& standings);
std::vector<FairStanding> stored_standings(std::string_view json);

}
