#include "api/api.h"
#include "api/problem.h"
#include "api/request_reader.h"
#include "platform/json_writer.h"
#include "resource_manager/provider_json.h"
#include "resource_manager/provider_store.h"

namespace impresario::api {

using platform::HttpResponse;
using platform::JsonWriter;
using platform::Task;
using platform::Tx;
using resource_manager::Measure;
using resource_manager::Provider;
using resource_manager::ProviderMeters;
using resource_manager::ProviderStore;

namespace {

void amount_field(JsonWriter& json, std::string_view key, Measure of, std::int64_t amount) {
    if (of == Measure::cost) {
        json.field(key, domain::decimal({amount}));
    } else {
        json.field(key, amount);
    }
}

/// What of each limit is used, and when one more fits. An organization sees its own and what everybody shares.
void write_use(JsonWriter& json, const ProviderMeters& meters, const std::string& provider,
               const std::string& organization, domain::TimePoint now) {
    json.open("use", '[');
    for (const auto& shown : meters.all()) {
        const bool ours =
            shown.subject.empty() || shown.subject == organization || shown.subject.starts_with(organization + "/");
        if (shown.provider != provider || !ours) continue;
        const auto& limit = shown.meter->limit();
        const auto used = shown.meter->used(now);
        json.open();
        json.field("limit", limit.name);
        json.raw("subject", shown.subject.empty() ? "null" : platform::json_quoted(shown.subject));
        amount_field(json, "used", limit.of, used);
        amount_field(json, "in_flight", limit.of, shown.meter->in_flight());
        amount_field(json, "headroom", limit.of, std::max<std::int64_t>(0, limit.capacity() - used));
        const auto next = shown.meter->fits_at(1, now);
        json.raw("next_at", next ? "\"" + domain::rfc3339(*next) + "\"" : "null");
        json.close();
    }
    json.close(']');
}

void write_provider(JsonWriter& json, const Provider& provider) {
    json.field("name", provider.name)
        .field("version", provider.version)
        .field("updated_at", domain::rfc3339(provider.updated_at))
        .field("updated_by", provider.updated_by)
        .field("reason", provider.reason)
        .raw("limits", resource_manager::limits_json(provider));
}

/// Providers are everybody's: one organization's administrator would set the limits of all others.
bool may_change(const Caller& caller) { return caller.organization_id == domain::kDefaultOrganization; }

HttpResponse not_yours() {
    return problem(403, "forbidden",
                   "providers are shared by all organizations; use an admin key of the organization default");
}

}

/// One provider or all of them, with what is used as the tables say.
Task<HttpResponse> Api::show_providers(Call call) {
    const auto wanted = call.path.contains("name") ? call.path["name"] : std::string{};
    auto asked_text = node_.database().transact([wanted, organization = call.caller.organization_id,
                                                 now = node_.clock().now()](Tx& tx) -> std::optional<std::string> {
        const ProviderStore store;
        const auto providers = store.load(tx);
        ProviderMeters meters;
        meters.load(providers, store.permits(tx), now);
        JsonWriter json;
        if (wanted.empty()) {
            json.open();
            json.open("providers", '[');
        }
        bool found = wanted.empty();
        for (const auto& provider : providers) {
            if (!wanted.empty() && provider.name != wanted) continue;
            found = true;
            json.open();
            write_provider(json, provider);
            write_use(json, meters, provider.name, organization, now);
            json.close();
        }
        if (!found) return std::nullopt;
        if (wanted.empty()) {
            json.close(']');
            json.close();
        }
        return std::move(json).text();
    });
    const auto text = co_await std::move(asked_text);
    if (!text) co_return problem(404, "not-found", "there is no such provider");
    co_return json_response(200, *text);
}

Task<HttpResponse> Api::put_provider(Call call) {
    if (!may_change(call.caller)) co_return not_yours();
    auto provider = resource_manager::parse_provider(call.request.body, call.path["name"]);
    if (!provider) {
        std::vector<FieldFault> faults;
        for (auto& fault : provider.error()) faults.push_back({std::move(fault.pointer), std::move(fault.what)});
        co_return invalid(faults);
    }
    provider->updated_by = call.caller.name;
    auto putting =
        node_.database().transact([made = *std::move(provider)](Tx& tx) { return ProviderStore().put(tx, made); });
    const auto stored = co_await std::move(putting);
    co_await node_.refresh_catalogue();
    JsonWriter json;
    json.open();
    write_provider(json, stored);
    json.close();
    co_return json_response(stored.version == 1 ? 201 : 200, std::move(json).text());
}

Task<HttpResponse> Api::delete_provider(Call call) {
    if (!may_change(call.caller)) co_return not_yours();
    auto deleting = node_.database().transact([name = call.path["name"], by = call.caller.name](Tx& tx) {
        return ProviderStore().remove(tx, name, by, "deleted");
    });
    const bool deleted = co_await std::move(deleting);
    if (!deleted) co_return problem(404, "not-found", "there is no such provider");
    co_await node_.refresh_catalogue();
    HttpResponse response;
    response.status = 204;
    co_return response;
}

Task<HttpResponse> Api::provider_versions(Call call) {
    auto asked_versions =
        node_.database().read([name = call.path["name"]](Tx& tx) { return ProviderStore().versions(tx, name); });
    const auto versions = co_await std::move(asked_versions);
    if (versions.empty()) co_return problem(404, "not-found", "there has never been such a provider");
    JsonWriter json;
    json.open();
    json.open("versions", '[');
    for (const auto& each : versions) {
        json.open();
        json.field("version", each.version)
            .field("at", domain::rfc3339(each.at))
            .field("by", each.by)
            .field("reason", each.reason)
            .raw("limits", each.limits.empty() ? "null" : each.limits);
        json.close();
    }
    json.close(']');
    json.close();
    co_return json_response(200, std::move(json).text());
}

}
