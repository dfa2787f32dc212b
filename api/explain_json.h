#pragma once
// Why an execution does not run, as the API shows it.

#include <string>

#include "orchestrator/explain.h"

namespace impresario::api {

std::string explain_json(const orchestrator::Situation& situation, const orchestrator::Explanation& explanation);

}
