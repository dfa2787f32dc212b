#include "subworkflows/workflow_type.h"

#include <algorithm>
#include <set>

#include "platform/redact.h"
#include "platform/url.h"
#include "platform/zone.h"

namespace impresario::subworkflows {

std::vector<domain::Secret> WorkflowType::every_secret() const {
    std::vector<domain::Secret> all;
    for (const auto* secret : secrets.all()) all.push_back(*secret);
    for (const auto& each : endpoints) {
        platform::add_query_secrets(each.url, all);
        platform::add_query_secrets(each.status_url, all);
    }
    return all;
}

const Endpoint* WorkflowType::endpoint(const domain::EndpointId& id) const {
    for (const auto& each : endpoints)
        if (each.id == id) return &each;
    return nullptr;
}

bool WorkflowType::repeats_safely(const domain::EndpointId& id) const {
    const auto* known = endpoint(id);
    return known && known->known_to_deduplicate() && endpoints.size() == 1 && lock.empty();
}

std::string status_url_of(const Endpoint& endpoint, const domain::ExecutionId& execution) {
    static constexpr std::string_view place = "{execution_id}";
    std::string url = endpoint.status_url;
    for (auto at = url.find(place); at != std::string::npos; at = url.find(place))
        url.replace(at, place.size(), execution.text());
    return url;
}

std::vector<DefinitionFault> check(const WorkflowType& type) {
    std::vector<DefinitionFault> faults;
    const auto wrong = [&](std::string pointer, std::string what) {
        faults.push_back({std::move(pointer), std::move(what)});
    };
    const auto within = [&](std::string pointer, domain::Duration value, std::chrono::seconds least,
                            std::chrono::seconds most) {
        if (value < least || value > most)
            wrong(std::move(pointer),
                  "must be from " + std::to_string(least.count()) + " to " + std::to_string(most.count()));
    };
    const auto& name = type.lane.workflow_type;
    if (name.empty() || name.size() > 200) wrong("/name", "must have 1 to 200 bytes");
    within("/timeout_seconds", type.timeout, std::chrono::seconds{1}, std::chrono::hours{168});
    within("/max_runtime_seconds", type.max_runtime, std::chrono::seconds{1}, std::chrono::hours{720});
    within("/max_wait_seconds", type.max_wait, std::chrono::seconds{1}, std::chrono::hours{720});
    if (type.max_concurrency && (*type.max_concurrency < 1 || *type.max_concurrency > 100000))
        wrong("/max_concurrency", "must be from 1 to 100000, or null for no limit");
    if (!type.concurrency_key.empty() && type.concurrency_key.front() != '/')
        wrong("/concurrency_key", "must be a JSON pointer into the input, such as /customer");
    if (type.concurrency_key_limit < 1 || type.concurrency_key_limit > 100000)
        wrong("/concurrency_key_limit", "must be from 1 to 100000");
    if (type.retry.max_retries < 0 || type.retry.max_retries > 1000)
        wrong("/retry_policy/max_retries", "must be from 0 to 1000");
    if (type.retry.base.count() < 0) wrong("/retry_policy/base_seconds", "must not be negative");
    if (!(type.retry.factor >= 1.0 && type.retry.factor <= 100.0))
        wrong("/retry_policy/factor", "must be from 1 to 100");
    within("/retry_policy/cap_seconds", type.retry.cap, std::chrono::seconds{0}, std::chrono::hours{720});
    if (!(type.retry.jitter_low >= 0 && type.retry.jitter_low <= type.retry.jitter_high &&
          type.retry.jitter_high <= 10))
        wrong("/retry_policy/jitter", "must be two shares from 0 to 10, the smaller first");
    for (const auto& step : type.retry.steps)
        if (step.count() < 0) wrong("/retry_policy/steps_seconds", "must not hold a negative wait");
    for (auto& fault : platform::check(type.secrets)) faults.push_back(std::move(fault));
    std::set<std::string> urls;
    for (std::size_t i = 0; i < type.endpoints.size(); ++i) {
        const auto& endpoint = type.endpoints[i];
        const std::string at = "/endpoints/" + std::to_string(i);
        if (const auto url = platform::parse_url(endpoint.url); !url) wrong(at + "/url", url.error().what);
        if (!urls.insert(endpoint.url).second) wrong(at + "/url", "is listed twice");
        if (!endpoint.status_url.empty())
            if (const auto url = platform::parse_url(status_url_of(endpoint, {})); !url)
                wrong(at + "/status_url", url.error().what);
        if (endpoint.weight < 1 || endpoint.weight > 1000) wrong(at + "/weight", "must be from 1 to 1000");
        if (endpoint.max_in_flight < 1 || endpoint.max_in_flight > 10000)
            wrong(at + "/max_in_flight", "must be from 1 to 10000");
    }
    if (type.endpoints.size() > 64) wrong("/endpoints", "holds more than 64");
    for (const int status : type.unknown_statuses)
        if (status < 500 || status > 599) wrong("/unknown_statuses", "must hold statuses from 500 to 599");
    if (type.cost_estimate && type.cost_estimate->value < 0) wrong("/cost_estimate_usd", "must not be negative");
    if (type.memory_mb && (*type.memory_mb < 1 || *type.memory_mb > kMostMemoryMb))
        wrong("/memory_mb", "must be from 1 to " + std::to_string(kMostMemoryMb) + ", or null to reserve none");
    for (const auto& [pointer, limit] :
         {std::pair{"/queue_soft_limit", type.queue_soft_limit}, {"/queue_hard_limit", type.queue_hard_limit}})
        if (limit && (*limit < 1 || *limit > kMostWaiting))
            wrong(pointer, "must be from 1 to " + std::to_string(kMostWaiting) + ", or null for no bound");
    if (type.queue_soft_limit && type.queue_hard_limit && *type.queue_soft_limit > *type.queue_hard_limit)
        wrong("/queue_hard_limit", "must not be less than queue_soft_limit");
    if (type.queue_ttl) within("/queue_ttl_seconds", *type.queue_ttl, std::chrono::seconds{1}, std::chrono::hours{720});
    if (type.lock.size() > kLongestLockName)
        wrong("/lock", "must have at most " + std::to_string(kLongestLockName) + " bytes, or be null for none");
    for (const auto& [pointer, length] :
         {std::pair{"/execution_interval_seconds", type.execution_interval}, {"/cool_down_seconds", type.cool_down}})
        if (length) within(pointer, *length, std::chrono::seconds{1}, std::chrono::hours{720});
    if (type.run_windows) {
        const auto& zone = type.run_windows->zone;
        if (!platform::known_zone(zone))
            wrong("/run_windows/time_zone", "is no time zone that this machine knows, as in Europe/Berlin");
        if (type.run_windows->windows.empty() || type.run_windows->windows.size() > kMostRunWindows)
            wrong("/run_windows/windows", "must hold 1 to " + std::to_string(kMostRunWindows) +
                                              "; to let it start at any time, set run_windows to null");
    }
    domain::MicroUsd calls_cost;
    for (const auto& need : type.needs) calls_cost = calls_cost + need.cost;
    if (calls_cost > domain::kMostMoney)
        wrong("/call_estimates", "cost together more than " + domain::decimal(domain::kMostMoney) + " USD");
    return faults;
}

}
