#pragma once
// What is wrong with a definition that somebody wrote: a workflow type, a provider, a budget.

#include <string>
#include <string_view>
#include <vector>

namespace impresario::domain {

/// A JSON pointer into the definition ("" is all of it) and a sentence that follows it.
struct DefinitionFault {
    std::string pointer;
    std::string what;
};

using DefinitionFaults = std::vector<DefinitionFault>;

/// Whether it can name a definition: in an address, a metric's label, a gate.
inline bool good_definition_name(std::string_view name) {
    return !name.empty() && name.size() <= 63 &&
           name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-.") == std::string_view::npos;
}
inline constexpr const char* kDefinitionNameRule = "must have 1 to 63 of the characters a-z, 0-9, '_', '-' and '.'";

}
