#include "resource_manager/provider_json.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "platform/definition_json.h"

namespace impresario::resource_manager {

using domain::DefinitionFaults;
using domain::Duration;
using nlohmann::json;
using platform::DefinitionReader;

namespace {

constexpr std::array<std::pair<std::string_view, std::chrono::seconds>, 4> kUnits{{{"second", std::chrono::seconds{1}},
                                                                                   {"minute", std::chrono::minutes{1}},
                                                                                   {"hour", std::chrono::hours{1}},
                                                                                   {"day", std::chrono::hours{24}}}};

void read_per(DefinitionReader& members, Duration& per) {
    const json* value = members.find("per");
    if (!value) return;
    if (!value->is_string()) return members.seconds("per", per);
    for (const auto& [unit, length] : kUnits)
        if (value->get_ref<const std::string&>() == unit) {
            per = length;
            return;
        }
    members.wrong("per", "must be second, minute, hour, day, or a number of seconds");
}

/// "07:00" → 7 h.
void read_reset_at(DefinitionReader& members, Duration& reset_at) {
    std::string text;
    members.text("reset_at", text);
    if (text.empty()) return;
    const auto digit = [&](std::size_t at) { return text[at] >= '0' && text[at] <= '9'; };
    if (text.size() == 5 && text[2] == ':' && digit(0) && digit(1) && digit(3) && digit(4)) {
        const int hour = (text[0] - '0') * 10 + text[1] - '0';
        const int minute = (text[3] - '0') * 10 + text[4] - '0';
        if (hour < 24 && minute < 60) {
            reset_at = std::chrono::hours{hour} + std::chrono::minutes{minute};
            return;
        }
    }
    members.wrong("reset_at", "must be a time of day in UTC, such as 07:00");
}

template <class Value>
void read_name(DefinitionReader& members, const char* name, Value& into,
               std::optional<Value> (*parse)(std::string_view), const char* allowed) {
    std::string text;
    members.text(name, text);
    if (text.empty() && !members.has(name)) return;
    if (const auto known = parse(text)) {
        into = *known;
    } else {
        members.wrong(name, std::string("must be ") + allowed);
    }
}

/// A whole number, or money where the limit is about that.
void read_amount(DefinitionReader& members, const char* name, bool money, std::string_view body, std::int64_t& into,
                 DefinitionFaults& faults) {
    if (!money) return members.large(name, into);
    if (!members.has(name)) return;
    if (const auto amount = platform::money_at(body, members.at(name), faults)) {
        into = amount->value;
    } else {
        into = 0;
    }
}

/// What each key may have; both members are optional, and one that is there is at least 1.
void read_per_key(DefinitionReader& members, std::string_view body, ProviderLimit& limit, DefinitionFaults& faults) {
    members.text("key", limit.key);
    const json* value = members.find("per_key");
    if (limit.key.empty()) {
        if (members.has("key") && !members.find("key")->is_null())
            members.wrong("key", "must be a JSON pointer into the input, such as /customer_id");
        if (value) members.wrong("per_key", "is for a limit with a key");
        return;
    }
    limit.ceiling = limit.limit;
    if (!value) return;
    if (!value->is_object()) return members.wrong("per_key", "must be an object");
    const bool money = limit.of == Measure::cost;
    DefinitionReader each(*value, members.at("per_key"), faults);
    read_amount(each, "ceiling", money, body, limit.ceiling, faults);
    // 0 is what is not said.
    if (each.has("guaranteed")) {
        read_amount(each, "guaranteed", money, body, limit.guaranteed, faults);
        if (limit.guaranteed == 0) limit.guaranteed = -1;
    }
    each.nothing_else();
}

std::vector<ProviderLimit> read_limits(const json& value, std::string_view body, const std::string& at,
                                       DefinitionFaults& faults) {
    std::vector<ProviderLimit> limits;
    if (!value.is_array()) {
        faults.push_back({at, "must be an array"});
        return limits;
    }
    for (std::size_t i = 0; i < value.size(); ++i) {
        const std::string place = at + "/" + std::to_string(i);
        if (!value[i].is_object()) {
            faults.push_back({place, "must be an object"});
            continue;
        }
        DefinitionReader members(value[i], place, faults);
        ProviderLimit limit;
        members.text("name", limit.name);
        if (!members.has("of")) members.wrong("of", "is missing: requests, tokens, items, cost or concurrency");
        read_name(members, "of", limit.of, parse_measure, "requests, tokens, items, cost or concurrency");
        read_name(members, "kind", limit.kind, parse_window_kind, "sliding_window, fixed_window or token_bucket");
        read_name(members, "scope", limit.scope, parse_limit_scope, "global, organization or workflow_type");
        const bool money = limit.of == Measure::cost;
        if (!members.has("limit")) members.wrong("limit", "is missing");
        read_amount(members, "limit", money, body, limit.limit, faults);
        read_per_key(members, body, limit, faults);
        if (limit.of == Measure::concurrency) {
            for (const char* other : {"per", "kind", "burst", "reset_at"})
                if (members.has(other)) members.wrong(other, "says nothing about concurrency");
        } else {
            if (!members.has("per")) members.wrong("per", "is missing: second, minute, hour or day");
            read_per(members, limit.per);
            const bool bucket = limit.kind == WindowKind::token_bucket;
            if (bucket) limit.burst = limit.limit;
            if (!bucket && members.has("burst")) members.wrong("burst", "is for a token_bucket");
            if (bucket) read_amount(members, "burst", money, body, limit.burst, faults);
            if (limit.kind != WindowKind::fixed_window && members.has("reset_at"))
                members.wrong("reset_at", "is for a fixed_window");
            if (limit.kind == WindowKind::fixed_window) read_reset_at(members, limit.reset_at);
        }
        members.nothing_else();
        limits.push_back(std::move(limit));
    }
    return limits;
}

json amount_json(const ProviderLimit& limit, std::int64_t amount) {
    if (limit.of == Measure::cost) return domain::decimal({amount});
    return amount;
}

json per_json(Duration per) {
    for (const auto& [unit, length] : kUnits)
        if (per == length) return unit;
    if (per.count() % 1000000 == 0) return per.count() / 1000000;
    return domain::in_seconds(per);
}

}

domain::Result<Provider, DefinitionFaults> parse_provider(std::string_view text, const std::string& name) {
    DefinitionFaults faults;
    const json body = platform::definition_tree(text, faults);
    if (!faults.empty()) return faults;
    DefinitionReader members(body, "", faults);
    Provider provider;
    provider.name = name;
    std::string said = name;
    members.text("name", said);
    if (said != name) members.wrong("name", "must be the name in the address");
    members.text("reason", provider.reason);
    if (provider.reason.size() > 1000) members.wrong("reason", "must be at most 1000 bytes");
    if (const json* limits = members.find("limits")) {
        provider.limits = read_limits(*limits, text, "/limits", faults);
    } else {
        members.wrong("limits", "is missing; [] is a provider without limits");
    }
    // What the hub shows may be sent back and is passed over.
    for (const char* shown : {"version", "updated_at", "updated_by", "use", "weather", "warnings"}) members.find(shown);
    members.nothing_else();
    if (faults.empty()) faults = check(provider);
    if (!faults.empty()) return faults;
    return provider;
}

std::string limits_json(const Provider& provider) {
    json all = json::array();
    for (const auto& limit : provider.limits) {
        json each{{"name", limit.name},
                  {"of", name(limit.of)},
                  {"limit", amount_json(limit, limit.limit)},
                  {"scope", name(limit.scope)}};
        if (limit.of != Measure::concurrency) {
            each["per"] = per_json(limit.per);
            each["kind"] = name(limit.kind);
            if (limit.kind == WindowKind::token_bucket) each["burst"] = amount_json(limit, limit.burst);
            if (limit.kind == WindowKind::fixed_window) {
                const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(limit.reset_at).count();
                std::array<char, 16> time{};
                std::snprintf(time.data(), time.size(), "%02d:%02d", static_cast<int>(minutes / 60),
                              static_cast<int>(minutes % 60));
                each["reset_at"] = time.data();
            }
        }
        if (limit.keyed()) {
            each["key"] = limit.key;
            each["per_key"] = {{"ceiling", amount_json(limit, limit.ceiling)}};
            if (limit.guaranteed > 0) each["per_key"]["guaranteed"] = amount_json(limit, limit.guaranteed);
        }
        all.push_back(std::move(each));
    }
    return all.dump();
}

std::vector<ProviderLimit> stored_limits(std::string_view text) {
    DefinitionFaults faults;
    const json value = json::parse(text, nullptr, false);
    auto limits = read_limits(value, text, "", faults);
    if (faults.empty()) return limits;
    // A newer hub has written what this one does not understand: nothing may pass it unlimited.
    ProviderLimit none;
    none.name = "not_understood_by_this_version";
    none.of = Measure::concurrency;
    none.limit = 0;
    return {none};
}

}
