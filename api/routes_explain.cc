// Why is it not running? For now, and for a time that has passed.
#include "api/api.h"
#include "api/explain_json.h"
#include "api/own_execution.h"
#include "api/problem.h"
#include "api/request_reader.h"
#include "orchestrator/explain_store.h"

namespace impresario::api {

using domain::ExecutionId;
using domain::TimePoint;
using orchestrator::ExplainStore;
using orchestrator::Situation;
using platform::HttpResponse;
using platform::Task;
using platform::Tx;

namespace {

/// What was asked for, or what is wrong with it.
struct Found {
    std::optional<Situation> situation;
    std::vector<FieldFault> faults;
};

Found look(Tx& tx, const ExecutionId& id, const std::string& organization, const subworkflows::Catalogue& catalogue,
           const std::optional<TimePoint>& at, int most_per_turn, domain::MicroUsd unknown_cost) {
    Found found;
    const ExplainStore store;
    if (!at) {
        found.situation = store.now(tx, id, organization, catalogue, most_per_turn, unknown_cost);
        return found;
    }
    const auto own = own_execution(tx, id, organization);
    if (!own) return found;
    const auto& [row, now] = *own;
    if (*at > now) {
        found.faults.push_back({"at", "lies in the future; it is " + domain::rfc3339(now)});
    } else if (*at < row.created_at) {
        found.faults.push_back({"at", "lies before the execution was created, at " + domain::rfc3339(row.created_at)});
    } else {
        found.situation = store.then(tx, id, organization, catalogue, *at);
    }
    return found;
}

}

/// From the tables, so that every node says the same.
Task<HttpResponse> Api::explain_execution(Call call) {
    const auto id = ExecutionId::parse(call.path["id"]);
    if (!id) co_return no_such_execution();
    std::vector<FieldFault> faults;
    std::optional<TimePoint> at;
    if (const auto text = call.request.parameter("at")) {
        at = domain::parse_time(*text);
        if (!at) faults.push_back({"at", "must be an RFC 3339 time, such as 2026-11-27T22:23:11Z"});
    }
    if (!faults.empty()) co_return invalid(faults);
    co_await node_.refresh_catalogue();
    auto asked_found = node_.database().transact([wanted = *id, organization = call.caller.organization_id,
                                                  catalogue = node_.catalogue(), at, most = hub_.max_batch_size(),
                                                  unknown = hub_.unknown_cost()](Tx& tx) {
        return look(tx, wanted, organization, *catalogue, at, most, unknown);
    });
    const auto found = co_await std::move(asked_found);
    if (!found.faults.empty()) co_return invalid(found.faults);
    if (!found.situation) co_return no_such_execution();
    co_return json_response(200, explain_json(*found.situation, orchestrator::explain(*found.situation)));
}

}
