#pragma once
// A message as an event of PagerDuty's Events API v2, which others take as well.

#include <string>
#include <string_view>

#include "alerts/message.h"
#include "domain/secret.h"

namespace impresario::alerts {

enum class PagerDutyAction { trigger, acknowledge, resolve };

/// resolve where nothing fires any more, else trigger.
PagerDutyAction pagerduty_action(const Message& message);

/// Where it is posted to unless somebody says otherwise.
inline constexpr std::string_view kPagerDutyUrl = "https://events.pagerduty.com/v2/enqueue";

/// One event for an incident: dedup_key is its id, so that updates and repetitions join it. The summary is within
/// 1,024 characters, the whole far within 512 kB. The routing key is a secret and stands in the body: whoever keeps or
/// logs bodies must not keep this one.
std::string pagerduty_message(const Message& message, PagerDutyAction action, const domain::Secret& routing_key);

}
