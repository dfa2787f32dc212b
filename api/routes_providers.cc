#include "api/api.h"
#include "api/definition_versions.h"
#include "api/definition_warnings.h"
#include "api/problem.h"
#include "api/request_reader.h"
#include "api/waiting_lanes.h"
#include "journal/event_store.h"
#include "orchestrator/lane_events.h"
#include "platform/gate_json.h"
#include "platform/json_writer.h"
#include "resource_manager/provider_json.h"
#include "resource_manager/provider_preview.h"
#include "resource_manager/provider_store.h"
#include "resource_manager/weather_store.h"

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

/// Of a limit with a key those keys that use most, and how many there are.
constexpr std::size_t kMostKeys = 20;

void write_keys(JsonWriter& json, const resource_manager::KeyMeters& keys, const resource_manager::ProviderLimit& limit,
                domain::TimePoint now) {
    json.field("keys_in_use", keys.in_use(now));
    json.open("keys", '[');
    const auto heaviest = keys.heaviest(kMostKeys, now);
    for (const auto& use : heaviest) {
        json.open();
        json.field("key", use.key);
        amount_field(json, "used", limit.of, use.used);
        amount_field(json, "in_flight", limit.of, use.in_flight);
        amount_field(json, "headroom", limit.of, std::max<std::int64_t>(0, limit.ceiling - use.used));
        amount_field(json, "guaranteed_left", limit.of, std::max<std::int64_t>(0, limit.guaranteed - use.used));
        json.field("next_at", keys.fits_at(use.key, 1, now));
        json.close();
    }
    json.close(']');
}

/// What of each limit is used, and when one more fits. An organization sees its own and what everybody shares, but of
/// that not whose keys: they are other organizations' customers.
void write_use(JsonWriter& json, const ProviderMeters& meters, const std::string& provider,
               const std::string& organization, bool sees_all, domain::TimePoint now) {
    json.open("use", '[');
    for (const auto& shown : meters.all()) {
        const bool ours =
            shown.subject.empty() || shown.subject == organization || shown.subject.starts_with(organization + "/");
        if (shown.provider != provider || !ours) continue;
        const auto& limit = shown.meter->limit();
        const auto used = shown.meter->used(now);
        json.open();
        json.field("limit", limit.name);
        json.field_or_null("subject", shown.subject);
        amount_field(json, "used", limit.of, used);
        amount_field(json, "in_flight", limit.of, shown.meter->in_flight());
        amount_field(json, "headroom", limit.of, std::max<std::int64_t>(0, limit.capacity() - used));
        json.field("next_at", shown.meter->fits_at(1, now));
        if (shown.keys && (sees_all || !shown.subject.empty())) write_keys(json, *shown.keys, limit, now);
        json.close();
    }
    json.close(']');
}

/// How it does; null in fair weather. What was learnt holds within `window_seconds`.
void write_weather(JsonWriter& json, const ProviderMeters& meters, const std::string& provider, domain::TimePoint now) {
    const auto found = meters.weather().find(provider);
    if (found == meters.weather().end()) return;
    const auto& weather = found->second;
    const auto& record = weather.record();
    if (!record.since && !record.cooling_until && !weather.left(now)) {
        json.raw("weather", "null");
        return;
    }
    json.open("weather", '{');
    const auto left = weather.left(now);
    const bool cooling = weather.cooling(now) || left == 0;
    json.field("state", cooling ? "cooling" : weather.probed(now) ? "probing" : record.learnt ? "learning" : "fair");
    json.field("cooling_until", weather.cooling(now) ? record.cooling_until
                                : left == 0          ? std::optional(record.quota->until)
                                                     : std::nullopt);
    json.field("since", record.since);
    json.field("why", record.why).field("by", record.by);
    json.field("learnt", weather.allowed(now));
    json.field("window_seconds", domain::in_seconds(weather.window()));
    json.field("used", weather.used(now));
    json.field("refused_at", record.refused_at);
    json.field("grows_at", record.grows_at);
    json.field("remaining", left);
    if (left) json.field("remaining_of", resource_manager::name(record.quota->of));
    json.field("remaining_until", left ? std::optional(record.quota->until) : std::nullopt);
    json.close();
}

