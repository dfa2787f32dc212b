#pragma once
// A message for an Alertmanager: the body of POST /api/v2/alerts.

#include <string>

#include "alerts/message.h"

namespace impresario::alerts {

/// What fires ends for Alertmanager after `valid_for` unless it is told again, so that a hub that has died does not
/// leave alerts for ever: the door takes at least twice the route's repeat_interval. What has resolved ends when it
/// did. Labels are passed on as they are; what Alertmanager would refuse never gets into ours.
std::string alertmanager_message(const Message& message, domain::Duration valid_for);

}
