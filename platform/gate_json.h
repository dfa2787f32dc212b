#pragma once
// A gate as JSON: in the execution's row, in events and in answers.

#include <optional>
#include <string>
#include <string_view>

#include "domain/gate.h"

namespace impresario::platform {

/// {"kind", "subject", "detail", "numbers": {…}, "opens_at"}
std::string gate_json(const domain::Gate& gate);
std::optional<domain::Gate> parse_gate(std::string_view json);
/// The numbers alone, as an object.
std::string gate_numbers_json(const domain::Gate& gate);

}
