#pragma once
// Findings as one number, and how it came about.

#include <vector>

#include "subworkflows/seo_monitor/checks.h"

namespace impresario::subworkflows::seo_monitor {

struct Deduction {
    Check check = Check::status;
    int points = 0;
    int findings = 0;
    friend bool operator==(const Deduction&, const Deduction&) = default;
};

struct Score {
    /// 0 to 100.
    int value = 100;
    /// In the order of Check; what costs nothing is not listed.
    std::vector<Deduction> deductions;
};

/// 100 less what the findings cost: a fixed number of points by check and severity, at most so many a check. The order
/// of the findings changes nothing.
Score score(const Findings& findings);

/// What one finding costs.
int points(Check check, Severity severity);
/// The most that one check can cost.
int most_points(Check check);

}
