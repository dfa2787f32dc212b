#pragma once
// A report for programs.

#include <string>

#include "reports/report.h"

namespace impresario::reports {

std::string report_json(const Report& report);

}
