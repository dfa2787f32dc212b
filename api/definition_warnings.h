#pragma once
// What is accepted in a definition and may yet not be meant: a name that nothing has yet, an amount that no limit ever
// gives. Pure.

#include <string>
#include <vector>

#include "api/problem.h"
#include "resource_manager/budget.h"
#include "resource_manager/provider.h"
#include "subworkflows/catalogue.h"

namespace impresario::api {

/// Each with a pointer into the definition.
using Warnings = std::vector<FieldFault>;

Warnings warnings_of(const subworkflows::WorkflowType& type, const std::vector<resource_manager::Provider>& providers);
Warnings warnings_of(const resource_manager::Provider& provider, const subworkflows::Catalogue& catalogue);
Warnings warnings_of(const resource_manager::Budget& budget, const subworkflows::Catalogue& catalogue,
                     const std::vector<resource_manager::Provider>& providers);

/// An object as JSON with one member more: "warnings": [{"pointer", "detail"}], at most kMostFaults of them.
std::string with_warnings(std::string object, const Warnings& warnings);

}
