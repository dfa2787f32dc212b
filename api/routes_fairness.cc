// What share of the starts each organization and type is to have, and has had.
#include "api/api.h"
#include "api/definition_versions.h"
#include "api/problem.h"
#include "api/request_reader.h"
#include "api/waiting_lanes.h"
#include "platform/json_writer.h"
#include "resource_manager/fairness_json.h"
#include "resource_manager/fairness_store.h"

namespace impresario::api {

using domain::Lane;
using platform::HttpResponse;
using platform::JsonWriter;
using platform::Task;
using platform::Tx;
using resource_manager::FairnessPolicy;
using resource_manager::FairnessStore;
using resource_manager::FairShares;
using resource_manager::FairStanding;

namespace {

HttpResponse no_policy() {
    return problem(404, "not-found",
                   "there is no fairness policy, so the best by score goes next, whosever it is; set one with PUT "
                   "/v1/fairness");
}

void write_policy(JsonWriter& json, const FairnessPolicy& policy) {
    json.field("version", policy.version)
        .field("updated_at", domain::rfc3339(policy.updated_at))
        .field("updated_by", policy.updated_by)
        .field("reason", policy.reason)
        .field("measure", name(policy.measure))
        .raw("shares", resource_manager::shares_json(policy));
}

/// An organization sees its own.
template <class Each>
void keep_own(std::vector<Each>& all, const Caller& caller, std::string (*of)(const Each&)) {
    if (caller.looks_after_all()) return;
    std::erase_if(all, [&](const Each& each) { return of(each) != caller.organization_id; });
}
std::string of_share(const resource_manager::FairShare& share) { return share.organization_id; }
std::string of_standing(const FairStanding& standing) { return standing.share.organization_id; }

/// By organization and type, "" where it is the organization.
using AskedPercents = std::map<std::pair<std::string, std::string>, double>;
AskedPercents asked_percents(const FairnessPolicy& policy, const std::vector<Lane>& lanes) {
    FairShares shares(policy);
    shares.attend(lanes);
    AskedPercents asked;
    for (const auto& each : shares.standings({}))
        if (each.asked_percent) asked[{each.share.organization_id, each.share.workflow_type}] = *each.asked_percent;
    return asked;
}

}

/// How all stand comes from memory where this node leads, or else as the leader has written it down.
Task<HttpResponse> Api::show_fairness(Call call) {
    struct Found {
        std::optional<FairnessPolicy> policy;
        std::optional<FairnessStore::Standings> standings;
    };
    auto asked_found = node_.database().read([](Tx& tx) {
        const FairnessStore store;
        return Found{store.load(tx), store.standings(tx)};
    });
    auto found = co_await std::move(asked_found);
    if (!found.policy) co_return no_policy();
    if (const auto* board = hub_.board(); board && board->shares()) {
        const auto now = node_.clock().now();
        found.standings = FairnessStore::Standings{now, board->shares()->standings(now)};
    }
    keep_own(found.policy->shares, call.caller, of_share);
    JsonWriter json;
    json.open();
    write_policy(json, *found.policy);
    json.field("window_seconds", 60);
    json.field("at", found.standings ? std::optional(domain::rfc3339(found.standings->at)) : std::nullopt);
    if (found.standings) keep_own(found.standings->all, call.caller, of_standing);
    json.raw("standing", found.standings ? resource_manager::standings_json(found.standings->all) : "[]");
    json.close();
    co_return json_response(200, std::move(json).text());
}

Task<HttpResponse> Api::put_fairness(Call call) {
    if (!call.caller.looks_after_all()) co_return for_default_only("shares");
    auto policy = resource_manager::parse_fairness(call.request.body);
    if (!policy) co_return invalid(policy.error());
    policy->updated_by = call.caller.name;
    auto putting =
        node_.database().transact([made = *std::move(policy)](Tx& tx) { return FairnessStore().put(tx, made); });
    const auto stored = co_await std::move(putting);
    co_await node_.refresh_catalogue();
    JsonWriter json;
    json.open();
    write_policy(json, stored);
    json.close();
    co_return json_response(stored.version == 1 ? 201 : 200, std::move(json).text());
}

/// What each who has work now would be asked to have, before and after.
Task<HttpResponse> Api::preview_fairness(Call call) {
    if (!call.caller.looks_after_all()) co_return for_default_only("shares");
    const auto policy = resource_manager::parse_fairness(call.request.body);
    if (!policy) co_return invalid(policy.error());
    struct Found {
        std::optional<FairnessPolicy> policy;
        std::optional<FairnessStore::Standings> standings;
        std::map<Lane, std::int64_t> waiting;
    };
    auto asked_found = node_.database().transact([](Tx& tx) {
        const FairnessStore store;
        Found found{store.load(tx), store.standings(tx), {}};
        found.waiting = count_waiting(tx);
        return found;
    });
    const auto found = co_await std::move(asked_found);
    std::vector<Lane> lanes;
    for (const auto& [lane, count] : found.waiting) lanes.push_back(lane);
    const auto before = found.policy ? asked_percents(*found.policy, lanes) : AskedPercents{};
    const auto after = asked_percents(*policy, lanes);
    JsonWriter json;
    json.open();
    json.open("standing", '[');
    for (const auto& [who, asked] : after) {
        const auto& [organization_id, workflow_type] = who;
        std::int64_t waiting = 0;
        for (const auto& [lane, count] : found.waiting)
            if (lane.organization_id == organization_id &&
                (workflow_type.empty() || lane.workflow_type == workflow_type))
                waiting += count;
        std::optional<double> had;
        if (found.standings)
            for (const auto& each : found.standings->all)
                if (each.share.organization_id == organization_id && each.share.workflow_type == workflow_type)
                    had = each.had_percent;
        const auto was = before.find(who);
        json.open();
        json.field("organization_id", organization_id);
        json.field_or_null("workflow_type", workflow_type).field("waiting", waiting);
        json.field("asked_percent_before", was == before.end() ? std::nullopt : std::optional(was->second))
            .field("asked_percent_after", asked)
            .field("had_percent", had);
        json.close();
    }
    json.close(']');
    json.close();
    co_return json_response(200, std::move(json).text());
}

Task<HttpResponse> Api::clear_fairness(Call call) {
    if (!call.caller.looks_after_all()) co_return for_default_only("shares");
    auto clearing =
        node_.database().transact([by = call.caller.name, reason = call.request.parameter("reason").value_or("")](
                                      Tx& tx) { return FairnessStore().clear(tx, by, reason); });
    const bool cleared = co_await std::move(clearing);
    if (!cleared) co_return no_policy();
    co_await node_.refresh_catalogue();
    HttpResponse response;
    response.status = 204;
    co_return response;
}

Task<HttpResponse> Api::fairness_versions(Call call) {
    if (!call.caller.looks_after_all()) co_return for_default_only("shares");
    auto asked_versions = node_.database().read([](Tx& tx) { return FairnessStore().versions(tx); });
    const auto versions = co_await std::move(asked_versions);
    co_return json_response(200, versions_json(versions, "policy"));
}

}
