#pragma once
// What is wrong with a definition that somebody wrote: a workflow type, a provider, a budget.

#include <string>
#include <vector>

namespace impresario::domain {

/// A JSON pointer into the definition ("" is all of it) and a sentence that follows it.
struct DefinitionFault {
    std::string pointer;
    std::string what;
};

using DefinitionFaults = std::vector<DefinitionFault>;

}
