#pragma once
// A message as JSON for programs, in the form of Alertmanager's webhook (version 4), so that what takes that takes
// ours.
//
// The door signs it as Standard Webhooks: webhook-id is the notification's id.

#include <string>

#include "alerts/message.h"

namespace impresario::alerts {

/// At most about 256 kB; `truncatedAlerts` says how many were left out. Beside Alertmanager's members it has
/// notification_id, incident_id, kind, title and page.
std::string webhook_message(const Message& message);

/// One alert in Alertmanager's form: {status, labels, annotations, startsAt, endsAt, generatorURL, fingerprint}.
std::string alert_json(const Message& message, const Alert& alert);

}
