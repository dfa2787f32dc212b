#pragma once
// Reads executions from the hub's API, page by page. Blocks the thread that calls; one thread.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/result.h"
#include "domain/secret.h"
#include "platform/http_client.h"
#include "subworkflows/intelligence_engine/history.h"

namespace impresario::subworkflows::intelligence_engine {

/// What the reader needs of the world; a test puts its own there.
struct Doors {
    /// One request, as kit::Run::fetch.
    std::function<platform::HttpOutcome(const std::string& method, const platform::Url& url,
                                        const platform::Headers& headers, const std::string& body)>
        fetch;
    /// Waits; may come back early when `stopped`.
    std::function<void(domain::Duration)> pause;
    std::function<bool()> stopped;
    /// Told after each page how many executions have been read so far, all types together, and of which type.
    std::function<void(std::int64_t executions, const std::string& workflow_type)> progress;
};

/// Why something could not be read.
struct HubFault {
    std::string what;
    /// Whether another try may do better.
    bool again = true;
    /// The hub asked not to be called before this.
    std::optional<domain::Duration> retry_after;
    /// Every further request would meet the same: a wrong key, a forbidden address, or the end of the run.
    bool everywhere = false;
};

/// The hub that a callback address belongs to: all of it before "/v1/callbacks/". The error is a sentence.
domain::Result<platform::Url, domain::Fault> hub_of_callback(std::string_view callback_url);

/// Requests for one page at most, and the longest wait that the hub may ask for between two of them.
inline constexpr int kTries = 6;
inline constexpr std::chrono::seconds kLongestWait{120};

class HubHistory {
  public:
    /// `hub` is the address before "/v1", `key` an API key that may view. At most `most_per_type` executions of one
    /// type are read, the newest of them.
    HubHistory(platform::Url hub, domain::Secret key, Doors doors, std::int64_t most_per_type = 100'000);

    /// The names of the workflow types that the hub has.
    domain::Result<std::vector<std::string>, HubFault> type_names();

    /// A type's executions that were created in the span. 429 and 503 are waited out as Retry-After says, other 5xx and
    /// a missing answer with growing pauses, each page at most kTries times; a wait beyond kLongestWait is left to the
    /// caller (HubFault::retry_after). What is no answer of this API is a fault that names the place.
    domain::Result<TypeHistory, HubFault> type(const std::string& workflow_type, Span created);

    std::int64_t requests() const { return requests_; }
    std::int64_t executions() const { return executions_; }

  private:
    domain::Result<platform::HttpAnswer, HubFault> get(const std::string& path_and_query);

    platform::Url hub_;
    domain::Secret key_;
    Doors doors_;
    std::int64_t most_per_type_;
    std::int64_t requests_ = 0;
    std::int64_t executions_ = 0;
};

struct Reading {
    std::vector<TypeHistory> histories;
    /// At least one failure may pass; true where there is none.
    bool again = true;
    /// The longest that the hub asked for.
    std::optional<domain::Duration> retry_after;
};

/// The histories of `types` (empty: all that the hub has, but without those that have no execution in the span), each
/// failing by itself; `wants` leaves out what the run is not about. The error is one that concerns them all.
domain::Result<Reading, HubFault> read_histories(HubHistory& hub, std::vector<std::string> types, Span created,
                                                 const std::function<bool(const std::string&)>& wants);

}
