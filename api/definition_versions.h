#pragma once
// The history of a definition as JSON.

#include <string>
#include <string_view>
#include <vector>

#include "resource_manager/definition_version.h"

namespace impresario::api {

/// {"versions": [...]}; `member`: what the definition is called in it.
std::string versions_json(const std::vector<resource_manager::DefinitionVersion>& versions, std::string_view member);

}
