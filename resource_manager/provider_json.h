#pragma once
// Providers as JSON: in requests, answers and the table.

#include <string>
#include <string_view>

#include "domain/definition_fault.h"
#include "domain/result.h"
#include "resource_manager/provider.h"

namespace impresario::resource_manager {

/// Reads a definition ({"limits": [...]}); everything that is wrong with it is named.
domain::Result<Provider, domain::DefinitionFaults> parse_provider(std::string_view json, const std::string& name);

/// The limits alone, as they are stored.
std::string limits_json(const Provider& provider);
/// What was stored by limits_json or by a migration; where a newer hub stored what this one cannot read, one limit that
/// lets nothing pass.
std::vector<ProviderLimit> stored_limits(std::string_view json);

}