void write_provider(JsonWriter& json, const Provider& provider) {
    json.field("name", provider.name)
        .field("version", provider.version)
        .field("updated_at", domain::rfc3339(provider.updated_at))
        .field("updated_by", provider.updated_by)
        .field("reason", provider.reason)
        .raw("limits", resource_manager::limits_json(provider));
}

void write_preview(JsonWriter& json, const resource_manager::ProviderLanePreview& line) {
    const auto gate = [](const resource_manager::LimitsMet& met) {
        return met.gate ? platform::gate_json(*met.gate) : std::string("null");
    };
    const auto last = [](const resource_manager::LimitsMet& met) {
        return met.last_in ? std::optional(domain::in_seconds(*met.last_in)) : std::nullopt;
    };
    json.open();
    json.field("organization_id", line.lane.organization_id)
        .field("workflow_type", line.lane.workflow_type)
        .field("waiting", line.waiting)
        .field("fit_before", line.before.fit)
        .field("fit_after", line.after.fit)
        .field("last_in_seconds_before", last(line.before))
        .field("last_in_seconds_after", last(line.after))
        .raw("gate_before", gate(line.before))
        .raw("gate_after", gate(line.after));
    json.close();
}

}

/// One provider or all of them, with what is used as the tables say.
Task<HttpResponse> Api::show_providers(Call call) {
    const auto wanted = call.path.contains("name") ? call.path["name"] : std::string{};
    auto asked_text = node_.database().transact([wanted, organization = call.caller.organization_id,
                                                 sees_all = call.caller.looks_after_all(),
                                                 now = node_.clock().now()](Tx& tx) -> std::optional<std::string> {
        const ProviderStore store;
        const auto providers = store.load(tx);
        ProviderMeters meters;
        meters.load(providers, store.permits(tx), now, resource_manager::WeatherStore().load(tx));
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
            write_weather(json, meters, provider.name, now);
            write_use(json, meters, provider.name, organization, sees_all, now);
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
    if (!call.caller.looks_after_all()) co_return for_default_only("providers");
    auto provider = resource_manager::parse_provider(call.request.body, call.path["name"]);
    if (!provider) co_return invalid(provider.error());
    provider->updated_by = call.caller.name;
    auto putting =
        node_.database().transact([made = *std::move(provider)](Tx& tx) { return ProviderStore().put(tx, made); });
    const auto stored = co_await std::move(putting);
    co_await node_.refresh_catalogue();
    JsonWriter json;
    json.open();
    write_provider(json, stored);
    json.close();
    co_return json_response(stored.version == 1 ? 201 : 200,
                            with_warnings(std::move(json).text(), warnings_of(stored, *node_.catalogue())));
}

/// What would be so if it were put. Nothing is changed.
Task<HttpResponse> Api::preview_provider(Call call) {
    if (!call.caller.looks_after_all()) co_return for_default_only("providers");
    auto parsed = resource_manager::parse_provider(call.request.body, call.path["name"]);
    if (!parsed) co_return invalid(parsed.error());
    const Provider after = *std::move(parsed);
    struct Read {
        std::optional<Provider> before;
        std::vector<resource_manager::LoadedPermit> permits;
        std::vector<resource_manager::WaitingLane> lanes;
    };
    auto asked_read =
        node_.database().read([after, catalogue = node_.catalogue(), unknown = hub_.unknown_cost()](Tx& tx) {
            Read read;
            const auto providers = ProviderStore().load(tx);
            for (const auto& provider : providers)
                if (provider.name == after.name) read.before = provider;
            read.permits = ProviderStore().permits(tx);
            read.lanes = waiting_lanes(tx, *catalogue, unknown);
            const auto keyed = [](const Provider& provider) {
                return std::any_of(provider.limits.begin(), provider.limits.end(),
                                   [](const auto& limit) { return limit.keyed(); });
            };
            if (keyed(after) || (read.before && keyed(*read.before))) add_keys(tx, after.name, read.lanes);
            return read;
        });
    const auto read = co_await std::move(asked_read);
    const auto lines = resource_manager::preview(read.before ? &*read.before : nullptr, &after, read.permits,
                                                 read.lanes, node_.clock().now());
    JsonWriter json;
    json.open();
    json.field("provider", after.name);
    json.raw("limits_before", read.before ? resource_manager::limits_json(*read.before) : "null");
    json.raw("limits_after", resource_manager::limits_json(after));
    json.open("lanes", '[');
    for (const auto& line : lines) write_preview(json, line);
    json.close(']');
    json.close();
    co_return json_response(200, with_warnings(std::move(json).text(), warnings_of(after, *node_.catalogue())));
}

Task<HttpResponse> Api::delete_provider(Call call) {
    if (!call.caller.looks_after_all()) co_return for_default_only("providers");
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

/// Nothing goes to it until then.
Task<HttpResponse> Api::cool_provider(Call call) {
    if (auto refused = BodyReader::refuse_body(call.request.body)) co_return *std::move(refused);
    BodyReader body(call.request.body);
    auto reason = body.text("reason", 500);
    const auto until = body.time("until");
    const auto now = node_.clock().now();
    if (!until) {
        body.wrong("until", "is missing: until when nothing is to go to it");
    } else if (*until <= now || *until > now + resource_manager::ProviderWeather::kLongestWait) {
        body.wrong("until",
                   "must be within the next 24 hours; to stop a provider for longer, limit it or pause its types");
    }
    body.nothing_else();
    if (!body.faults().empty()) co_return invalid(body.faults());
    auto setting = set_weather(std::move(call), until, std::move(reason));
    co_return co_await std::move(setting);
}

/// It is asked again as if it had never refused.
Task<HttpResponse> Api::reset_provider(Call call) {
    auto said = read_by_hand(call.request.body, 500);
    if (said.refused) co_return *std::move(said.refused);
    auto setting = set_weather(std::move(call), std::nullopt, std::move(said.reason));
    co_return co_await std::move(setting);
}

/// The row says so, the provider's stream who and why; the catalogue brings it to whoever leads.
Task<HttpResponse> Api::set_weather(Call call, std::optional<domain::TimePoint> until, std::string reason) {
    if (!call.caller.looks_after_all()) co_return for_default_only("providers");
    const auto name = call.path["name"];
    auto setting = node_.database().transact([this, name, until, reason, by = call.caller.name](Tx& tx) {
        const auto place = resource_manager::WeatherStore().set(tx, name, until, reason, by);
        if (!place) return false;
        resource_manager::WeatherRecord record;
        record.cooling_until = until;
        record.why = reason;
        record.by = by;
        const auto type = until ? domain::event::provider_cooling : domain::event::provider_recovered;
        journal::EventStore().append(tx, {orchestrator::provider_event(type, place->stream, place->seq, name, record)},
                                     node_.id());
        return true;
    });
    const bool set = co_await std::move(setting);
    if (!set) co_return problem(404, "not-found", "there is no such provider");
    co_await node_.refresh_catalogue();
    hub_.wake();
    auto showing = show_providers(std::move(call));
    co_return co_await std::move(showing);
}

Task<HttpResponse> Api::provider_versions(Call call) {
    auto asked_versions =
        node_.database().read([name = call.path["name"]](Tx& tx) { return ProviderStore().versions(tx, name); });
    const auto versions = co_await std::move(asked_versions);
    if (versions.empty()) co_return problem(404, "not-found", "there has never been such a provider");
    co_return json_response(200, versions_json(versions, "limits"));
}

}
