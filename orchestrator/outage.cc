#include "orchestrator/outage.h"

namespace impresario::orchestrator {

std::optional<Outage> outage_after(const std::optional<Outage>& before, std::optional<domain::TimePoint> renewed_at,
                                   domain::TimePoint now, domain::Duration lease) {
    if (!renewed_at || now - *renewed_at <= lease / 2) return before;
    Outage outage{*renewed_at, now, now - *renewed_at};
    if (before && *renewed_at <= domain::saturating_add(before->until, before->grace())) {
        outage.from = before->from;
        outage.length += before->length;
    }
    return outage;
}

}
