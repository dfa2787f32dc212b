#include "reports/report.h"

#include <algorithm>

namespace impresario::reports {

Ended Report::total() const {
    Ended sum;
    for (const auto& [lane, ended] : lanes) sum.add(ended);
    return sum;
}

double Report::period_seconds() const {
    return domain::in_seconds(std::min(period.to, std::max(made_at, period.from)) - period.from);
}

}
