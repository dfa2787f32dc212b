#pragma once
// What happens to a subscriber, as an event of its own stream.

#include <string>
#include <string_view>

#include "domain/id.h"
#include "journal/subscriber.h"
#include "platform/sql.h"

namespace impresario::orchestrator {

/// In the transaction of the change. One that is gone has no stream any more.
void append_subscriber_event(platform::Tx& tx, const journal::Subscriber& subscriber, const domain::NodeId& writer,
                             std::string_view type, const std::string& by, const std::string& why);

}
