#include "resource_manager/provider.h"

#include <algorithm>
#include <set>

#include "domain/name_table.h"
#include "platform/input_pointer.h"

namespace impresario::resource_manager {

namespace {

constexpr domain::NameTable<Measure, 5> kMeasures{{{Measure::requests, "requests"},
                                                   {Measure::tokens, "tokens"},
                                                   {Measure::items, "items"},
                                                   {Measure::cost, "cost"},
                                                   {Measure::concurrency, "concurrency"}}};
constexpr domain::NameTable<WindowKind, 3> kKinds{{{WindowKind::sliding_window, "sliding_window"},
                                                   {WindowKind::fixed_window, "fixed_window"},
                                                   {WindowKind::token_bucket, "token_bucket"}}};
constexpr domain::NameTable<LimitScope, 3> kScopes{{{LimitScope::global, "global"},
                                                    {LimitScope::organization, "organization"},
                                                    {LimitScope::workflow_type, "workflow_type"}}};

}

std::string_view name(Measure measure) { return domain::name_in(kMeasures, measure); }
std::string_view name(WindowKind kind) { return domain::name_in(kKinds, kind); }
std::string_view name(LimitScope scope) { return domain::name_in(kScopes, scope); }
std::optional<Measure> parse_measure(std::string_view text) { return domain::value_in(kMeasures, text); }
std::optional<WindowKind> parse_window_kind(std::string_view text) { return domain::value_in(kKinds, text); }
std::optional<LimitScope> parse_limit_scope(std::string_view text) { return domain::value_in(kScopes, text); }

std::int64_t ProviderLimit::amount(const domain::Need& need) const {
    switch (of) {
        case Measure::requests:
            return need.calls;
        case Measure::tokens:
            return need.tokens;
        case Measure::items:
            return need.items;
        case Measure::cost:
            return need.cost.value;
        case Measure::concurrency:
            return 1;
    }
    return 0;
}

std::string_view ProviderLimit::pointer() const { return platform::within_input(key); }

std::set<std::string> key_pointers(const std::vector<Provider>& providers, const std::vector<domain::Need>& needs) {
    std::set<std::string> pointers;
    for (const auto& need : needs)
        for (const auto& provider : providers)
            if (provider.name == need.provider)
                for (const auto& limit : provider.limits)
                    if (limit.keyed()) pointers.emplace(limit.pointer());
    return pointers;
}

domain::DefinitionFaults check(const Provider& provider) {
    domain::DefinitionFaults faults;
    if (!domain::good_definition_name(provider.name)) faults.push_back({"/name", domain::kDefinitionNameRule});
    if (provider.limits.size() > 50) faults.push_back({"/limits", "must be at most 50"});
    std::set<std::string> names;
    for (std::size_t i = 0; i < provider.limits.size(); ++i) {
        const auto& limit = provider.limits[i];
        const auto wrong = [&](const char* member, std::string what) {
            faults.push_back({"/limits/" + std::to_string(i) + "/" + member, std::move(what)});
        };
        const bool money = limit.of == Measure::cost;
        constexpr std::int64_t kMost = 1'000'000'000'000'000;
        if (!domain::good_definition_name(limit.name)) wrong("name", domain::kDefinitionNameRule);
        if (!names.insert(limit.name).second) wrong("name", "is the name of another limit of this provider");
        if (limit.limit < 1 || limit.limit > kMost)
            wrong("limit",
                  money ? "must be more than 0 and at most 1000000000 USD" : "must be from 1 to 1000000000000000");
        if (limit.keyed()) {
            if (const auto fault = platform::pointer_fault(limit.key)) wrong("key", *fault);
            if (limit.ceiling < 1)
                wrong("per_key/ceiling", money ? "must be more than 0" : "must be at least 1");
            else if (limit.ceiling > limit.limit)
                wrong("per_key/ceiling", "must be at most limit, which is what all keys take together");
            if (limit.guaranteed < 0)
                wrong("per_key/guaranteed", money ? "must be more than 0" : "must be at least 1");
            else if (limit.guaranteed > std::max<std::int64_t>(limit.ceiling, 0))
                wrong("per_key/guaranteed", "must be at most ceiling");
        }
        if (limit.of == Measure::concurrency) continue;
        if (limit.per < std::chrono::seconds{1} || limit.per > kLongestWindow)
            wrong("per", "must be from a second to a day");
        if (limit.kind == WindowKind::token_bucket && (limit.burst < 1 || limit.burst > kMost))
            wrong("burst",
                  money ? "must be more than 0 and at most 1000000000 USD" : "must be from 1 to 1000000000000000");
        if (limit.kind == WindowKind::fixed_window) {
            if (limit.reset_at.count() < 0 || limit.reset_at >= std::chrono::hours{24})
                wrong("reset_at", "must be a time of day, such as 07:00");
            if (limit.per.count() > 0 && std::chrono::hours{24} % limit.per != domain::Duration{0})
                wrong("per", "of a fixed window must divide a day");
        }
    }
    return faults;
}

}
