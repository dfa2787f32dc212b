#include "alerts/alert.h"

#include <algorithm>

namespace impresario::alerts {

Alert received_again(const Alert& before, Alert received, domain::TimePoint now) {
    if (!before.firing(now)) return received;
    received.since = std::min(before.since, received.since);
    if (!received.acknowledged) received.acknowledged = before.acknowledged;
    return received;
}

}
