#pragma once
// How much a workflow type matters when there is not enough for all.

#include <optional>
#include <string_view>

namespace impresario::domain {

enum class Importance { critical, high, normal, low };

std::string_view name(Importance importance);
std::optional<Importance> parse_importance(std::string_view text);

}
