#pragma once
// What is answered to whoever has something sent to a receiver of alerts, now.

#include "alerts/notifier_plan.h"
#include "platform/http.h"

namespace impresario::api {

/// 200: ok, outcome, error.
platform::HttpResponse receiver_answer(const alerts::DeliveryResult& result);

}
