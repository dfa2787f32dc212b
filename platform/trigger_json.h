#pragma once
// SubWorkflowTrigger on the wire, shared by the dispatcher that writes it and the kit that reads it.

#include <string>
#include <string_view>

#include "domain/result.h"
#include "domain/trigger.h"

namespace impresario::platform {

std::string trigger_json(const domain::Trigger& trigger);

/// The error names the field by its JSON pointer.
domain::Result<domain::Trigger, domain::Fault> parse_trigger(std::string_view text);

}
