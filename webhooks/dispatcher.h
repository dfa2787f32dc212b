#pragma once
// Delivers what was granted: one signed POST, its outcome and its record.

#include <memory>
#include <string>
#include <vector>

#include "domain/secret.h"
#include "domain/trigger.h"
#include "platform/clock.h"
#include "platform/http_client.h"
#include "platform/peer_secrets.h"
#include "webhooks/attempt_store.h"
#include "webhooks/outcome.h"

namespace impresario::webhooks {

/// Where and how a lane is asked.
struct Target {
    domain::EndpointId endpoint;
    std::string url;
    platform::PeerSecrets secrets;
    OutcomeRules rules;
};

struct Delivered {
    DeliveryOutcome outcome;
    DeliveryRecord record;
};

/// Network thread only.
class Dispatcher {
  public:
    Dispatcher(platform::HttpClient& client, platform::Clock& clock) : client_(client), clock_(clock) {}

    /// Sends delivery number `number` of an attempt and says what became of it. Never throws for what a network does.
    platform::Task<Delivered> deliver(domain::Trigger trigger, domain::AttemptId attempt, int number,
                                      std::shared_ptr<const Target> target);

  private:
    platform::HttpClient& client_;
    platform::Clock& clock_;
};

}
