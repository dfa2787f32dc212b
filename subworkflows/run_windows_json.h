#pragma once
// Run windows as JSON: {"time_zone": "Europe/Berlin", "windows": [{"days": ["mon", "fri"], "from": "22:00", "to":
// "06:00"}]}

#include <optional>
#include <string>
#include <string_view>

#include "domain/definition_fault.h"
#include "subworkflows/run_windows.h"

namespace impresario::subworkflows {

/// Of a definition's member; what is wrong is named from /run_windows on.
RunWindows read_run_windows(std::string_view text, domain::DefinitionFaults& faults);
std::string run_windows_json(const RunWindows& windows);
/// From the database; nullopt: there are none.
std::optional<RunWindows> stored_run_windows(std::string_view text);

}
