#pragma once
// What anybody would build a C++ sub-workflow with: verify, accept with 202, run outside the network thread, keep the
// deadline away, call back until the hub has it.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "domain/callback.h"
#include "domain/secret.h"
#include "platform/egress_policy.h"
#include "platform/url.h"
#include "subworkflows/kit/run.h"

namespace impresario::subworkflows::kit {

/// A provider that every run asks first (kit/provider.h).
struct ProviderSettings {
    std::string name;
    platform::Url url;
};

struct ServiceSettings {
    /// Named in logs.
    std::string name = "service";
    std::string address = "127.0.0.1";
    /// 0 takes any free port.
    std::uint16_t port = 0;
    /// What the hub must send as its bearer; empty: none is asked for.
    domain::Secret bearer;
    /// Signing secrets of the workflow type; empty: signatures are not asked for.
    std::vector<domain::Secret> signing;
    /// Runs at once; each has a thread.
    int workers = 2;
    /// Accepted and not begun; beyond it triggers are answered 503 with Retry-After.
    std::size_t backlog = 1000;
    /// Where fetch() and callbacks may go beyond public addresses.
    platform::EgressPolicy egress;
    /// nullopt: the work needs none.
    std::optional<ProviderSettings> provider;
    /// How often a heartbeat is sent; a third of the timeout where that is shorter.
    std::chrono::milliseconds heartbeat{10000};
    /// Given up afterwards: the hub has been away longer than anybody waits.
    std::chrono::hours callback_patience{1};
};

/// Does the work of one trigger and returns what is to be called back. What it throws becomes a failure with that
/// message, to be tried again.
using Work = std::function<domain::Callback(Run&)>;

/// Serves POST / (any path) until SIGTERM or SIGINT, then finishes what runs and returns 0.
/// The same webhook-id again is answered 409 and not run again; every answer says that it deduplicates.
int serve(ServiceSettings settings, Work work);

/// Settings from flags and environment, for a service's main: --port, --address, --workers, IMPRESARIO_SERVICE_BEARER,
/// IMPRESARIO_SERVICE_SIGNING_SECRETS (comma-separated), IMPRESARIO_EGRESS_ALLOW, IMPRESARIO_PROVIDER. Prints help and
/// exits on --help and on mistakes.
ServiceSettings settings_from(int argc, char** argv, const std::string& name);

}
