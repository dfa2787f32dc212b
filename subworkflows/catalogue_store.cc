#include "subworkflows/catalogue_store.h"

#include <charconv>

#include "platform/log.h"
#include "platform/peer_secrets_json.h"
#include "subworkflows/needs_json.h"
#include "subworkflows/run_windows_json.h"
#include "subworkflows/workflow_type_json.h"
#include "subworkflows_sql.h"

namespace impresario::subworkflows {

using platform::Params;
using platform::RowReader;
using platform::SqlArray;
using platform::Tx;

namespace {
std::string context_of(const domain::Lane& lane, std::string_view what) {
    return "type/" + lane.text() + "/" + std::string(what);
}

std::vector<std::string> split(std::string_view text) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const auto comma = text.find(',');
        parts.emplace_back(text.substr(0, comma));
        text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    }
    return parts;
}

domain::BreakerRecord breaker_of(RowReader& row) {
    domain::BreakerRecord breaker;
    breaker.state = domain::parse_breaker_state(row.view()).value_or(domain::BreakerState::closed);
    breaker.since = row.maybe_time();
    breaker.until = row.maybe_time();
    breaker.openings = row.small();
    breaker.detail = row.text();
    breaker.by = row.text();
    breaker.orders = row.small();
    return breaker;
}

Params& add(Params& params, const domain::BreakerRecord& breaker) {
    return params.add(domain::name(breaker.state))
        .add(breaker.since)
        .add(breaker.until)
        .add(breaker.openings)
        .add_or_null(breaker.detail)
        .add_or_null(breaker.by);
}

std::int64_t whole_seconds(domain::Duration length) {
    return std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(length).count());
}
}

std::int64_t CatalogueStore::version(Tx& tx) const {
    const auto rows = tx.exec(sql::catalogue_version);
    return RowReader(rows, 0).integer();
}

Catalogue CatalogueStore::load(Tx& tx) const {
    Catalogue catalogue;
    catalogue.version = version(tx);
    const auto types = tx.exec(sql::load_types);
    for (std::size_t i = 0; i < types.size(); ++i) {
        RowReader row(types, i);
        WorkflowType type;
        type.lane.organization_id = row.text();
        type.lane.workflow_type = row.text();
        type.lane_id = row.id<domain::LaneId>();
        type.enabled = row.flag();
        type.importance = domain::parse_importance(row.view()).value_or(Importance::normal);
        type.timeout = std::chrono::seconds{row.integer()};
        type.max_runtime = std::chrono::seconds{row.integer()};
        if (const auto most = row.maybe_integer()) type.max_concurrency = static_cast<int>(*most);
        type.concurrency_key = row.text();
        type.concurrency_key_limit = row.small();
        type.max_wait = std::chrono::seconds{row.integer()};
        const std::string policy = row.text();
        type.retry = stored_retry_policy(policy, row.small());
        type.retry_rejected = row.flag();
        type.accept_late = row.flag();
        type.unknown_statuses.clear();
        for (const auto& status : split(row.view())) type.unknown_statuses.push_back(std::atoi(status.c_str()));
        if (const auto cost = row.maybe_integer()) type.cost_estimate = domain::MicroUsd{*cost};
        auto needs = stored_call_estimates(row.view());
        type.needs = std::move(needs.needs);
        type.from_input = std::move(needs.from_input);
        const auto open = [&](std::string_view sealed, std::string_view what) -> std::optional<domain::Secret> {
            if (sealed.empty()) return std::nullopt;
            auto secret = keys_.open(sealed, context_of(type.lane, what));
            if (!secret)
                platform::log::error("a secret was sealed under another hub key",
                                     {{"organization_id", type.lane.organization_id},
                                      {"workflow_type", type.lane.workflow_type},
                                      {"secret", what},
                                      {"next", "give the hub its old key as well, or set the secret again"}});
            return secret;
        };
        if (auto bearer = open(row.view(), "bearer")) type.secrets.bearer = *std::move(bearer);
        if (const auto headers = open(row.view(), "headers"))
            type.secrets.headers = platform::stored_headers(headers->reveal());
        for (const auto& sealed : split(row.view()))
            if (auto secret = open(sealed, "signing")) type.secrets.signing.push_back(*std::move(secret));
        type.source = row.text();
        type.version = row.small();
        type.updated_at = row.time();
        type.cheaper_variant = stored_cheaper_variant(row.view());
        for (auto* into : {&type.memory_mb, &type.queue_soft_limit, &type.queue_hard_limit})
            if (const auto value = row.maybe_integer()) *into = static_cast<int>(*value);
        for (auto* into : {&type.queue_ttl, &type.execution_interval, &type.cool_down})
            if (const auto length = row.maybe_integer()) *into = std::chrono::seconds{*length};
        type.run_windows = stored_run_windows(row.view());
        type.lock = row.text();
        auto lane = type.lane;
        catalogue.types.emplace(std::move(lane), std::move(type));
    }
    const auto endpoints = tx.exec(sql::load_endpoints);
    for (std::size_t i = 0; i < endpoints.size(); ++i) {
        RowReader row(endpoints, i);
        domain::Lane lane;
        lane.organization_id = row.text();
        lane.workflow_type = row.text();
        Endpoint endpoint;
        endpoint.id = row.id<domain::EndpointId>();
        endpoint.url = row.text();
        endpoint.weight = row.small();
        endpoint.status_url = row.text();
        endpoint.max_in_flight = row.small();
        if (row.null()) {
            row.skip();
        } else {
            endpoint.deduplicates = row.flag();
        }
        endpoint.learnt_deduplicates = row.flag();
        endpoint.held_until = row.maybe_time();
        endpoint.held_since = row.maybe_time();
        endpoint.held_reason = row.text();
        endpoint.held_detail = row.text();
        endpoint.holds = row.small();
        endpoint.breaker = breaker_of(row);
        if (const auto type = catalogue.types.find(lane); type != catalogue.types.end())
            type->second.endpoints.push_back(std::move(endpoint));
    }
    const auto pauses = tx.exec(sql::load_pauses);
    for (std::size_t i = 0; i < pauses.size(); ++i) {
        RowReader row(pauses, i);
        PauseRecord pause;
        pause.organization_id = row.text();
        pause.workflow_type = row.text();
        pause.provider = row.text();
        pause.reason = row.text();
        pause.by = row.text();
        pause.since = row.time();
        pause.until = row.maybe_time();
        pause.condition = row.text();
        catalogue.pauses.push_back(std::move(pause));
    }
    return catalogue;
}

