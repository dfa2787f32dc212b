// What is active and has not been heard of for a while: what has most likely happened, and what to do.
#include <map>

#include "api/api.h"
#include "api/problem.h"
#include "api/request_reader.h"
#include "orchestrator/stalled_store.h"
#include "platform/json_writer.h"

namespace impresario::api {

using platform::HttpResponse;
using platform::JsonWriter;
using platform::Task;
using platform::Tx;

namespace {
constexpr int kMostStalled = 200;
constexpr std::int64_t kLongestQuiet = 30 * 86400;
}

Task<HttpResponse> Api::stalled(Call call) {
    std::vector<FieldFault> faults;
    const auto quiet = number_parameter(call.request, "quiet_seconds", faults).value_or(hub_.settings().quiet.count());
    if (faults.empty() && (quiet < 1 || quiet > kLongestQuiet))
        faults.push_back({"quiet_seconds", "must be from 1 to " + std::to_string(kLongestQuiet)});
    if (!faults.empty()) co_return invalid(faults);
    auto asked = node_.database().read([organization = call.caller.organization_id, quiet](Tx& tx) {
        return orchestrator::StalledStore().find(tx, organization, std::chrono::seconds{quiet}, kMostStalled);
    });
    const auto list = co_await std::move(asked);
    std::map<std::string, std::int64_t> causes;
    for (const auto& each : list.executions) ++causes[std::string(name(each.stall.cause))];
    JsonWriter json;
    json.open();
    json.field("at", list.at).field("quiet_seconds", quiet).field("more", list.more);
    json.open("causes", '{');
    for (const auto& [cause, count] : causes) json.field(cause, count);
    json.close();
    json.open("executions", '[');
    for (const auto& [view, stall] : list.executions) {
        const auto& row = view.execution;
        json.open();
        json.field("execution_id", row.id.text())
            .field("workflow_type", row.lane.workflow_type)
            .field("status", domain::name(row.status))
            .field("last_event_at", view.last_event_at)
            .field("quiet_seconds",
                   std::chrono::duration_cast<std::chrono::seconds>(list.at - view.last_event_at).count())
            .field("timeout_at", row.timeout_at)
            .field("cause", name(stall.cause))
            .field("why", stall.why)
            .field("action", stall.action)
            .field("command", stall.command);
        json.close();
    }
    json.close(']');
    json.close();
    co_return json_response(200, std::move(json).text());
}

}
