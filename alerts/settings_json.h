#pragma once
// The section [alerts] of the configuration, as JSON.

#include <string_view>

#include "alerts/settings.h"
#include "domain/result.h"

namespace impresario::alerts {

/// Members: enabled, presets (names), rules (each changes the preset's of its name, or is another), receivers, route,
/// inhibitions, every_seconds, keep_days. All that is wrong is told, by pointers.
domain::Result<Settings, domain::DefinitionFaults> parse_settings(std::string_view json);

/// "severity=critical", …
domain::Result<Matchers, domain::DefinitionFaults> parse_matchers(const std::vector<std::string>& texts,
                                                                  const std::string& pointer);

}