bool CatalogueStore::put(Tx& tx, const WorkflowType& type) const {
    const auto& lane = type.lane;
    SqlArray statuses;
    for (const int status : type.unknown_statuses) statuses.add(status);
    SqlArray signing;
    for (const auto& secret : type.secrets.signing) signing.add(keys_.seal(secret, context_of(lane, "signing")));
    Params params;
    params.add(lane.organization_id)
        .add(lane.workflow_type)
        .add(type.enabled)
        .add(domain::name(type.importance))
        .add(whole_seconds(type.timeout))
        .add(whole_seconds(type.max_runtime));
    if (type.max_concurrency) {
        params.add(*type.max_concurrency);
    } else {
        params.null();
    }
    params.add_or_null(type.concurrency_key)
        .add(type.concurrency_key_limit)
        .add(whole_seconds(type.max_wait))
        .add(retry_policy_json(type.retry))
        .add(type.retry.max_retries)
        .add(type.retry_rejected)
        .add(type.accept_late)
        .add(std::move(statuses));
    if (type.cost_estimate) {
        params.add(*type.cost_estimate);
    } else {
        params.null();
    }
    params.add(call_estimates_json({type.needs, type.from_input}));
    if (type.secrets.bearer.empty()) {
        params.null();
    } else {
        params.add(keys_.seal(type.secrets.bearer, context_of(lane, "bearer")));
    }
    if (type.secrets.headers.empty()) {
        params.null();
    } else {
        params.add(
            keys_.seal(domain::Secret(platform::headers_json(type.secrets.headers)), context_of(lane, "headers")));
    }
    params.add(std::move(signing)).add(type.source);
    params.add_or_null(type.cheaper_variant ? cheaper_variant_json(*type.cheaper_variant) : std::string{});
    for (const auto& each : {type.memory_mb, type.queue_soft_limit, type.queue_hard_limit}) params.add(each);
    for (const auto& length : {type.queue_ttl, type.execution_interval, type.cool_down})
        params.add(length ? std::optional(whole_seconds(*length)) : std::nullopt);
    params.add_or_null(type.run_windows ? run_windows_json(*type.run_windows) : std::string{});
    params.add_or_null(type.lock);
    const auto rows = tx.exec(sql::put_type, params);
    const bool created = RowReader(rows, 0).flag();

    SqlArray urls;
    SqlArray weights;
    SqlArray status_urls;
    SqlArray in_flight;
    SqlArray deduplicates;
    for (const auto& endpoint : type.endpoints) {
        urls.add(endpoint.url);
        weights.add(endpoint.weight);
        status_urls.add_or_null(endpoint.status_url);
        in_flight.add(endpoint.max_in_flight);
        deduplicates.add(endpoint.deduplicates);
    }
    tx.exec(sql::put_endpoints, Params()
                                    .add(lane.organization_id)
                                    .add(lane.workflow_type)
                                    .add(std::move(urls))
                                    .add(std::move(weights))
                                    .add(std::move(status_urls))
                                    .add(std::move(in_flight))
                                    .add(std::move(deduplicates)));
    return created;
}

