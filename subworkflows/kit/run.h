#pragma once
// What a service's work is given: the trigger, and the hub's patience.

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "domain/trigger.h"
#include "platform/http_client.h"

namespace impresario::subworkflows::kit {

/// One accepted trigger while it is worked on. Methods are safe on the worker thread that runs it.
class Run {
  public:
    virtual ~Run() = default;
    virtual const domain::Trigger& trigger() const = 0;
    /// Cancelled, out of time, or the service is going down: come to an end soon. Look between items.
    virtual bool stopped() const = 0;
    /// Shown in the execution's record; sent with the next heartbeat, which also keeps the deadline away.
    virtual void progress(std::int64_t done, std::int64_t total, std::string_view message) = 0;
    /// For a child of a partial result: the keys of the items it is about; empty: all of them.
    virtual const std::vector<std::string>& retry_items() const = 0;
    /// Whether this item is among those that the run is about.
    bool wants(std::string_view key) const {
        if (retry_items().empty()) return true;
        for (const auto& each : retry_items())
            if (each == key) return true;
        return false;
    }
    /// One HTTP request, without following redirects; blocks the worker. Goes where the service's egress policy lets
    /// it.
    virtual platform::HttpOutcome fetch(const std::string& method, const platform::Url& url,
                                        const platform::Headers& headers, const std::string& body) = 0;
};

}
