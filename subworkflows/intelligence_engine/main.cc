// Finds anomalies in the hub's own history and forecasts the day's spend. See README.md.
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "platform/clock.h"
#include "subworkflows/intelligence_engine/hub_history.h"
#include "subworkflows/intelligence_engine/report.h"
#include "subworkflows/intelligence_engine/report_json.h"
#include "subworkflows/intelligence_engine/request_json.h"
#include "subworkflows/kit/service.h"

using namespace impresario;
using namespace impresario::subworkflows::intelligence_engine;
namespace kit = impresario::subworkflows::kit;

namespace {

struct HubSettings {
    /// nullopt: the hub is the one that the trigger is to be answered at.
    std::optional<platform::Url> url;
    domain::Secret key;
};

HubSettings hub_settings() {
    HubSettings settings;
    const auto environment = [](const char* variable) {
        const char* value = std::getenv(variable);
        return std::string(value ? value : "");
    };
    settings.key = domain::Secret(environment("INTELLIGENCE_ENGINE_HUB_KEY"));
    if (const auto text = environment("INTELLIGENCE_ENGINE_HUB_URL"); !text.empty()) {
        auto url = platform::parse_url(text);
        if (!url) {
            std::fprintf(stderr, "intelligence_engine: INTELLIGENCE_ENGINE_HUB_URL %s\n", url.error().what.c_str());
            std::exit(2);
        }
        settings.url = *std::move(url);
    }
    return settings;
}

/// The hub grants the timeout when it sends; its deadline less the timeout is when it asked.
domain::TimePoint asked_at(const domain::Trigger& trigger) {
    if (trigger.deadline == domain::TimePoint{}) return platform::SystemClock().now();
    return trigger.deadline - std::chrono::seconds{trigger.timeout_seconds};
}

Doors doors(kit::Run& run) {
    Doors made;
    made.fetch = [&run](const std::string& method, const platform::Url& url, const platform::Headers& headers,
                        const std::string& body) { return run.fetch(method, url, headers, body); };
    made.stopped = [&run] { return run.stopped(); };
    made.pause = [&run](domain::Duration length) {
        const auto until = std::chrono::steady_clock::now() + length;
        while (std::chrono::steady_clock::now() < until && !run.stopped())
            std::this_thread::sleep_for(std::chrono::milliseconds{50});
    };
    made.progress = [&run](std::int64_t executions, const std::string& type) {
        run.progress(executions, 0, "reading the history of " + type);
    };
    return made;
}

domain::Callback work(kit::Run& run, const HubSettings& hub) {
    const auto request = parse_request(run.trigger().input_data);
    if (!request) return refusal(request.error());
    const domain::TimePoint now = request->now.value_or(asked_at(run.trigger()));
    const auto wants = [&run](const std::string& type) { return run.wants(type); };

    Reading reading;
    ReadingOutcome outcome;
    if (request->inline_history) {
        reading.histories = given_history(*request, now, wants);
        for (const auto& history : reading.histories)
            outcome.executions += static_cast<std::int64_t>(history.executions.size());
    } else {
        if (hub.key.empty())
            return failure("INTELLIGENCE_ENGINE_HUB_KEY is not set: the hub's history cannot be read without a key",
                           false);
        const auto url = hub.url ? domain::Result<platform::Url, domain::Fault>(*hub.url)
                                 : hub_of_callback(run.trigger().callback_url);
        if (!url) return failure(url.error().what, false);
        HubHistory reader(*url, hub.key, doors(run));
        auto read = read_histories(reader, request->workflow_types, {needed_from(*request, now), now}, wants);
        outcome.executions = reader.executions();
        outcome.requests = reader.requests();
        if (!read) {
            auto callback = failure(read.error().what, read.error().again, read.error().retry_after);
            callback.items_processed = outcome.executions;
            callback.api_calls = outcome.requests;
            return callback;
        }
        reading = *std::move(read);
    }
    if (run.stopped()) return failure("the run was stopped", true);
    run.progress(outcome.executions, outcome.executions, "judging");
    outcome.again = reading.again;
    outcome.retry_after = reading.retry_after;
    return answer(analyse(*request, now, reading.histories), *request, outcome);
}

}

int main(int argc, char** argv) {
    const auto settings = kit::settings_from(argc, argv, "intelligence_engine");
    return kit::serve(settings, [hub = hub_settings()](kit::Run& run) { return work(run, hub); });
}