CatalogueStore::Deleted CatalogueStore::remove(Tx& tx, const domain::Lane& lane) const {
    const Params params = Params().add(lane.organization_id).add(lane.workflow_type);
    if (!tx.exec(sql::delete_type, params).empty()) return Deleted::done;
    return next_lane_seq(tx, lane) ? Deleted::in_use : Deleted::unknown;
}

void CatalogueStore::set_signing(Tx& tx, const domain::Lane& lane, const std::vector<domain::Secret>& secrets) const {
    SqlArray sealed;
    for (const auto& secret : secrets) sealed.add(keys_.seal(secret, context_of(lane, "signing")));
    tx.exec(sql::rotate_signing, Params().add(lane.organization_id).add(lane.workflow_type).add(std::move(sealed)));
}

void CatalogueStore::pause(Tx& tx, const PauseRecord& pause) const {
    const auto& what = pause.provider.empty() ? pause.workflow_type : pause.provider;
    const auto params = Params()
                            .add(pause.organization_id)
                            .add(what)
                            .add(pause.reason)
                            .add(pause.by)
                            .add(pause.until)
                            .add_or_null(pause.condition);
    if (pause.provider.empty()) {
        tx.exec(sql::pause, params);
    } else {
        tx.exec(sql::pause_provider, params);
    }
}

bool CatalogueStore::resume(Tx& tx, const PauseRecord& pause, std::optional<domain::TimePoint> since) const {
    const auto& what = pause.provider.empty() ? pause.workflow_type : pause.provider;
    const auto params = Params().add(pause.organization_id).add(what).add(since);
    return (pause.provider.empty() ? tx.exec(sql::resume, params) : tx.exec(sql::resume_provider, params)).affected() >
           0;
}

std::set<domain::Lane> CatalogueStore::lock_lanes(Tx& tx, const std::set<domain::Lane>& lanes) const {
    platform::SqlArray organizations;
    platform::SqlArray names;
    for (const auto& lane : lanes) {
        organizations.add(lane.organization_id);
        names.add(lane.workflow_type);
    }
    const auto rows = tx.exec(sql::lock_lanes, Params().add(std::move(organizations)).add(std::move(names)));
    std::set<domain::Lane> locked;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RowReader row(rows, i);
        domain::Lane lane;
        lane.organization_id = row.text();
        lane.workflow_type = row.text();
        locked.insert(std::move(lane));
    }
    return locked;
}

bool CatalogueStore::hold_endpoint(Tx& tx, const Endpoint& endpoint) const {
    const auto held = tx.exec(sql::hold_endpoint, Params()
                                                      .add(endpoint.id)
                                                      .add(endpoint.held_until)
                                                      .add(endpoint.held_since)
                                                      .add_or_null(endpoint.held_reason)
                                                      .add_or_null(endpoint.held_detail)
                                                      .add(endpoint.holds));
    return held.affected() > 0;
}

bool CatalogueStore::move_breaker(Tx& tx, const Endpoint& endpoint) const {
    Params params;
    params.add(endpoint.id).add(endpoint.breaker.orders);
    return tx.exec(sql::move_breaker, add(params, endpoint.breaker)).affected() > 0;
}

std::optional<Endpoint> CatalogueStore::set_breaker(Tx& tx, const domain::Lane& lane, const domain::EndpointId& id,
                                                    const domain::BreakerRecord& breaker) const {
    Params params;
    params.add(lane.organization_id).add(lane.workflow_type).add(id);
    const auto rows = tx.exec(sql::set_breaker, add(params, breaker));
    if (rows.empty()) return std::nullopt;
    RowReader row(rows, 0);
    Endpoint endpoint;
    endpoint.id = id;
    endpoint.url = row.text();
    endpoint.breaker = breaker_of(row);
    return endpoint;
}

void CatalogueStore::learn_deduplicates(Tx& tx, const domain::EndpointId& id) const {
    tx.exec(sql::learn_deduplicates, Params().add(id));
}

std::optional<CatalogueStore::StreamPlace> CatalogueStore::next_lane_seq(Tx& tx, const domain::Lane& lane) const {
    const auto rows = tx.exec(sql::lane_event_seq, Params().add(lane.organization_id).add(lane.workflow_type));
    if (rows.empty()) return std::nullopt;
    RowReader row(rows, 0);
    StreamPlace place;
    place.lane = row.id<domain::LaneId>();
    place.seq = row.small();
    return place;
}

}
