#include "subworkflows/workflow_type_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "platform/definition_json.h"
#include "platform/json_text.h"
#include "platform/peer_secrets_json.h"
#include "subworkflows/needs_json.h"
#include "subworkflows/run_windows_json.h"

namespace impresario::subworkflows {

using domain::Duration;
using nlohmann::json;
using platform::DefinitionReader;
using platform::money_at;
using platform::whole_number;
using Faults = std::vector<DefinitionFault>;

namespace {

Duration from_seconds(double seconds) { return Duration{static_cast<std::int64_t>(std::llround(seconds * 1e6))}; }

/// A whole number of seconds is written as one.
json seconds_json(Duration length) {
    if (length.count() % 1000000 == 0) return length.count() / 1000000;
    return domain::in_seconds(length);
}

void read_retry_policy(const json& value, domain::RetryPolicy& policy, Faults& faults) {
    if (value.is_string()) {
        const auto named = domain::named_retry_policy(value.get<std::string>());
        if (named) {
            policy = *named;
        } else {
            faults.push_back({"/retry_policy", "must be master, engine, playbook, none, or an object"});
        }
        return;
    }
    if (!value.is_object()) {
        faults.push_back({"/retry_policy", "must be master, engine, playbook, none, or an object"});
        return;
    }
    DefinitionReader members(value, "/retry_policy", faults);
    policy = domain::RetryPolicy{"custom", 3, {}, std::chrono::seconds{60}, 2.0, std::chrono::hours{24}, 0.1, 0.4};
    std::string named;
    members.text("name", named);
    if (const auto known = domain::named_retry_policy(named)) {
        policy = *known;
    } else if (!named.empty()) {
        policy.name = named;
    }
    members.whole("max_retries", policy.max_retries);
    members.seconds("base_seconds", policy.base);
    members.real("factor", policy.factor);
    members.seconds("cap_seconds", policy.cap);
    if (const json* steps = members.find("steps_seconds")) {
        policy.steps.clear();
        if (!steps->is_array() || steps->size() > 100)
            members.wrong("steps_seconds", "must be an array of at most 100 waits");
        if (steps->is_array())
            for (const auto& step : *steps) {
                if (step.is_number() && std::fabs(step.get<double>()) < 1e9) {
                    policy.steps.push_back(from_seconds(step.get<double>()));
                } else {
                    members.wrong("steps_seconds", "must hold numbers of seconds");
                }
            }
    }
    if (const json* jitter = members.find("jitter")) {
        if (jitter->is_array() && jitter->size() == 2 && (*jitter)[0].is_number() && (*jitter)[1].is_number()) {
            policy.jitter_low = (*jitter)[0].get<double>();
            policy.jitter_high = (*jitter)[1].get<double>();
        } else {
            members.wrong("jitter", "must be two numbers");
        }
    }
    members.nothing_else();
}

void read_endpoints(const json& value, WorkflowType& type, const WorkflowType* existing, Faults& faults) {
    type.endpoints.clear();
    if (!value.is_array()) {
        faults.push_back({"/endpoints", "must be an array"});
        return;
    }
    for (std::size_t i = 0; i < value.size(); ++i) {
        const std::string at = "/endpoints/" + std::to_string(i);
        Endpoint endpoint;
        if (value[i].is_string()) {
            endpoint.url = value[i].get<std::string>();
        } else if (value[i].is_object()) {
            DefinitionReader members(value[i], at, faults);
            members.text("url", endpoint.url);
            members.whole("weight", endpoint.weight);
            members.text("status_url", endpoint.status_url);
            members.whole("max_in_flight", endpoint.max_in_flight);
            if (const json* deduplicates = members.find("deduplicates")) {
                if (deduplicates->is_boolean()) {
                    endpoint.deduplicates = deduplicates->get<bool>();
                } else if (!deduplicates->is_null()) {
                    members.wrong("deduplicates", "must be true, false, or null when it is not known");
                }
            }
            // What the hub shows about an endpoint may be sent back and is passed over.
            for (const char* shown :
                 {"endpoint_id", "held_until", "held_reason", "held_detail", "learnt_deduplicates", "breaker"})
                members.find(shown);
            members.nothing_else();
        } else {
            faults.push_back({at, "must be a URL or an object with url"});
            continue;
        }
        // The same address keeps its id and what is known about it.
        if (existing)
            for (const auto& before : existing->endpoints)
                if (before.url == endpoint.url) {
                    endpoint.id = before.id;
                    endpoint.learnt_deduplicates = before.learnt_deduplicates;
                }
        type.endpoints.push_back(std::move(endpoint));
    }
}

}

namespace {
WorkflowType::CheaperVariant read_cheaper_variant(const json& value, std::string_view text, Faults& faults) {
    WorkflowType::CheaperVariant variant;
    if (!value.is_object()) {
        faults.push_back({"/cheaper_variant", "must be an object, or null for none"});
        return variant;
    }
    DefinitionReader members(value, "/cheaper_variant", faults);
    if (const json* parameters = members.find("parameters")) {
        if (!parameters->is_object()) members.wrong("parameters", "must be an object");
        variant.parameters = parameters->dump();
        if (variant.parameters.size() > 4096) members.wrong("parameters", "must be at most 4096 bytes");
    }
    if (members.has("cost_estimate_usd"))
        variant.cost_estimate = money_at(text, "/cheaper_variant/cost_estimate_usd", faults);
    members.nothing_else();
    return variant;
}
}

domain::Result<WorkflowType, Faults> parse_workflow_type(std::string_view text, const domain::Lane& lane,
                                                         const WorkflowType* existing) {
    Faults faults;
    const json body = platform::definition_tree(text, faults);
    if (!faults.empty()) return faults;

    WorkflowType type;
    type.lane = lane;
    type.retry = *domain::named_retry_policy("master");
    if (existing) {
        type.lane_id = existing->lane_id;
        type.secrets = existing->secrets;
        type.memory_mb = existing->memory_mb;
        type.version = existing->version;
    }

    DefinitionReader members(body, "", faults);
    std::string name = lane.workflow_type;
    members.text("name", name);
    if (name != lane.workflow_type) members.wrong("name", "must be the name in the address");
    members.flag("enabled", type.enabled);
    std::string importance(domain::name(type.importance));
    members.text("importance", importance);
    if (const auto known = domain::parse_importance(importance)) {
        type.importance = *known;
    } else {
        members.wrong("importance", "must be critical, high, normal or low");
    }
    members.seconds("timeout_seconds", type.timeout);
    type.max_runtime = std::max<Duration>(type.max_runtime, type.timeout);
    members.seconds("max_runtime_seconds", type.max_runtime);
    members.seconds("max_wait_seconds", type.max_wait);
    if (const json* most = members.find("max_concurrency"); most && !most->is_null()) {
        type.max_concurrency = 0;
        members.whole("max_concurrency", *type.max_concurrency);
    }
    members.text("concurrency_key", type.concurrency_key);
    members.whole("concurrency_key_limit", type.concurrency_key_limit);
    if (const json* policy = members.find("retry_policy")) read_retry_policy(*policy, type.retry, faults);
    members.flag("retry_rejected", type.retry_rejected);
    members.flag("accept_late", type.accept_late);
    if (const json* statuses = members.find("unknown_statuses")) {
        type.unknown_statuses.clear();
        if (!statuses->is_array()) members.wrong("unknown_statuses", "must be an array of statuses");
        if (statuses->is_array())
            for (const auto& status : *statuses) type.unknown_statuses.push_back(whole_number(status).value_or(0));
    }
    if (members.has("cost_estimate_usd")) type.cost_estimate = money_at(text, "/cost_estimate_usd", faults);
    if (const json* variant = members.find("cheaper_variant"); variant && !variant->is_null())
        type.cheaper_variant = read_cheaper_variant(*variant, text, faults);
    if (const json* calls = members.find("call_estimates")) {
        auto read = read_call_estimates(*calls, text, faults);
        type.needs = std::move(read.needs);
        type.from_input = std::move(read.from_input);
    }
    const auto maybe_whole = [&](const char* member, std::optional<int>& into) {
        const json* value = members.find(member);
        if (!value) return;
        into.reset();
        if (!value->is_null()) members.whole(member, into.emplace(0));
    };
    maybe_whole("memory_mb", type.memory_mb);
    maybe_whole("queue_soft_limit", type.queue_soft_limit);
    maybe_whole("queue_hard_limit", type.queue_hard_limit);
    if (const json* ttl = members.find("queue_ttl_seconds"); ttl && !ttl->is_null())
        members.seconds("queue_ttl_seconds", type.queue_ttl.emplace());
    for (const auto& [member, into] :
         {std::pair{"execution_interval_seconds", &type.execution_interval}, {"cool_down_seconds", &type.cool_down}})
        if (const json* length = members.find(member); length && !length->is_null())
            members.seconds(member, into->emplace());
    members.text("lock", type.lock);
    if (const json* windows = members.find("run_windows"); windows && !windows->is_null())
        type.run_windows = read_run_windows(windows->dump(), faults);
    platform::read_peer_secrets(members, type.secrets);
    if (const json* endpoints = members.find("endpoints")) {
        read_endpoints(*endpoints, type, existing, faults);
    } else if (existing) {
        type.endpoints = existing->endpoints;
    }
    for (const char* shown :
         {"organization_id", "has_bearer", "signing_secret_count", "header_names", "source", "version", "updated_at",
          "state", "last_started_at", "last_ended_at", "next_start_at", "warnings"})
        members.find(shown);
    members.nothing_else();

    for (auto& fault : check(type)) faults.push_back(std::move(fault));
    if (!faults.empty()) return faults;
    return type;
}

std::string retry_policy_json(const domain::RetryPolicy& policy) {
    json value{{"name", policy.name},
               {"max_retries", policy.max_retries},
               {"base_seconds", seconds_json(policy.base)},
               {"factor", policy.factor},
               {"cap_seconds", seconds_json(policy.cap)},
               {"jitter", {policy.jitter_low, policy.jitter_high}}};
    if (!policy.steps.empty()) {
        value["steps_seconds"] = json::array();
        for (const auto& step : policy.steps) value["steps_seconds"].push_back(seconds_json(step));
    }
    return value.dump();
}

domain::RetryPolicy stored_retry_policy(std::string_view text, int max_retries) {
    domain::RetryPolicy policy = *domain::named_retry_policy("master");
    Faults faults;
    const json value = json::parse(text, nullptr, false);
    if (!value.is_discarded()) read_retry_policy(value, policy, faults);
    policy.max_retries = max_retries;
    return policy;
}

std::string breaker_json(const domain::BreakerRecord& breaker) {
    json value{{"state", domain::name(breaker.state)}, {"since", nullptr},  {"until", nullptr},
               {"openings", breaker.openings},         {"detail", nullptr}, {"by", nullptr}};
    if (breaker.since) value["since"] = domain::rfc3339(*breaker.since);
    if (breaker.until) value["until"] = domain::rfc3339(*breaker.until);
    if (!breaker.detail.empty()) value["detail"] = breaker.detail;
    if (!breaker.by.empty()) value["by"] = breaker.by;
    return value.dump();
}

std::string workflow_type_json(const WorkflowType& type, const LaneRuns& runs) {
    json value{{"name", type.lane.workflow_type},
               {"organization_id", type.lane.organization_id},
               {"enabled", type.enabled},
               {"importance", domain::name(type.importance)},
               {"timeout_seconds", seconds_json(type.timeout)},
               {"max_runtime_seconds", seconds_json(type.max_runtime)},
               {"max_wait_seconds", seconds_json(type.max_wait)},
               {"max_concurrency", nullptr},
               {"concurrency_key", nullptr},
               {"concurrency_key_limit", type.concurrency_key_limit},
               {"retry_policy", json::parse(retry_policy_json(type.retry))},
               {"retry_rejected", type.retry_rejected},
               {"accept_late", type.accept_late},
               {"unknown_statuses", type.unknown_statuses},
               {"cost_estimate_usd", nullptr},
               {"cheaper_variant", nullptr},
               {"memory_mb", nullptr},
               {"queue_soft_limit", nullptr},
               {"queue_hard_limit", nullptr},
               {"queue_ttl_seconds", nullptr},
               {"execution_interval_seconds", nullptr},
               {"cool_down_seconds", nullptr},
               {"run_windows", nullptr},
               {"lock", nullptr},
               {"last_started_at", nullptr},
               {"last_ended_at", nullptr},
               {"next_start_at", nullptr},
               {"call_estimates", shown_call_estimates({type.needs, type.from_input})},
               {"has_bearer", !type.secrets.bearer.empty()},
               {"signing_secret_count", type.secrets.signing.size()},
               {"header_names", json::array()},
               {"endpoints", json::array()},
               {"source", type.source},
               {"version", type.version},
               {"updated_at", domain::rfc3339(type.updated_at)}};
    if (type.max_concurrency) value["max_concurrency"] = *type.max_concurrency;
    if (type.memory_mb) value["memory_mb"] = *type.memory_mb;
    if (type.queue_soft_limit) value["queue_soft_limit"] = *type.queue_soft_limit;
    if (type.queue_hard_limit) value["queue_hard_limit"] = *type.queue_hard_limit;
    if (type.queue_ttl) value["queue_ttl_seconds"] = seconds_json(*type.queue_ttl);
    if (type.execution_interval) value["execution_interval_seconds"] = seconds_json(*type.execution_interval);
    if (type.cool_down) value["cool_down_seconds"] = seconds_json(*type.cool_down);
    if (!type.lock.empty()) value["lock"] = type.lock;
    if (type.run_windows) value["run_windows"] = json::parse(run_windows_json(*type.run_windows));
    if (runs.last_started_at) value["last_started_at"] = domain::rfc3339(*runs.last_started_at);
    if (runs.last_ended_at) value["last_ended_at"] = domain::rfc3339(*runs.last_ended_at);
    if (runs.next_start_at) value["next_start_at"] = domain::rfc3339(*runs.next_start_at);
    if (!type.concurrency_key.empty()) value["concurrency_key"] = type.concurrency_key;
    if (type.cost_estimate) value["cost_estimate_usd"] = domain::decimal(*type.cost_estimate);
    if (type.cheaper_variant) value["cheaper_variant"] = json::parse(cheaper_variant_json(*type.cheaper_variant));
    for (const auto& [key, secret] : type.secrets.headers) value["header_names"].push_back(key);
    for (const auto& endpoint : type.endpoints) {
        json each{{"endpoint_id", endpoint.id.text()},
                  {"url", endpoint.url},
                  {"weight", endpoint.weight},
                  {"max_in_flight", endpoint.max_in_flight},
                  {"status_url", nullptr},
                  {"deduplicates", nullptr},
                  {"learnt_deduplicates", endpoint.learnt_deduplicates},
                  {"held_until", nullptr},
                  {"held_reason", nullptr},
                  {"held_detail", nullptr},
                  {"breaker", json::parse(breaker_json(endpoint.breaker))}};
        if (!endpoint.status_url.empty()) each["status_url"] = endpoint.status_url;
        if (endpoint.deduplicates) each["deduplicates"] = *endpoint.deduplicates;
        if (endpoint.held_until) {
            each["held_until"] = domain::rfc3339(*endpoint.held_until);
            each["held_reason"] = endpoint.held_reason;
            each["held_detail"] = endpoint.held_detail;
        }
        value["endpoints"].push_back(std::move(each));
    }
    return value.dump();
}

std::string cheaper_variant_json(const WorkflowType::CheaperVariant& variant) {
    json value{{"parameters", json::parse(variant.parameters, nullptr, false)}, {"cost_estimate_usd", nullptr}};
    if (variant.cost_estimate) value["cost_estimate_usd"] = domain::decimal(*variant.cost_estimate);
    return value.dump();
}

std::optional<WorkflowType::CheaperVariant> stored_cheaper_variant(std::string_view text) {
    const json value = json::parse(text, nullptr, false);
    if (!value.is_object()) return std::nullopt;
    WorkflowType::CheaperVariant variant;
    if (value.contains("parameters")) variant.parameters = value["parameters"].dump();
    if (value.contains("cost_estimate_usd") && value["cost_estimate_usd"].is_string())
        if (const auto parsed = domain::parse_money(value["cost_estimate_usd"].get<std::string>()))
            variant.cost_estimate = parsed->amount;
    return variant;
}

}
