#pragma once
// A type's call_estimates as JSON: as somebody writes them, and as the database keeps them.

#include <string>
#include <string_view>
#include <vector>

#include "domain/definition_fault.h"
#include "domain/demand.h"
#include "platform/definition_json.h"
#include "subworkflows/input_needs.h"

namespace impresario::subworkflows {

/// Where an amount is said by the input, the need holds what is taken for who was enqueued before that.
struct TypeNeeds {
    /// At most one of each provider.
    std::vector<domain::Need> needs;
    std::vector<InputNeed> from_input;
};

/// `body` is the whole definition, with `value` at /call_estimates.
TypeNeeds read_call_estimates(const nlohmann::json& value, std::string_view body, domain::DefinitionFaults& faults);
/// The same form.
nlohmann::json shown_call_estimates(const TypeNeeds& type);

/// With what the input says beside the numbers: a hub that knows only those goes by them.
std::string call_estimates_json(const TypeNeeds& type);
TypeNeeds stored_call_estimates(std::string_view json);

}
